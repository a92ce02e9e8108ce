"""How a pause or a resumption ends when it does not end well."""


class RefusedError(Exception):
    """Nothing was changed; the message says why."""


class UnfinishedError(Exception):
    """A part could not be changed; the message says which."""
