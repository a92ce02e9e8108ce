"""Take each statement out of its policy in turn, and count how often anybody would notice.

It reads what the last rehearsals of this checkout wrote down, which is each call with the policies that decided it
(`.rehearsal/<environment>/emulator/permissions.jsonl`). CloudFormation's role is asked for each action of its policies
on each resource of the templates, too, because AWS's handlers call more than the emulator's (tests/check/deploy_role).
further_calls.yaml has the calls that are not rehearsed; program_calls.yaml those of hosts, nodes and containers, with
the statements that stay unused. The exit code is 1 if a removal of another statement of Slipway's has no effect, or,
over all rehearsals, if less than 95 % of the removals of Slipway's statements have an effect.
"""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from slipway.assembly.bootstrap import read_qualifier
from slipway.assembly.stacks import ENVIRONMENT_TAG
from slipway.check.deploy_role.needs import read_needs
from slipway_emulator.permissions.conditions import as_list
from slipway_emulator.permissions.evaluation import Policies, Principal, Request, decide
from slipway_emulator.settings import ACCOUNT
from tests.assembly import PROJECT, Assembly, load
from tests.check.deploy_role.test_resource_arns import all_made, requests
from tests.iam.program_roles import actors, without_each

_EXECUTION_ROLE = "-cfn-exec-role-"
_MADE_UP = re.compile(r"-[0-9a-f]{12}\b|-[0-9A-Za-z]{12}\b|\b[0-9A-F]{8}\b")

GROUPS: Sequence[tuple[str, str]] = (
    ("*-cfn-exec-role-*", "CloudFormation's role"),
    ("*:user/deploy-slipway-*", "the deployer"),
    ("*:role/cdk-*", "the CDK's bootstrap"),
    ("*ClusterProvider*", "ParallelCluster's provider"),
    ("*:role/parallelcluster/*", "ParallelCluster's provider"),
    ("*ClusterKubectlProvide*", "the CDK's kubectl provider"),
    ("*", "functions"),
)
"""Patterns of principals, and what their policies are counted as."""

REHEARSED = ("CloudFormation's role", "the deployer", "functions")
"""Whose policies Slipway writes, of those that call while it is rehearsed."""

PROGRAMS = "programs of hosts, nodes and containers"
OURS = (*REHEARSED, PROGRAMS)
NOTICED_AT_LEAST = 0.95
"""Of the statements in all policies that Slipway writes."""


@dataclass(frozen=True)
class Check:
    """One call that was decided.

    Attributes:
        request: what was asked.
        identity: numbers of the principal's documents.
        boundary: number of its boundary.
        resource: number of the resource's policy.
    """

    request: Request
    identity: tuple[int, ...]
    boundary: int | None = None
    resource: int | None = None


@dataclass
class Run:
    """What one rehearsal wrote down."""

    environment: str
    documents: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)

    def allows(self, check: Check, instead: Mapping[int, Mapping[str, Any]]) -> bool:
        """Decide a call again, with other documents for some."""

        def text(number: int | None) -> str | None:
            return None if number is None else json.dumps(instead.get(number, self.documents[number]))

        identity = [found for number in check.identity if (found := text(number))]
        return decide(check.request, Policies(identity, text(check.boundary), text(check.resource))).allowed


@dataclass(frozen=True, order=True)
class Statement:
    """A statement of a policy, without what differs between environments."""

    group: str
    text: str


def read_run(environment: str, file: Path) -> Run:
    """Read permissions.jsonl; equal calls count once."""
    run = Run(environment)
    checks: dict[str, Check] = {}
    for line in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
        if line["kind"] == "document":
            run.documents[line["number"]] = line["text"]
        elif line["kind"] == "check" and line["allowed"]:
            key = json.dumps({name: value for name, value in line.items() if name not in ("why", "operation")})
            checks[key] = _check(line)
    run.checks = list(checks.values())
    return run


def _check(line: Mapping[str, Any]) -> Check:
    who = line["principal"]
    principal = Principal(who) if who.startswith("arn:") else Principal(service=who)
    request = Request(principal, line["action"], line["resource"], line["context"])
    return Check(request, tuple(line["identity"]), line["boundary"], line["resource_policy"])


def asked_by_handlers(run: Run, assembly: Assembly) -> Iterator[Check]:
    """Yield each action of the policies of CloudFormation's role on each resource of an assembly."""
    theirs = [check for check in run.checks if _EXECUTION_ROLE in check.request.principal.arn]
    needs = read_needs(assembly.directory)
    asked = list(requests(needs, all_made(assembly, needs)))
    region = {"aws:requestedregion": needs.region}
    # What is asked on no resource, or on one that no template has.
    asked += [(action, "*", region) for action in sorted(needs.actions - {action for action, *_ in asked})]
    tags = {f"aws:{kind}/{ENVIRONMENT_TAG}": needs.environment for kind in ("resourcetag", "requesttag")}
    # The policies before an update of the environment, and after.
    for identity, principal in {check.identity: check.request.principal for check in theirs}.items():
        for action, resource, keys in asked:
            context = {key.lower(): [value] for key, value in {**tags, **keys}.items()}
            check = Check(Request(principal, action, resource, context), identity)
            if run.allows(check, {}):
                yield check


def further_calls(run: Run, assembly: Assembly) -> Iterator[Check]:
    """Yield the calls of further_calls.yaml that the policies of this run allow."""
    region = read_needs(assembly.directory).region
    names = {"region": region, "account": ACCOUNT, "qualifier": read_qualifier(assembly.directory)}
    identities = {check.identity: check.request.principal for check in run.checks}
    for row in yaml.safe_load(Path(__file__).with_name("further_calls.yaml").read_text(encoding="utf-8"))["calls"]:
        for identity, principal in identities.items():
            if fnmatchcase(principal.arn, row["principal"]):
                context = {"aws:requestedregion": [region]}
                check = Check(Request(principal, row["action"], row["resource"].format(**names), context), identity)
                if run.allows(check, {}):
                    yield check


def noticed(run: Run) -> Iterator[tuple[Statement, bool]]:
    """Yield each statement that allows something, and whether a call fails without it."""
    by_document: dict[int, list[Check]] = defaultdict(list)
    owners: dict[int, str] = {}
    for check in run.checks:
        for number in check.identity:
            by_document[number].append(check)
            owners.setdefault(number, check.request.principal.arn)
    for number, document in run.documents.items():
        if number not in owners:
            continue  # a boundary or a resource's policy
        statements = as_list(document["Statement"])
        for statement in statements:
            if statement["Effect"] == "Allow":
                rest = {**document, "Statement": [one for one in statements if one is not statement]}
                failing = any(not run.allows(check, {number: rest}) for check in by_document[number])
                yield Statement(_group(owners[number]), _plain(statement, run.environment)), failing


def noticed_of_programs(environment: str, assembly: Assembly) -> Iterator[tuple[Statement, bool]]:
    """Yield the same of the roles of hosts, nodes and containers."""
    for actor in actors(assembly):
        for statement, policies in without_each(actor):
            text = f"{actor.name}: {_plain(statement, environment)}"
            yield Statement(PROGRAMS, text), bool(actor.refused(policies))


def _group(principal: str) -> str:
    return next(group for pattern, group in GROUPS if fnmatchcase(principal, pattern))


def _plain(statement: Mapping[str, Any], environment: str) -> str:
    return _MADE_UP.sub("-#", json.dumps(statement, sort_keys=True)).replace(environment, "ENVIRONMENT")


def main(environments: Sequence[str]) -> int:
    """Print how many removals are noticed; return 1 if a statement of ours is not, and nothing explains it.

    Args:
        environments: names of what was rehearsed; everything that was, without any.
    """
    found: dict[Statement, bool] = {}
    for file in sorted((PROJECT / ".rehearsal").glob("*/emulator/permissions.jsonl")):
        environment = file.parts[-3]
        if environments and environment not in environments:
            continue
        run = read_run(environment, file)
        assembly = Assembly(load(environment), file.parents[1] / "assembly")
        run.checks += [*asked_by_handlers(run, assembly), *further_calls(run, assembly)]
        for statement, failing in (*noticed(run), *noticed_of_programs(environment, assembly)):
            found[statement] = found.get(statement, False) or failing
    if not found:
        print("there is no rehearsal to read: run make rehearse first", file=sys.stderr)
        return 2
    for group in sorted({statement.group for statement in found}):
        of_group = [failing for statement, failing in found.items() if statement.group == group]
        print(f"{group}: {sum(of_group)} of {len(of_group)} removed statements are noticed")
    unused = [statement for statement, failing in sorted(found.items()) if not failing and statement.group in REHEARSED]
    for statement in unused:
        print(f"unused statement: {statement.group}: {statement.text}")
    ours = [failing for statement, failing in found.items() if statement.group in OURS]
    share = sum(ours) / len(ours)
    print(f"all that Slipway writes: {sum(ours)} of {len(ours)}, {share:.1%}")
    return 1 if unused or (not environments and share < NOTICED_AT_LEAST) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
