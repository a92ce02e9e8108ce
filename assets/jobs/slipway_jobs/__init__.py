"""Slipway's job kit: turns a recipe into a chain of Slurm jobs, and shows how it goes."""
