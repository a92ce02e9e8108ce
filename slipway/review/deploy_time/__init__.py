"""How long a deployment takes."""
