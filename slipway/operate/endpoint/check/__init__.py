"""`slipway endpoint check`: one line for each thing that must be so for clients."""
