"""Recipes: what to train, on how many nodes, and how the model is split."""
