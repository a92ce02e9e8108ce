"""Asks CloudFormation what was changed without it.

CloudFormation compares each property that a template sets with the resource, for the types that support it
(CloudFormation User Guide, "Detect unmanaged configuration changes to stacks and resources with drift detection").
It reads with the caller's permissions.
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from slipway.assembly.environment_files import WrongChoiceError, environment_file
from slipway.assembly.stacks import ENVIRONMENT_TAG
from slipway.aws.account import Account, open_account
from slipway.aws.refusals import UNANSWERED, explained
from slipway.aws.stacks import deployed_stacks, with_nested
from slipway.config import InvalidEnvironment, load_environment
from slipway.review.changes.data_loss import holds_data
from slipway.review.changes.permissions.compare import wider_access
from slipway.review.changes.resources import Resource
from slipway.review.drift.model import Drift, DriftedProperty, DriftedResource
from slipway.review.errors import NotPlannedError

LONGEST_SECONDS = 900
"""How long CloudFormation may compare: it reads each resource of a stack by itself, which takes minutes."""

_PAUSE_SECONDS = 5
_DIFFERENT = ("MODIFIED", "DELETED")


@contextmanager
def comparing(choice: str) -> Iterator[Callable[[], Drift]]:
    """Let CloudFormation compare an environment's stacks meanwhile; what comes is to be called for the drift.

    Args:
        choice: a name in environments/, or a file that ends in .yaml.

    Raises:
        NotPlannedError: the file is invalid, or AWS does not say what is deployed.
        RefusedError: there are no credentials, or they are another account's.
    """
    try:
        settings = load_environment(environment_file(choice))
        account = open_account(settings.region, settings.account)
        found = deployed_stacks(account.client("cloudformation"))
    except (WrongChoiceError, InvalidEnvironment) as error:
        raise NotPlannedError(str(error)) from error
    except UNANSWERED as error:
        raise NotPlannedError(f"--drift: {explained(error)}") from error
    ours = [stack.id for stack in found.values() if stack.tags.get(ENVIRONMENT_TAG) == settings.name]
    with ThreadPoolExecutor(max_workers=1) as thread:
        answer = thread.submit(read_drift, account, ours, account.interrupted.wait)
        try:
            yield answer.result
        finally:
            account.interrupted.set()


def read_drift(account: Account, stack_ids: Iterable[str], sleep: Callable[[float], object] = time.sleep) -> Drift:
    """Let CloudFormation compare stacks, and return what differs.

    Args:
        account: where they are.
        stack_ids: their ARNs; stacks nested in them are compared, too.
        sleep: waits for a number of seconds; ends the comparison if it returns something true.
    """
    cloudformation = account.client("cloudformation")
    not_compared: list[str] = []
    compared: list[str] = []
    started: dict[str, str] = {}
    for stack_id in stack_ids:
        try:
            for nested in with_nested(cloudformation, [stack_id]):
                compared.append(nested)
                started[nested] = cloudformation.detect_stack_drift(StackName=nested)["StackDriftDetectionId"]
        except UNANSWERED as error:
            not_compared.append(f"{_name(compared[-1] if compared else stack_id)}: {explained(error)}")
    not_compared += _wait(cloudformation, started, sleep)
    resources: list[DriftedResource] = []
    for stack_id in started:
        try:
            resources += _read(cloudformation, stack_id)
        except UNANSWERED as error:
            not_compared.append(f"{_name(stack_id)}: {explained(error)}")
    return Drift(
        stacks=tuple(map(_name, compared)),
        resources=tuple(sorted(resources, key=lambda one: (one.rank, one.stack, one.logical_id))),
        not_compared=tuple(not_compared),
    )


def _wait(cloudformation: Any, started: Mapping[str, str], sleep: Callable[[float], object]) -> Iterator[str]:
    """Wait for the ends of comparisons; yield why one says less than all."""
    left = dict(started)
    for _ in range(LONGEST_SECONDS // _PAUSE_SECONDS):
        for stack_id, detection in list(left.items()):
            try:
                status = cloudformation.describe_stack_drift_detection_status(StackDriftDetectionId=detection)
            except UNANSWERED as error:
                yield f"{_name(stack_id)}: {explained(error)}"
                del left[stack_id]
                continue
            if status["DetectionStatus"] != "DETECTION_IN_PROGRESS":
                del left[stack_id]
            if status["DetectionStatus"] == "DETECTION_FAILED":
                yield f"{_name(stack_id)}: {status.get('DetectionStatusReason', 'CloudFormation does not say why')}"
        if not left or sleep(_PAUSE_SECONDS):
            return
    yield from (f"{_name(stack_id)}: CloudFormation took more than {LONGEST_SECONDS} s" for stack_id in left)


def _read(cloudformation: Any, stack_id: str) -> Iterator[DriftedResource]:
    arguments: dict[str, Any] = {"StackName": stack_id, "StackResourceDriftStatusFilters": _DIFFERENT}
    while True:
        page = cloudformation.describe_stack_resource_drifts(**arguments)
        yield from map(_resource, page["StackResourceDrifts"])
        if "NextToken" not in page:
            return
        arguments["NextToken"] = page["NextToken"]


def _resource(row: Mapping[str, Any]) -> DriftedResource:
    stack, logical_id = _name(row["StackId"]), row["LogicalResourceId"]
    before = _as_resource(stack, row, "ExpectedProperties")
    is_deleted = row["StackResourceDriftStatus"] == "DELETED"
    after = {} if is_deleted else {before.key: _as_resource(stack, row, "ActualProperties")}
    return DriftedResource(
        stack=stack,
        logical_id=logical_id,
        type=row["ResourceType"],
        physical_id=row.get("PhysicalResourceId", ""),
        is_deleted=is_deleted,
        loses_data=is_deleted and holds_data(before),
        properties=() if is_deleted else tuple(map(_property, row.get("PropertyDifferences", ()))),
        wider=wider_access({before.key: before}, after),
    )


def _as_resource(stack: str, row: Mapping[str, Any], side: str) -> Resource:
    """Return one side as if a template had it: what compares templates then says what the difference means."""
    properties = json.loads(row.get(side) or "{}")
    template = {"Type": row["ResourceType"], "Properties": properties}
    return Resource(stack, row["LogicalResourceId"], row["LogicalResourceId"], template)


def _property(row: Mapping[str, Any]) -> DriftedProperty:
    kind = row["DifferenceType"]
    return DriftedProperty(
        path=row["PropertyPath"].strip("/").replace("/", "."),
        deployed=None if kind == "ADD" else _value(row["ExpectedValue"]),
        actual=None if kind == "REMOVE" else _value(row["ActualValue"]),
    )


def _value(text: str) -> Any:
    """Read a value: CloudFormation writes lists and mappings as JSON, and texts as they are."""
    try:
        return json.loads(text) if text[:1] in ("{", "[") else text
    except ValueError:
        return text


def _name(stack_id: str) -> str:
    return stack_id.split("/")[1] if "/" in stack_id else stack_id
