"""The phases of a rehearsal, in order. Each does one thing, checks it, and says what it saw in one line."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from slipway.assembly.bootstrap import read_qualifier
from slipway.rehearse.assembly import Assembly
from slipway.rehearse.cdk_cli import BOOTSTRAP_STACK
from slipway.rehearse.changed_environment import write_changed_environment
from slipway.rehearse.deploy_roles import DeployRoles
from slipway.rehearse.errors import RehearsalError
from slipway.rehearse.inventory import Inventory, added, take_inventory
from slipway.rehearse.isolation import only_variables
from slipway.rehearse.ledger import ResourceEntry
from slipway.rehearse.leftovers import Leftover, classify, deployed
from slipway.rehearse.permissions import read_permissions
from slipway.rehearse.session import Emulated, Session
from slipway.rehearse.untouched import describe_vpc, differences
from slipway.rehearse.work import Work

_MOST_NAMED = 8
_CHANGES = ("create", "update", "replace", "delete")


class PhaseFailedError(RehearsalError):
    """What a phase saw is not what it must see."""


@dataclass(frozen=True)
class Phase:
    """One phase.

    Attributes:
        name: short name; also the name of its log file.
        title: what is shown.
        run: does it; returns what was seen, raises `RehearsalError` when that is wrong.
        cleans_up: whether it runs after a failure, too, as long as the emulator is there.
    """

    name: str
    title: str
    run: Callable[[Session], str]
    cleans_up: bool = False


def synthesize(session: Session) -> str:
    """Synthesize the environment, without credentials and without a way out."""
    session.cdk.synthesize("synth", session.offline, session.subject.environment_file, session.folder.assembly)
    session.assembly = Assembly.read(session.folder.assembly)
    return f"{len(session.assembly.stacks)} stacks for {session.assembly.region}"


def start_emulator(session: Session) -> str:
    """Start the emulator for the region of the stacks."""
    session.start_emulator(_assembly(session))
    return _emulated(session).process.endpoint


def take_first_inventory(session: Session) -> str:
    """List what a fresh account holds, so that it is not mistaken for a leftover."""
    session.before = _inventory(session)
    session.existing_vpc = _existing_vpc(session)
    return _counted(session.before)


def bootstrap(session: Session) -> str:
    """Bootstrap the account as its administrator, with the roles that `slipway deploy-role` writes."""
    emulated, assembly = _emulated(session), _assembly(session)
    with only_variables(emulated.variables):
        roles = DeployRoles(assembly)
        arns = roles.make_execution_policies()
        target = f"aws://{assembly.account}/{emulated.region}"
        options = (
            "--qualifier",
            read_qualifier(assembly.folder),
            "--cloudformation-execution-policies",
            ",".join(arns),
        )
        session.cdk.bootstrap("bootstrap", emulated.variables, target, *options)
        roles.limit_deploy_role()
        emulated.deployer = {**emulated.variables, **roles.make_deployer()}
    made = len(_new_resources(emulated, 0))
    return f"{made} resources in {BOOTSTRAP_STACK}, {len(arns)} policies of `slipway deploy-role`"


def deploy(session: Session) -> str:
    """Deploy all stacks for the first time and keep their outputs."""
    emulated, assembly = _emulated(session), _assembly(session)
    start = len(emulated.ledger.entries)
    session.work = Work(assembly.resource_counts(), start)
    session.cdk.deploy("deploy", emulated.deployer, assembly.folder, session.folder.outputs)
    session.outputs = json.loads(session.folder.outputs.read_text(encoding="utf-8"))
    created = [entry for entry in _new_resources(emulated, start) if entry.action == "create"]
    return f"{len(created)} resources created"


def deploy_again(session: Session) -> str:
    """Deploy the same again: no resource may be touched."""
    emulated = _emulated(session)
    start = len(emulated.ledger.entries)
    session.cdk.deploy("deploy-again", emulated.deployer, _assembly(session).folder, session.folder.outputs)
    touched = _new_resources(emulated, start)
    if touched:
        raise PhaseFailedError(f"the second deployment of the same changed something\n{_named(touched)}")
    return "nothing changed"


def diff_nothing(session: Session) -> str:
    """Compare what exists with what was deployed: no difference."""
    different = session.cdk.diff("diff", _emulated(session).deployer, _assembly(session).folder)
    if different:
        raise PhaseFailedError(
            f"{different} stacks differ from what was just deployed; see {session.folder.log('diff')}"
        )
    return "no difference"


def take_deployed_inventory(session: Session) -> str:
    """List what the deployment added."""
    session.deployed = added(session.before, _inventory(session))
    return _counted(session.deployed)


def change(session: Session) -> str:
    """Synthesize a changed copy of the environment file."""
    copy = session.folder.changed_environment
    changes = write_changed_environment(session.subject.environment_file, copy)
    session.cdk.synthesize("change", session.offline, copy, session.folder.changed_assembly)
    session.changed_assembly = Assembly.read(session.folder.changed_assembly)
    if not _assembly(session).stacks_that_differ(session.changed_assembly):
        raise PhaseFailedError(f"the change of the environment file changed no stack: {', '.join(changes)}")
    return ", ".join(changes)


def diff_change(session: Session) -> str:
    """Compare the change with what exists: exactly the changed stacks differ."""
    expected, changed = _expected_change(session)
    different = session.cdk.diff("diff-change", _emulated(session).deployer, changed.folder)
    if different != len(expected):
        raise PhaseFailedError(
            f"`cdk diff` finds {different} changed stacks, the templates of {len(expected)} changed: {_list(expected)}"
        )
    return f"differences in {_list(expected)}"


def update(session: Session) -> str:
    """Deploy the change: exactly the changed stacks are updated."""
    expected, changed = _expected_change(session)
    emulated = _emulated(session)
    start = len(emulated.ledger.entries)
    session.work = Work(changed.changed_counts(_assembly(session)), start)
    with only_variables(emulated.variables):
        roles = DeployRoles(changed)
        roles.attach_execution_policies(roles.make_execution_policies())
    session.cdk.deploy("update", emulated.deployer, changed.folder, session.folder.outputs)
    entries = [entry for entry in _new_resources(emulated, start) if entry.action in _CHANGES]
    touched = {entry.stack for entry in entries} & changed.stack_names
    if touched != expected:
        raise PhaseFailedError(
            f"the update touched {_list(touched)}, the templates of {_list(expected)} changed\n{_named(entries)}"
        )
    return f"{len(entries)} resource actions in {_list(expected)}"


def unprotect(session: Session) -> str:
    """Take termination protection off, as a user must before a protected stack can be destroyed."""
    emulated = _emulated(session)
    protected = [stack.name for stack in _assembly(session).stacks if stack.termination_protection]
    if not protected:
        return "no stack is protected"
    with only_variables(emulated.variables):
        client = boto3.client("cloudformation")
        try:
            existing = {stack["StackName"] for stack in client.describe_stacks()["Stacks"]}
            for name in existing.intersection(protected):
                client.update_termination_protection(EnableTerminationProtection=False, StackName=name)
        except (BotoCoreError, ClientError) as error:
            raise PhaseFailedError(f"termination protection stays on: {error}") from error
    return f"taken off {_list(protected)}"


def destroy(session: Session) -> str:
    """Destroy all stacks."""
    emulated = _emulated(session)
    start = len(emulated.ledger.entries)
    standing = Counter(entry.stack for entry in deployed(emulated.ledger.resources()))
    names = [stack.name for stack in reversed(_assembly(session).stacks)]
    session.work = Work({name: standing[name] for name in names}, start)
    session.cdk.destroy("destroy", emulated.deployer, _assembly(session).folder)
    deleted = [entry for entry in _new_resources(emulated, start) if entry.action == "delete"]
    return f"{len(deleted)} resources deleted"


def find_leftovers(session: Session) -> str:
    """Compare with the first inventory: only documented leftovers may stand, and what was there still does."""
    emulated = _emulated(session)
    emulated.ledger.poll()
    after = _inventory(session)
    if gone := added(after, session.before):
        names = [f"{kind} {name}" for kind, of_kind in gone.items() for name in of_kind]
        raise PhaseFailedError(f"what was there before the deployment is gone: {_list(names)}")
    session.leftovers = classify(
        added(session.before, after),
        emulated.ledger.resources(),
        keeps_data=session.subject.keeps_data,
        ignored_stacks=frozenset({BOOTSTRAP_STACK}),
    )
    changed = differences(session.existing_vpc, _existing_vpc(session))
    if changed:
        raise PhaseFailedError(f"the existing VPC is not as it was: {', '.join(changed)}")
    unknown = [left for left in session.leftovers if not left.documented]
    if unknown:
        raise PhaseFailedError(f"{len(unknown)} things are left that nobody documented\n{_described(unknown)}")
    return f"{len(session.leftovers)} documented leftovers, nothing else" if session.leftovers else "nothing is left"


def judge_permissions(session: Session) -> str:
    """Look at every call that was made: its principal may make it, by the policies that stood at that moment."""
    found = read_permissions(session.folder.permissions, session.subject.name)
    wrong = [
        *(f"{one.principal} may not {one.action} on {one.resource}: {one.why}; {one.fix}" for one in found.denials),
        *found.unknown,
    ]
    if wrong:
        raise PhaseFailedError(f"{len(wrong)} calls were not allowed, or are unknown\n{_first(chr(10).join(wrong))}")
    return f"{found.checks} checks of {found.principals} principals, none denied"


PHASES = (
    Phase("synth", "cdk synth", synthesize),
    Phase("emulator", "start the emulator", start_emulator),
    Phase("inventory-before", "inventory of the fresh account", take_first_inventory),
    Phase("bootstrap", "cdk bootstrap", bootstrap),
    Phase("deploy", "cdk deploy --all", deploy),
    Phase("deploy-again", "cdk deploy --all, unchanged", deploy_again),
    Phase("diff", "cdk diff, unchanged", diff_nothing),
    Phase("inventory", "inventory of what exists", take_deployed_inventory),
    Phase("change", "cdk synth of a changed environment", change),
    Phase("diff-change", "cdk diff of the change", diff_change),
    Phase("update", "cdk deploy --all of the change", update),
    Phase("unprotect", "take off termination protection", unprotect, cleans_up=True),
    Phase("destroy", "cdk destroy --all", destroy, cleans_up=True),
    Phase("leftovers", "inventory after, leftovers", find_leftovers, cleans_up=True),
    Phase("permissions", "IAM: what each call was allowed", judge_permissions, cleans_up=True),
)
"""The whole rehearsal."""


def _emulated(session: Session) -> Emulated:
    if session.emulated is None:
        raise PhaseFailedError("the emulator was not started")
    return session.emulated


def _assembly(session: Session) -> Assembly:
    if session.assembly is None:
        raise PhaseFailedError("the environment was not synthesized")
    return session.assembly


def _expected_change(session: Session) -> tuple[frozenset[str], Assembly]:
    if session.changed_assembly is None:
        raise PhaseFailedError("the changed environment was not synthesized")
    return _assembly(session).stacks_that_differ(session.changed_assembly), session.changed_assembly


def _inventory(session: Session) -> Inventory:
    emulated = _emulated(session)
    with only_variables(emulated.variables):
        return take_inventory(emulated.process.endpoint, emulated.region, _assembly(session).account)


def _existing_vpc(session: Session) -> Mapping[str, Any]:
    """Describe the existing VPC. Empty if the environment makes its own."""
    emulated = _emulated(session)
    network = _assembly(session).network
    if network is None:
        return {}
    with only_variables(emulated.variables):
        return describe_vpc(network.vpc_id, emulated.process.endpoint, emulated.region)


def _new_resources(emulated: Emulated, start: int) -> list[ResourceEntry]:
    emulated.ledger.poll()
    return emulated.ledger.resources(start)


def _counted(inventory: Inventory) -> str:
    return f"{sum(map(len, inventory.values()))} things of {len(inventory)} kinds"


def _list(names: frozenset[str] | set[str] | list[str]) -> str:
    return ", ".join(sorted(names)) or "no stack"


def _named(entries: list[ResourceEntry]) -> str:
    lines = [f"{entry.action} {entry.stack}/{entry.logical_id} ({entry.type})" for entry in entries]
    return _first("\n".join(lines))


def _described(leftovers: list[Leftover]) -> str:
    return _first("\n".join(f"{left.kind} {left.name}: {left.reason}" for left in leftovers))


def _first(lines: str) -> str:
    """Return the first lines of many; the report has all of them."""
    shown, more = lines.splitlines()[:_MOST_NAMED], lines.splitlines()[_MOST_NAMED:]
    return "\n".join([*shown, f"and {len(more)} more"] if more else shown)
