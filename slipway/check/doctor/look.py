"""Looks for programs on this machine and asks each for its version."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from slipway.assembly.bootstrap import DEFAULT_QUALIFIER, bootstrap_command, version_parameter
from slipway.aws.account import OtherAccountError, open_account
from slipway.aws.refusals import UNANSWERED, explained
from slipway.bundle import BUNDLE
from slipway.config import Environment
from slipway.errors import RefusedError
from slipway.facts import parallelcluster_releases
from slipway.programs import programs
from slipway.project import cdk_of, parallelcluster_of

_ANSWER_SECONDS = 30

State = Literal["ok", "missing", "too old", "not looked at"]


class Finding(BaseModel):
    """One program, or the bootstrap; the JSON of `slipway doctor` is a list of these."""

    model_config = ConfigDict(frozen=True)

    name: str
    state: State
    found: str | None
    """Its version; None if it is missing or prints no version."""

    wanted: str
    """The supported versions, in words."""

    purpose: str
    """What it is for."""

    install: str
    """The command that installs it."""

    @property
    def is_bad(self) -> bool:
        """Whether it has to be installed or upgraded."""
        return self.state in ("missing", "too old")


@dataclass(frozen=True)
class _Wanted:
    """A required program.

    Attributes:
        name: its row in `slipway.programs`.
        path: path of the program; None if it is missing.
        arguments: arguments that print its version.
        pattern: regular expression that finds the version in the output.
        words: the supported versions, in words.
        accepts: returns whether a version, as a tuple of numbers, is supported; None if every version is.
    """

    name: str
    path: Path | str | None
    arguments: tuple[str, ...]
    pattern: str
    words: str
    accepts: Callable[[tuple[int, ...]], bool] | None


def look(project: Path, environment: Environment | None) -> Iterator[Finding]:
    """Yield what was found, one program at a time.

    Args:
        project: folder of the project, whose own programs these are.
        environment: its needs are checked, too; None checks the machine alone.
    """
    for wanted in _wanted(project, environment):
        yield _found(wanted)
    if environment is not None:
        yield _bootstrap(environment)


def _wanted(project: Path, environment: Environment | None) -> Iterator[_Wanted]:
    any_version = r"(\d+(?:\.\d+)*)"
    cdk = json.loads((BUNDLE / "package.json").read_text("utf-8"))["devDependencies"]["aws-cdk"]
    releases = tuple(parallelcluster_releases())
    python, node = sys.executable, _beside_python("node")
    yield _Wanted("python", python, ("--version",), any_version, "3.11 to 3.13", lambda v: (3, 11) <= v[:2] <= (3, 13))
    yield _Wanted("node", node, ("--version",), any_version, "22 or 24", lambda v: v[0] in (22, 24))
    yield _Wanted("cdk", _there(cdk_of(project)), ("--version",), any_version, cdk, lambda v: v == _numbers(cdk))
    yield _Wanted("git", shutil.which("git"), ("--version",), any_version, "any", None)
    yield _Wanted("aws", shutil.which("aws"), ("--version",), r"aws-cli/(\d+(?:\.\d+)*)", "2", lambda v: v[0] >= 2)
    plugin = shutil.which("session-manager-plugin")
    yield _Wanted("session-manager-plugin", plugin, ("--version",), any_version, "any", None)
    yield _Wanted(
        "pcluster",
        _there(parallelcluster_of(project) / "pcluster"),
        ("version",),
        r'"version": "(\d+(?:\.\d+)*)"',
        " or ".join(releases),
        lambda v: v in map(_numbers, releases),
    )
    if environment is not None and environment.kubernetes is not None:
        server = _numbers(environment.kubernetes.version)
        yield _Wanted(
            "kubectl",
            shutil.which("kubectl"),
            ("version", "--client", "--output", "json"),
            r'"gitVersion": "v(\d+(?:\.\d+)*)',
            # Kubernetes documentation, "Version Skew Policy": kubectl is supported within one minor version.
            f"{environment.kubernetes.version}, or one minor version beside it",
            lambda v: v[0] == server[0] and abs(v[1] - server[1]) <= 1,
        )


def _there(path: Path) -> Path | None:
    return path if path.exists() else None


def _beside_python(name: str) -> Path | str | None:
    """Return the path of a program: beside this Python, else on the PATH; None if it is in neither."""
    return _there(Path(sys.executable).with_name(name)) or shutil.which(name)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _found(wanted: _Wanted) -> Finding:
    row = programs()[wanted.name]
    version = _version(wanted)
    state: State = "missing"
    if wanted.path is not None:
        works = wanted.accepts is None or (version is not None and wanted.accepts(_numbers(version)))
        state = "ok" if works else "too old"
    return Finding(
        name=wanted.name, state=state, found=version, wanted=wanted.words, purpose=row.purpose, install=row.installation
    )


def _version(wanted: _Wanted) -> str | None:
    if wanted.path is None:
        return None
    try:
        said = subprocess.run(
            [wanted.path, *wanted.arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_ANSWER_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(wanted.pattern, said.stdout + said.stderr)
    return found[1] if found else None


def _bootstrap(environment: Environment) -> Finding:
    qualifier = environment.bootstrap_qualifier or DEFAULT_QUALIFIER
    state: State = "not looked at"
    version, account_id = None, "ACCOUNT"
    try:
        account = open_account(environment.region, environment.account)
        account_id = account.id
        ssm = account.client("ssm")
        version = ssm.get_parameter(Name=version_parameter(qualifier))["Parameter"]["Value"]
        state, purpose = "ok", "deploying to the Region"
    except OtherAccountError:
        raise
    except RefusedError as error:
        purpose = str(error).removesuffix(". Nothing was changed")
    except UNANSWERED as error:
        is_missing = "ParameterNotFound" in str(error)
        state = "missing" if is_missing else state
        purpose = "deploying to the Region" if is_missing else explained(error)
    return Finding(
        name=f"CDK bootstrap of {environment.region}",
        state=state,
        found=version,
        wanted="any",
        purpose=purpose,
        install=bootstrap_command(account_id, environment.region, qualifier),
    )
