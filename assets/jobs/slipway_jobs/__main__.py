"""Runs `slipway-job`, also as `python -m slipway_jobs`."""

from slipway_jobs.cli import app

app(prog_name="slipway-job")
