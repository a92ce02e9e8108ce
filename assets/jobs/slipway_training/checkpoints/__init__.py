"""Checkpoints of a run: what their folders hold, how they are written and which one is the latest."""
