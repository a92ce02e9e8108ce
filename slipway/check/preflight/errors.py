"""Why a preflight does not run."""


class RefusedError(Exception):
    """The command line or the assembly is wrong; the message says what to write instead."""
