"""The chain of Slurm jobs of a run: scripts, submission, and what the jobs decide between two attempts."""
