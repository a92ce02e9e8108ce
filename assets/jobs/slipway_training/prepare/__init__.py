"""Tokenizes a run's text and cuts it into samples: `python -m slipway_training.prepare --run RUN_JSON`."""
