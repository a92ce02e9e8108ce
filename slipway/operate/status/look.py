"""What AWS says of a deployed environment, part by part; a part that it does not show stops no other one."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from slipway.aws.refusals import UNANSWERED, explained
from slipway.aws.stacks import physical_ids
from slipway.errors import SlipwayError
from slipway.operate.deployed_environment import DeployedEnvironment
from slipway.operate.roll_out.service import find_inference_stack
from slipway.operate.roll_out.state import prefix_of
from slipway.operate.roll_out.tasks import find_tasks
from slipway.operate.status.model import JobRow, ModelRow, NodeRow, Spend, StackRow, Status
from slipway.remove.teardown.compute_nodes import live_instances
from slipway.remove.teardown.jobs import jobs

_ALARMS = ("AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm")
_BUDGET = "AWS::Budgets::Budget"
_MOST_NAMES = 100
"""How many alarms one question may name (CloudWatch API reference, DescribeAlarms)."""

# The tag Name of launch templates' instances: what the CDK calls them.
_GROUPS = (
    (re.compile(r"/NodeGroups/([^/]+)/"), "node group {}"),
    (re.compile(r"/CoreNodes/"), "core nodes"),
    (re.compile(r"/Models/([^/]+)/"), "hosts of {}"),
)
_NODE_TYPES = {"HeadNode": "head node", "LoginNode": "login node"}


class _UnknownError(SlipwayError):
    """A part that cannot be read; the message says why."""


def look(environment: DeployedEnvironment) -> Status:
    """Return all that AWS says; what it does not say is in `unknown`."""
    stacks = tuple(
        StackRow(name=stack.name, status=stack.status, since=stack.since)
        for stack in sorted(environment.stacks.values(), key=lambda stack: stack.name)
    )
    found: dict[str, Any] = {}
    unknown: dict[str, str] = {}
    with ThreadPoolExecutor(len(_PARTS)) as pool:
        asked = {name: pool.submit(part, environment) for name, part in _PARTS.items()} if stacks else {}
        for name, answer in asked.items():
            try:
                found[name] = answer.result()
            except UNANSWERED as error:
                unknown[name] = explained(error)
            except SlipwayError as error:
                unknown[name] = str(error)
    account = environment.account
    return Status(
        environment=environment.name,
        account=account.id,
        region=account.region,
        stacks=stacks,
        links=_links(environment) if stacks else {},
        unknown=unknown,
        **found,
    )


def _nodes(environment: DeployedEnvironment) -> tuple[NodeRow, ...]:
    filters = [{"Name": "tag:slipway:environment", "Values": [environment.name]}]
    counts = Counter(
        (_group({tag["Key"]: tag["Value"] for tag in row["Tags"]}), row["InstanceType"], row["State"]["Name"])
        for row in live_instances(environment.account.client("ec2"), filters)
    )
    return tuple(
        NodeRow(group=group, instance_type=type_, state=state, count=count)
        for (group, type_, state), count in sorted(counts.items())
    )


def _group(tags: dict[str, str]) -> str:
    if kind := tags.get("parallelcluster:node-type"):
        return _NODE_TYPES.get(kind) or f"queue {tags.get('parallelcluster:queue-name', '?')}"
    name = tags.get("Name", "")
    for pattern, words in _GROUPS:
        if found := pattern.search(name):
            return words.format(*found.groups())
    return name or "other"


def _jobs(environment: DeployedEnvironment) -> tuple[JobRow, ...]:
    training = environment.settings.training
    if training is None:
        raise _UnknownError(f"`{environment.command('job', '--', 'status')}` asks in the Kubernetes cluster")
    if training.cluster_name not in environment.stacks:
        return ()
    found = jobs(environment.account, training.cluster_name)
    if found is None:
        raise _UnknownError("the head node does not answer through Systems Manager")
    return tuple(JobRow(id=job.id, name=job.name, user=job.user, state=job.state, elapsed=job.elapsed) for job in found)


def _models(environment: DeployedEnvironment) -> tuple[ModelRow, ...]:
    inference, account = environment.settings.inference, environment.account
    name = f"slipway-{environment.name}-inference"
    if inference is None or name not in environment.stacks:
        return ()
    fixed = [ModelRow(name=one.name, served=one.prefix) for one in inference.models if one.prefix is not None]
    if len(fixed) == len(inference.models):
        return tuple(fixed)
    stack = find_inference_stack(account.client("cloudformation"), name)
    rows = []
    for model, service in stack.services.items():
        state, tasks = stack.state(model), find_tasks(account.client("ecs"), name, service.service_name)
        rows.append(
            ModelRow(
                name=model,
                served=prefix_of(state.served),
                candidate=prefix_of(state.candidate),
                percent=state.percent,
                tasks=tasks.running,
                wanted=tasks.wanted,
            )
        )
    return (*rows, *fixed)


def _spend(environment: DeployedEnvironment) -> Spend | None:
    account = environment.account
    for name in _ids(environment, _BUDGET):
        answer = account.client("budgets").describe_budget(AccountId=account.id, BudgetName=name)
        budget = answer["Budget"]
        return Spend(
            usd=float(budget.get("CalculatedSpend", {}).get("ActualSpend", {}).get("Amount", 0)),
            budget_usd=float(budget["BudgetLimit"]["Amount"]),
        )
    return None


def _alarms(environment: DeployedEnvironment) -> tuple[str, ...]:
    names = [name for kind in _ALARMS for name in _ids(environment, kind)]
    cloudwatch = environment.account.client("cloudwatch")
    found = []
    for start in range(0, len(names), _MOST_NAMES):
        answer = cloudwatch.describe_alarms(
            AlarmNames=names[start : start + _MOST_NAMES],
            AlarmTypes=["MetricAlarm", "CompositeAlarm"],
            MaxRecords=_MOST_NAMES,
        )
        rows = (*answer["MetricAlarms"], *answer.get("CompositeAlarms", ()))
        found += [row["AlarmName"] for row in rows if row["StateValue"] == "ALARM"]
    return tuple(sorted(found))


def _ids(environment: DeployedEnvironment, resource_type: str) -> Iterator[str]:
    for stack in environment.stacks.values():
        yield from physical_ids(environment.account.client("cloudformation"), stack.id, resource_type).values()


def _links(environment: DeployedEnvironment) -> dict[str, str]:
    outputs = environment.outputs
    links = {key.removesuffix("BaseUrl"): value for key, value in outputs.items() if key.endswith("BaseUrl")}
    if "Dashboard" in outputs:
        links["dashboard"] = outputs["Dashboard"]
    return links | {"shell": environment.command("connect")}


_PARTS: dict[str, Callable[[DeployedEnvironment], Any]] = {
    "nodes": _nodes,
    "jobs": _jobs,
    "models": _models,
    "spend": _spend,
    "alarms": _alarms,
}
