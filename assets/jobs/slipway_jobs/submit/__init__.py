"""Submits a run to the scheduler of its environment, and cancels it: `slipway-job submit` and `cancel`."""
