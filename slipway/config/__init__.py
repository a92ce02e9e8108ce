"""The environment file: typed, validated, with line and column in every message."""

from slipway.config.environment import Environment
from slipway.config.loader import load_environment, load_with_notices
from slipway.config.problems import InvalidEnvironment, Problem

__all__ = ["Environment", "InvalidEnvironment", "Problem", "load_environment", "load_with_notices"]
