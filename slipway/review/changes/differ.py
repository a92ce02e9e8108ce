"""The program that knows what CloudFormation does to a resource when a property changes: `differ.mjs`, run by Node."""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from slipway.project import INSTALLATION, PROJECT, node_modules_of

_PROGRAM = Path(__file__).with_name("differ.mjs")
_NODE_MODULES = node_modules_of(PROJECT)
_TIMEOUT_SECONDS = 60.0
_ERROR = re.compile(r"^\w*Error.*", re.MULTILINE)

Impact = Literal[
    "WILL_CREATE", "WILL_UPDATE", "MAY_REPLACE", "WILL_REPLACE", "WILL_DESTROY", "WILL_ORPHAN", "NO_CHANGE"
]
"""The differ's words, see https://docs.aws.amazon.com/cdk/api/v2/docs/aws-cdk-lib.html."""


class DifferError(Exception):
    """The differ is not installed, or it failed; the message says what to do."""


class Impacts(BaseModel):
    """What happens to one resource."""

    model_config = ConfigDict(frozen=True)

    impact: Impact
    properties: dict[str, Impact]
    """By the name of a top-level property; empty when the resource comes or goes."""


class Answer(BaseModel):
    """What happens to all resources."""

    model_config = ConfigDict(frozen=True)

    resources: dict[str, Impacts]
    """By `stack/logical id`; those that do not change are left out."""

    moved: frozenset[str]
    """References that get a new value: `stack/logical id` of a replaced resource, an attribute of an updated one."""


def ask(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    replacing: Mapping[str, tuple[str, ...]],
    moving: Mapping[str, tuple[str, ...]],
) -> Answer:
    """Return what becomes of each resource.

    Args:
        before: resources by `stack/logical id`, as `slipway.review.changes.resources` reads them.
        after: the same of the next deployment.
        replacing: paths of properties, by resource type or `*`, whose change replaces the resource, which the differ
            does not know; nothing else in the same top-level property does.
        moving: attributes, by resource type, that get a new value with every update of the resource.

    Raises:
        DifferError: Node.js or the library is missing, or the program failed.
    """
    question = {"before": before, "after": after, "replacing": replacing, "moving": moving}
    return Answer.model_validate_json(_answer(json.dumps(question)))


def _answer(question: str) -> str:
    node = shutil.which("node")
    if node is None or not (_NODE_MODULES / "@aws-cdk" / "cloudformation-diff").exists():
        missing = "Node.js" if node is None else "the template differ in node_modules"
        raise DifferError(f"{missing} is not installed: run `{INSTALLATION}`")
    try:
        run = subprocess.run(
            (node, _PROGRAM, _NODE_MODULES.resolve()),
            input=question,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise DifferError(f"the template differ did not answer within {_TIMEOUT_SECONDS:.0f} s") from error
    if run.returncode:
        error_line = _ERROR.search(run.stderr)
        raise DifferError(f"the template differ failed: {error_line[0] if error_line else f'exit {run.returncode}'}")
    return run.stdout
