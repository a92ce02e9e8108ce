"""What an API server says when it does not do what is asked."""

from http import HTTPStatus
from typing import Any


class RefusalError(Exception):
    """A request is refused.

    Attributes:
        code: The HTTP status.
        reason: Kubernetes' word for it, such as ``NotFound``.
    """

    def __init__(self, code: HTTPStatus, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason

    def status(self) -> dict[str, Any]:
        """The answer's body."""
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": str(self),
            "reason": self.reason,
            "code": self.code.value,
        }


def not_found(plural: str, name: str) -> RefusalError:
    """The refusal for an object, or a whole kind, that is not there."""
    return RefusalError(HTTPStatus.NOT_FOUND, "NotFound", f'{plural} "{name}" not found')
