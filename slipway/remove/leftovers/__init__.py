"""`slipway leftovers`: what an environment left in the account, what it costs, and how it is removed."""
