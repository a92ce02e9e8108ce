"""What can go wrong before an endpoint is asked. The messages are for the user."""


class RefusedError(Exception):
    """Nothing could be asked: the addressing is wrong, there is no such environment, or no credentials."""
