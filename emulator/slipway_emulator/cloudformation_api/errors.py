"""Errors in the form that moto's server turns into AWS error answers."""

from moto.core.exceptions import ServiceException


class ValidationError(ServiceException):
    """The request cannot be carried out; clients match on the message."""

    code = "ValidationError"


class AlreadyExists(ServiceException):
    """A stack of that name exists."""

    code = "AlreadyExistsException"


class ChangeSetNotFound(ServiceException):
    """No change set of that name or id."""

    code = "ChangeSetNotFound"


class NotAvailable(ServiceException):
    """The emulator has no such action."""

    code = "InvalidAction"
