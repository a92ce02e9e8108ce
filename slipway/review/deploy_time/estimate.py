"""How long `cdk deploy --all --concurrency 4` takes: mean create times along the longest chain of resources.

The model is that of `rain forecast` (aws-cloudformation/rain, internal/cmd/forecast), whose means these are, with the
stacks beside each other as the CDK CLI deploys them. Left out: the upload of assets, and what runs after a resource
counts as created, for example the boot of an inference host.
"""

import json
from collections.abc import Mapping, Set
from pathlib import Path
from types import MappingProxyType
from typing import Any

from slipway.assembly.stacks import STACK, read_artifacts, read_stacks
from slipway.catalogue import create_seconds
from slipway.review.deploy_time.chains import Resources, longest_chain, seconds_of, waits_for
from slipway.review.deploy_time.model import DeployTime, Step
from slipway.review.deploy_time.turns import Turn, take_turns

AT_ONCE = 4
"""Stacks that the documented command deploys at a time."""

SECONDS_WITHOUT_ESTIMATE = 5
"""What a resource counts whose type has no create time: half of those that have one take no longer."""

_NESTED_STACK = "AWS::CloudFormation::Stack"
_ASSET_PATH = "aws:asset:path"


def estimate(
    assembly: Path,
    only: Set[tuple[str, str]] | None = None,
    *,
    spent: Mapping[tuple[str, str], int] = MappingProxyType({}),
) -> DeployTime:
    """Return how long a deployment takes.

    Args:
        assembly: folder of the cloud assembly.
        only: stack and logical id of what a change touches, all else takes no time; none for a first deployment.
        spent: stack and logical id -> seconds of what is being created already.

    Raises:
        slipway.assembly.stacks.NoAssemblyError: the folder is none.
    """
    chains: dict[str, tuple[Step, ...]] = {}
    unknown: set[str] = set()
    for stack in read_stacks(assembly):
        steps = _steps(assembly, stack.name, stack.template["Resources"], only, spent)
        chains[stack.name] = longest_chain(waits_for(stack.template["Resources"]), steps)
        unknown |= {step.type for step in steps.values() if step.seconds and not step.is_known}
    seconds = {name: seconds_of(chain) for name, chain in chains.items()}
    turns = take_turns(seconds, _stacks_before(assembly), AT_ONCE)
    chain = tuple(step for name in _way_to_the_end(turns) for step in chains[name] if step.seconds)
    return DeployTime(
        seconds=seconds_of(chain),
        chain=chain,
        one_stack_after_another_seconds=sum(seconds.values()),
        without_estimate=tuple(sorted(unknown)),
    )


def _steps(
    assembly: Path,
    stack: str,
    resources: Resources,
    only: Set[tuple[str, str]] | None,
    spent: Mapping[tuple[str, str], int],
) -> dict[str, Step]:
    return {
        logical_id: _step(
            assembly,
            stack,
            logical_id,
            resource,
            counts=only is None or (stack, logical_id) in only,
            spent=spent.get((stack, logical_id), 0),
        )
        for logical_id, resource in resources.items()
    }


def _step(assembly: Path, stack: str, logical_id: str, resource: Any, *, counts: bool, spent: int) -> Step:
    nested = _nested_seconds(assembly, stack, resource)
    known = create_seconds(resource["Type"]) if nested is None else nested
    seconds = SECONDS_WITHOUT_ESTIMATE if known is None else known
    return Step(
        stack=stack,
        logical_id=logical_id,
        type=resource["Type"],
        seconds=max(seconds - spent, 0) if counts else 0,
        is_known=known is not None,
    )


def _nested_seconds(assembly: Path, stack: str, resource: Any) -> int | None:
    """Return how long a nested stack takes whose template is in the assembly."""
    path = resource.get("Metadata", {}).get(_ASSET_PATH)
    if resource["Type"] != _NESTED_STACK or path is None:
        return None
    resources = json.loads((assembly / path).read_text(encoding="utf-8"))["Resources"]
    return seconds_of(longest_chain(waits_for(resources), _steps(assembly, stack, resources, None, {})))


def _stacks_before(assembly: Path) -> dict[str, set[str]]:
    """Return the stacks that the CDK CLI deploys before each stack."""
    artifacts = read_artifacts(assembly, STACK)
    names = {each: artifact["properties"].get("stackName", each) for each, artifact in artifacts.items()}
    return {
        names[each]: {names[other] for other in artifact.get("dependencies", ()) if other in names}
        for each, artifact in artifacts.items()
    }


def _way_to_the_end(turns: dict[str, Turn]) -> list[str]:
    """Return the stacks that the end waits for, first to last."""
    way: list[str] = []
    last: str | None = max(turns, key=lambda name: turns[name].finish)
    while last is not None:
        way.insert(0, last)
        last = turns[last].after
    return way
