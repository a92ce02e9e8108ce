"""Checkpoints of the training code to the format of the transformers library, and back."""
