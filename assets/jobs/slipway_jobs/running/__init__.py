"""A script of the user's own on the cluster's nodes, with everything that a training of Slipway's finds there."""
