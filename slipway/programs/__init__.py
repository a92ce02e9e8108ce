"""The programs of others that Slipway runs on your machine: what each is for, and the command that installs it."""

import shutil
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict

from slipway.bundle import IS_CHECKOUT
from slipway.errors import RefusedError


class Program(BaseModel):
    """One program.

    Attributes:
        name: what it is called on the PATH.
        purpose: what Slipway, or you, need it for.
        linux: the command that installs it on Linux.
        macos: the same on macOS.
        wheel: the same in a repository that uses the wheel, where it differs.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    purpose: str
    linux: str
    macos: str
    wheel: str | None = None

    @property
    def installation(self) -> str:
        """The command that installs it on this machine."""
        if self.wheel and not IS_CHECKOUT:
            return self.wheel
        return self.macos if sys.platform == "darwin" else self.linux


@cache
def programs() -> dict[str, Program]:
    """Return all of them, by name."""
    rows = yaml.safe_load(Path(__file__).with_name("programs.yaml").read_text("utf-8"))
    return {row["name"]: Program.model_validate(row) for row in rows}


def require(names: Iterable[str]) -> None:
    """Check that programs are on the PATH.

    Raises:
        RefusedError: one is not; the message has the command that installs each that is missing.
    """
    missing = [programs()[name] for name in names if shutil.which(name) is None]
    if missing:
        raise RefusedError(
            "\n".join(
                f"{one.name} is not installed, which is for {one.purpose}:\n  {one.installation}" for one in missing
            )
        )
