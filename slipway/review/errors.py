"""What keeps an environment from being planned without being a fault of the code."""


class NotPlannedError(Exception):
    """There is no plan. The message is for the user: what is missing or wrong, what to do."""
