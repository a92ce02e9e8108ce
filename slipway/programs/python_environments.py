"""Virtual environments of their own for packages that cannot be beside Slipway's."""

import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

from slipway.errors import FailedError

_WHEELS_ALONE = ("--only-binary", ":all:")
"""Nothing of a package runs while it is installed."""


def make(folder: Path, requirements: Path, options: Sequence[str] = ()) -> None:
    """Make a virtual environment with packages.

    uv takes seconds where pip takes minutes. An index that only pip.conf names is pip's to ask.

    Args:
        folder: the environment; what is there is removed.
        requirements: the packages.
        options: further ones, which uv and pip have in common.

    Raises:
        FailedError: neither can install them; the message has what both say.
    """
    # Without pip: Debian's Python has no ensurepip before python3-venv is installed.
    venv.create(folder, clear=True, symlinks=True)
    python = str(folder / "bin" / "python")
    wanted = (*_WHEELS_ALONE, *options, "--requirement", str(requirements))
    uv = (str(Path(sys.executable).parent / "uv"), "pip", "install", "--python", python)
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "install")
    said = []
    for installer in (uv, pip):
        try:
            run = subprocess.run([*installer, "--quiet", *wanted], capture_output=True, text=True, check=False)
        except FileNotFoundError:
            continue
        if not run.returncode:
            return
        said.append(run.stderr.strip())
    raise FailedError("\n".join((f"the packages of {requirements} are not installed:", *said)))
