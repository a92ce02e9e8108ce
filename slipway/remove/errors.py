"""What can go wrong in a teardown without being a fault of its code. The messages are for the user."""


class TeardownError(Exception):
    """The teardown ends here. `slipway destroy` may be run again at any time."""


class RefusedError(TeardownError):
    """Nothing was changed."""


class UnfinishedError(TeardownError):
    """Something was changed and something still stands."""


class UnprovenError(TeardownError):
    """All that was looked at is gone, and AWS did not let everything be looked at."""
