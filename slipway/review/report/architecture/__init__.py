"""What an environment consists of, for a picture of it: read from the templates alone."""

from slipway.review.report.architecture.model import Architecture
from slipway.review.report.architecture.read import read_architecture

__all__ = ["Architecture", "read_architecture"]
