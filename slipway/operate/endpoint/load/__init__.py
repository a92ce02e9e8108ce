"""`slipway endpoint load`: streams at rising concurrency, and how fast the answers come."""
