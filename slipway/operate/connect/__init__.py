"""`slipway connect`: a shell in, or a tunnel to, a deployed environment. See docs/operations.md."""
