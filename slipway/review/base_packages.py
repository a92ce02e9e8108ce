"""The packages that another revision of a repository names, for a repository that uses Slipway's wheel."""

import hashlib
from pathlib import Path

from slipway.programs import python_environments
from slipway.project import PROJECT

_FOLDER = PROJECT / ".plan" / "base-environments"


def programs_of(requirements: bytes) -> Path:
    """Return the folder of programs of a virtual environment with these packages; it is made once.

    Args:
        requirements: content of a requirements file.

    Raises:
        FailedError: they cannot be installed.
    """
    folder = _FOLDER / hashlib.sha256(requirements).hexdigest()[:16]
    named, installed = folder.with_suffix(".txt"), folder / ".installed"
    if not installed.exists():
        named.parent.mkdir(parents=True, exist_ok=True)
        named.write_bytes(requirements)
        python_environments.make(folder, named)
        installed.touch()
    return folder / "bin"
