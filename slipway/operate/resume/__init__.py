"""`slipway pause` stops an environment by hand, as its budget does; `slipway resume` starts what was stopped."""
