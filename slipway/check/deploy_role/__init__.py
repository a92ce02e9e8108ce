"""`slipway deploy-role`: the permissions that a deployment of an assembly needs, and no others."""
