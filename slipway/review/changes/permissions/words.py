"""References in words."""

import re

_REFERENCE = re.compile(r"\$\{[\w-]+/(\w+)(?:\.(?:Arn|GroupId|CidrBlock))?\}")


def words(text: str) -> str:
    """Return text with logical ids in the place of references to resources: `Data84990998/*` for an ARN in a bucket."""
    return _REFERENCE.sub(r"\1", text)
