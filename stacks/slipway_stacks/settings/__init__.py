"""The environment file in the words of the constructs: pure functions, no resources."""
