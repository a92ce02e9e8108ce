"""`slipway endpoint`: asks an endpoint as its users do, and says what is wrong or how fast it is."""
