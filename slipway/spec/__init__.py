"""The environment file: typed, validated, with line and column in every message."""
