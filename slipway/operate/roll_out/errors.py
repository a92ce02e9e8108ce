"""What can go wrong in a roll-out without being a fault of its code. The messages are for the user."""


class RollOutError(Exception):
    """The roll-out ends here."""


class RefusedError(RollOutError):
    """Nothing was changed."""


class FailedError(RollOutError):
    """The update began and did not end with the new version; the message says what is served."""
