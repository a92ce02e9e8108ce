"""`slipway roll-out`: has the endpoint serve another published version, without a deployment, and back."""
