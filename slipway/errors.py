"""How a command ends when it cannot do what you asked. The messages are for you."""


class SlipwayError(Exception):
    """Ends a command with its message and its exit code; `slipway.console` does so for every command."""

    exit_code = 2


class RefusedError(SlipwayError):
    """Nothing was changed, deleted or asked; the message says what to write or do instead."""


class FailedError(SlipwayError):
    """Something was begun and is unfinished; the message says what the state is."""

    exit_code = 1


class UnprovenError(SlipwayError):
    """All that was asked for is done, as far as AWS let it be seen."""
