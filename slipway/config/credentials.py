"""Recognizes values that look like credentials. They must not be in a file that is committed."""

import re
from collections.abc import Iterator
from typing import Any

from slipway.config.problems import Finding, Path

_PASSWORD_IN_ADDRESS = "a password in an address"
_FORMS = {
    "a Hugging Face token": r"hf_[A-Za-z0-9]{20,}",
    "an AWS access key id": r"(?:AKIA|ASIA)[A-Z0-9]{16}",
    "an API key": r"sk-[A-Za-z0-9_-]{20,}",
    "a GitHub token": r"(?:gh[pousr]_|github_pat_)[A-Za-z0-9_]{20,}",
    "a Slack token": r"xox[abeprs]-[A-Za-z0-9-]{10,}",
    "a JSON Web Token": r"eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*",
    "a private key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
    _PASSWORD_IN_ADDRESS: r"://[^/\s:@]*:[^/\s@]+@",
}
_ANY = re.compile("|".join(f"({pattern})" for pattern in _FORMS.values()))
_FIX = "Put it into AWS Secrets Manager, write the secret's ARN here, and revoke it if the file was ever committed."
_FIX_OF_ADDRESS = (
    "Write the address without user and password: templates and user data would show them. Change the password if the "
    "file was ever committed."
)


def credential_findings(value: Any, path: Path = ()) -> Iterator[Finding]:
    """Find every text in a document's value that looks like a credential; the message does not repeat it."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from credential_findings(item, (*path, key))
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from credential_findings(item, (*path, index))
    elif isinstance(value, str) and (match := _ANY.search(value)):
        kind = list(_FORMS)[(match.lastindex or 1) - 1]
        fix = _FIX_OF_ADDRESS if kind == _PASSWORD_IN_ADDRESS else _FIX
        yield Finding(path, f"the value looks like {kind}", fix, "credentials")
