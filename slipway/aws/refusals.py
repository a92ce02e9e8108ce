"""What AWS answers when it does not do what it is asked."""

from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

UNANSWERED = (BotoCoreError, ClientError, ResponseParserError)
"""What boto3 raises when AWS refuses, throttles, fails, cannot be reached, or a proxy answers in its place."""

_DENIED = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "403"})


def words_of(error: Exception) -> str:
    """Return an error's message in one line, without a full stop: a sentence goes on after it."""
    return " ".join(str(error).split()).rstrip(".")


def explained(error: Exception) -> str:
    """Return what an error of AWS means for a user: which permission is missing, or AWS's own words. No full stop."""
    if isinstance(error, ClientError) and error.response["Error"]["Code"] in _DENIED:
        message = error.response["Error"].get("Message", "").rstrip(".")
        return f"these credentials may not call {error.operation_name}: {message}"
    return f"AWS: {str(error).rstrip('.')}"
