"""The environment file: typed, validated, with line and column in every message."""

from slipway.spec.environment import Environment
from slipway.spec.loader import load_environment, load_with_notices
from slipway.spec.problems import InvalidEnvironment, Problem

__all__ = ["Environment", "InvalidEnvironment", "Problem", "load_environment", "load_with_notices"]
