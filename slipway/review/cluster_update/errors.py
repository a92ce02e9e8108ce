"""What can keep two clusters from being compared without being a fault of the code."""


class NotComparableError(Exception):
    """There are no two clusters to compare. The message is one line for the user: what is missing, what to do."""
