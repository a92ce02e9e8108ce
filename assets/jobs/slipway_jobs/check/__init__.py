"""Whether a recipe works in an environment, and the run that it becomes: `slipway-job check`."""
