"""`python -m slipway` is `slipway`."""

from slipway.cli import app

if __name__ == "__main__":
    app(prog_name="slipway")
