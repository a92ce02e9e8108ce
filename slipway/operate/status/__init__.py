"""`slipway status`: what an environment is doing, on one screen. See docs/operations.md."""
