"""Where the files are that are not Python: the project's folder in a checkout, a folder of this package in a wheel."""

from pathlib import Path

_OF_A_WHEEL = Path(__file__).resolve().parent / "bundled"

IS_CHECKOUT = not _OF_A_WHEEL.is_dir()
"""Whether Slipway runs from its own sources."""

BUNDLE = Path(__file__).resolve().parents[1] if IS_CHECKOUT else _OF_A_WHEEL
"""Has assets, documentation, the shipped environments and workflows, locks, `cdk.json`, `package.json`. Read-only."""

ASSETS = BUNDLE / "assets"
"""What runs on the machines."""
