"""`slipway rotate-key`: another API key for an endpoint, with both valid while clients change."""
