"""The base of everything that can go wrong in a rehearsal without being a fault of its code."""


class RehearsalError(Exception):
    """A phase cannot go on. The message is for the user; its first line says what happened."""
