"""Slipway's job kit: turns a recipe into a chain of jobs of Slurm or Kubernetes, and shows how it goes."""
