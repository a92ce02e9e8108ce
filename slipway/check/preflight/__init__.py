"""`slipway preflight`: asks AWS, before a deployment, what would make it fail."""
