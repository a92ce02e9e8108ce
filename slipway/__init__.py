"""Slipway: train large language models on AWS Trainium and serve them on AWS Inferentia."""
