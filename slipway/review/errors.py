"""What keeps an environment from being planned without being a fault of the code."""

from slipway.errors import RefusedError


class NotPlannedError(RefusedError):
    """There is no plan. The message is for the user: what is missing or wrong, what to do."""
