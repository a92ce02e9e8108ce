"""The picture of an environment's architecture, drawn as SVG.

The layout is our own: boxes in boxes at fixed places, the same for the same environment. A reader finds the storage on
the left, the VPC with its zones in the middle, the people on the right and what watches below, in every picture.
"""

from slipway.review.report.picture.svg import picture

__all__ = ["picture"]
