"""`slipway doctor`: whether this machine has the programs that Slipway runs. See docs/first-deploy.md."""
