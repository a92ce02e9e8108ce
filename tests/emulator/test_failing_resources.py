"""Every resource of the shipped environments fails once when it is created, updated and deleted.

A failed creation or update is taken back, a failed deletion is repeated; nothing stays behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from slipway.config import load_environment
from slipway.project import PROJECT, parallelcluster_of
from slipway.rehearse.changed_environment import write_changed_environment
from slipway_emulator.faults import Fault
from slipway_emulator.template.references import creation_order
from slipway_pause.fleet import ITEM, ComputeFleet
from tests.assembly import SHIPPED, Assembly, Template, environment_path, synthesize
from tests.emulator.running import RunningEmulator
from tests.live_cluster.fleet_status import replace_status

pytestmark = pytest.mark.nightly

ROLES = ("network", "storage", "training", "kubernetes", "inference", "operations")
"""Stacks in the order in which they are created."""

MOST_ATTEMPTS = 40
"""Deletions of one stack; each goes as far as nothing that is left needs it."""

Record = Callable[[str, object], None]


@pytest.fixture
def emulator(tmp_path: Path) -> Iterator[RunningEmulator]:
    python = parallelcluster_of(PROJECT) / "python"
    options = ("--node-modules", str(PROJECT / "node_modules"), "--parallelcluster-python", str(python))
    running = RunningEmulator(tmp_path / "emulator", options)
    running.bootstrap()
    yield running
    assert running.stop() == 0


@pytest.mark.parametrize("name", SHIPPED)
def test_each_creation_update_and_deletion_fails_once(
    name: str, emulator: RunningEmulator, tmp_path: Path, record_property: Record
) -> None:
    assembly = synthesize(load_environment(environment_path(name)), tmp_path / "assembly")
    changed = synthesize(load_environment(changed_file(name, tmp_path)), tmp_path / "changed")
    templates = dict(stacks(assembly))
    before = emulator.inventory()

    later = dict(stacks(changed))
    creations = sum(fail_creations(emulator, assembly, stack, template) for stack, template in templates.items())
    updates = sum(fail_updates(emulator, changed, stack, templates[stack], new) for stack, new in later.items())
    deletions = sum(fail_deletions(emulator, stack, template) for stack, template in reversed(later.items()))

    assert emulator.undocumented(before, keeps_data=assembly.environment.lifecycle == "persistent") == []
    record_property("fault", "Each resource fails once when it is created, updated and deleted")
    record_property(
        "seen", f"`{name}`: {creations} creations, {updates} updates and {deletions} deletions failed; nothing was left"
    )


def stacks(assembly: Assembly) -> Iterator[tuple[str, Template]]:
    for role in ROLES:
        name = f"slipway-{assembly.environment.name}-{role}"
        if (assembly.directory / f"{name}.template.json").exists():
            yield name, assembly.template(role)


def changed_file(name: str, tmp_path: Path) -> Path:
    """The environment with what every user changes first."""
    path = tmp_path / "changed" / f"{name}.yaml"
    path.parent.mkdir()
    write_changed_environment(environment_path(name), path)
    return path


def fail_creations(emulator: RunningEmulator, assembly: Assembly, stack: str, template: Template) -> int:
    """Let the creation of each resource fail, then create the stack; answers how many failed."""
    emulator.upload(assembly.directory, stack)
    order = active(template)
    for logical_id in order:
        emulator.faults.ask_for(Fault(stack, logical_id, "after create"))
        assert emulator.create_from(assembly.directory, stack) == "ROLLBACK_COMPLETE", emulator.reasons(stack)
        assert emulator.faults.to_come() == []
        # The CDK CLI does so before it creates the stack again.
        assert emulator.delete(stack) == "DELETE_COMPLETE"
        delete_node_logs(emulator)
    assert emulator.ledger(action="retain", stack=stack) == []
    assert emulator.create_from(assembly.directory, stack) == "CREATE_COMPLETE", emulator.reasons(stack)
    return len(order)


def delete_node_logs(emulator: RunningEmulator) -> None:
    """Delete what clusters have logged, as `slipway destroy` does.

    It outlives a cluster, under a name with the minute of its creation: a cluster that is created twice in a minute, as
    only an emulator can, finds the name taken.
    """
    logs = emulator.client("logs")
    for group in logs.describe_log_groups(logGroupNamePrefix="/aws/parallelcluster/")["logGroups"]:
        logs.delete_log_group(logGroupName=group["logGroupName"])


def active(template: Template) -> list[str]:
    """The logical ids of what is created, in this order; conditions are about whether a model has a version."""
    resources = template["Resources"]
    return [logical_id for logical_id in creation_order(resources) if "Condition" not in resources[logical_id]]


def fail_updates(emulator: RunningEmulator, assembly: Assembly, stack: str, old: Template, new: Template) -> int:
    """Let the update of each changed resource fail, or the creation of what is new, then update the stack."""
    emulator.upload(assembly.directory, stack)
    changed = [each for each in active(new) if properties(new, each) != properties(old, each)]
    outputs = emulator.outputs(stack)
    for logical_id in changed:
        emulator.faults.ask_for(*(Fault(stack, logical_id, moment) for moment in ("after update", "after create")))
        status = update(emulator, assembly, stack)
        if assembly.environment.training and status == "UPDATE_ROLLBACK_FAILED":
            status = continue_with_a_stopped_fleet(emulator, stack, assembly.training.cluster_name)
        assert status == "UPDATE_ROLLBACK_COMPLETE", emulator.reasons(stack)
        assert len(emulator.faults.to_come()) == 1
        assert emulator.outputs(stack) == outputs
    emulator.faults.ask_for()
    assert not changed or update(emulator, assembly, stack) == "UPDATE_COMPLETE", emulator.reasons(stack)
    return len(changed)


def continue_with_a_stopped_fleet(emulator: RunningEmulator, stack: str, cluster: str) -> str:
    """Do what docs/troubleshooting.md says of a rollback that ParallelCluster refuses; answers the stack's status."""
    assert "All compute nodes must be stopped" in str(emulator.events(stack))
    fleet = ComputeFleet(emulator.client("dynamodb"), cluster)
    # No head node runs here: it writes this when it is set up, and STOPPED when it has terminated its nodes.
    running = {"status": {"S": "RUNNING"}, "lastStatusUpdatedTime": {"S": "2026-11-28T00:00:00Z"}}
    fleet.dynamodb.put_item(TableName=fleet.table, Item={**ITEM, "Data": {"M": running}})
    assert fleet.stop()
    replace_status(fleet.dynamodb, fleet.table, "STOP_REQUESTED", "STOPPED")
    emulator.cloudformation.continue_update_rollback(StackName=stack)
    status = emulator.settled(stack)
    assert fleet.start()
    replace_status(fleet.dynamodb, fleet.table, "START_REQUESTED", "RUNNING")
    return status


def properties(template: Template, logical_id: str) -> Any:
    return template["Resources"].get(logical_id, {}).get("Properties")


def update(emulator: RunningEmulator, assembly: Assembly, stack: str) -> str:
    text = (assembly.directory / f"{stack}.template.json").read_text(encoding="utf-8")
    emulator.cloudformation.update_stack(StackName=stack, TemplateBody=text)
    return emulator.settled(stack)


def fail_deletions(emulator: RunningEmulator, stack: str, template: Template) -> int:
    """Let the deletion of each resource fail, until the stack is gone."""
    logical_ids = active(template)
    emulator.faults.ask_for(*(Fault(stack, each, "before delete") for each in logical_ids))
    for _ in range(MOST_ATTEMPTS):
        if emulator.delete(stack) == "DELETE_COMPLETE":
            break
    kept = {entry["logical_id"] for entry in emulator.ledger(action="retain", stack=stack)}
    to_come = {fault.logical_id for fault in emulator.faults.to_come()}
    assert to_come <= kept
    return len(logical_ids) - len(to_come)
