"""`slipway job`: `slipway-job` of a deployed environment, run from a laptop. See docs/training.md."""
