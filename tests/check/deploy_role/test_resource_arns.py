"""CloudFormation's role reaches every resource by its real ARN: names, paths and all.

None of the judges is ours: the Service Authorization Reference, as cfn-lint keeps it, says on which kind of ARN IAM
decides an action, and a policy simulator decides it, with the condition keys that AWS sends (tests/iam/simulator.py).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import pytest

from slipway.assembly.stacks import ENVIRONMENT_TAG
from slipway.check.deploy_role.needs import Needs, read_needs
from slipway.check.deploy_role.policies import (
    Document,
    bootstrap_role,
    deployer_policy,
    destroyer_policy,
    execution_policies,
)
from tests.assembly import PROJECT, Assembly
from tests.check.deploy_role.made_resources import ACCOUNT, UUID, Made, arn, made_by, reference
from tests.iam.simulator import Request, decide

Context = Mapping[str, str]
ROLE = f"arn:aws:iam::{ACCOUNT}:role/cfn-exec"


def requests(needs: Needs, resources: Sequence[Made]) -> Iterator[tuple[str, str, Context]]:
    """Yield action, ARN and condition keys: each action of the policies on each resource that it can be asked on."""
    for action in sorted(needs.actions - {"iam:CreateServiceLinkedRole"}):
        service, name = action.split(":")
        kinds = reference()[service]["Actions"].get(name.lower(), {}).get("Resources", [])
        for made in resources:
            if made.kind in {(service, kind) for kind in kinds}:
                every = passed(made) if action == "iam:PassRole" else [bounded(made)]
                yield from ((action, made.arn, {"aws:RequestedRegion": needs.region, **keys}) for keys in every)
        if (service, "object") in {(service, kind) for kind in kinds}:
            yield from ((action, key, {}) for key in objects(action, needs, resources))
    for service in needs.linked_services:
        linked = arn(("iam", "role"), f"aws-service-role/{service}/AWSServiceRole", needs.region)
        yield "iam:CreateServiceLinkedRole", linked, {"iam:AWSServiceName": service}


def objects(action: str, needs: Needs, resources: Sequence[Made]) -> Iterator[str]:
    """Yield objects: of the environment's own buckets and, where they are read, the assets and the provider's."""
    yield from (f"{made.arn}/key" for made in resources if made.kind == ("s3", "bucket"))
    if action.startswith("s3:GetObject"):
        yield f"arn:aws:s3:::cdk-{needs.qualifier}-assets-{ACCOUNT}-{needs.region}/code.zip"
        if needs.nests_provider:
            yield f"arn:aws:s3:::{needs.region}-aws-parallelcluster/parallelcluster/templates/cluster.yaml"


def passed(role: Made) -> Iterator[Context]:
    """Yield the condition keys with which a role is passed to each service that may take it on."""
    for statement in role.properties.get("AssumeRolePolicyDocument", {"Statement": []})["Statement"]:
        services = statement["Principal"].get("Service", [])
        for service in [services] if isinstance(services, str) else services:
            yield {"iam:PassedToService": service}


def bounded(made: Made) -> Context:
    """Return the condition key of a resource's boundary."""
    return {"iam:PermissionsBoundary": str(made.properties.get("PermissionsBoundary", ""))}


def refused(policies: Sequence[Document], needs: Needs, asked: Sequence[tuple[str, str, Context]]) -> set[str]:
    """What the policies together do not allow; the simulator decides. Each resource has the environment's tag."""
    tag = {f"aws:{kind}/{ENVIRONMENT_TAG}": needs.environment for kind in ("ResourceTag", "RequestTag")}
    decisions = decide([Request(ROLE, action, name, policies, if_sent={**tag, **keys}) for action, name, keys in asked])
    return {
        f"{action} on {name}"
        for (action, name, _), decision in zip(asked, decisions, strict=True)
        if decision != "Allowed"
    }


def all_made(assembly: Assembly, needs: Needs) -> list[Made]:
    """What all stacks of an assembly make."""
    return [
        made
        for stack, template in assembly.templates().items()
        for made in made_by(stack, template["Resources"], needs.region)
    ]


def test_every_resource_is_reached_by_its_arn(each_assembly: Assembly) -> None:
    needs = read_needs(each_assembly.directory)

    asked = list(requests(needs, all_made(each_assembly, needs)))

    assert {action.split(":")[0] for action, *_ in asked} >= {"cloudformation", "iam", "lambda", "s3"}
    assert not sorted(refused(execution_policies(needs), needs, asked))


def test_everything_that_is_held_to_names_is_asked_for(default: Assembly, assemblies: Any) -> None:
    """A kind of resource that is left out above would leave its actions unproven."""
    asked, held = set(), set()
    for assembly in (default, assemblies("kubernetes"), assemblies("team")):
        needs = read_needs(assembly.directory)
        asked |= {action for action, *_ in requests(needs, all_made(assembly, needs))}
        statements = [item for policy in execution_policies(needs) for item in policy["Statement"]]
        begin = f"slipway-{needs.environment}-"
        of_names = [item for item in statements if any(begin in resource for resource in item["Resource"])]
        held |= {action for item in of_names for action in item["Action"]}

    # For the nodes of EKS's Auto Mode, which no template has.
    assert held - asked == {"iam:TagInstanceProfile"}


@pytest.mark.parametrize(
    ("action", "resource"),
    [
        ("iam:CreatePolicyVersion", f"arn:aws:iam::{ACCOUNT}:policy/deploy-slipway-small-execution-1"),
        ("iam:CreatePolicy", f"arn:aws:iam::{ACCOUNT}:policy/parallelcluster/another"),
        ("iam:DeleteRole", f"arn:aws:iam::{ACCOUNT}:role/slipway-team-storage-Role-1A2B3C4D5E6F"),
        ("s3:DeleteBucket", "arn:aws:s3:::slipway-team-storage-data-1a2b3c4d5e6f"),
        ("lambda:InvokeFunction", f"arn:aws:lambda:us-west-2:{ACCOUNT}:function:another"),
        ("lambda:InvokeFunction", f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:slipway-small-storage-F-1A2B3C4D5E6F"),
    ],
)
def test_what_is_not_the_environments_is_out_of_reach(small: Assembly, action: str, resource: str) -> None:
    needs = read_needs(small.directory)

    assert action in needs.actions
    assert refused(execution_policies(needs), needs, [(action, resource, {"aws:RequestedRegion": needs.region})])


@pytest.mark.parametrize(
    ("environment", "action", "kind", "name"),
    [
        (
            "beside",
            "cloudformation:UpdateTerminationProtection",
            ("cloudformation", "stack"),
            "{stack}training/" + UUID,
        ),
        ("beside", "eks:UpdateNodegroupConfig", ("eks", "nodegroup"), f"{{stack}}kubernetes/jobs/{UUID}"),
        ("beside", "dynamodb:UpdateItem", ("dynamodb", "table"), "parallelcluster-slurm-beside"),
        ("beside", "logs:DeleteLogGroup", ("logs", "log-group"), "/aws/lambda/{stack}training-F-1A2B3C4D5E6F"),
        ("beside", "logs:DeleteLogGroup", ("logs", "log-group"), "/aws/parallelcluster/beside-202611221530"),
        ("beside", "logs:DeleteLogGroup", ("logs", "log-group"), "/aws/eks/{stack}kubernetes/cluster"),
        ("default", "ecs:UpdateService", ("ecs", "service"), "{stack}inference-C-1A2B3C4D5E6F/{stack}inference-S-1A"),
        (
            "default",
            "ecs:UpdateTaskProtection",
            ("ecs", "task"),
            "{stack}inference-C-1A2B3C4D5E6F/{stack}inference-S-1A",
        ),
    ],
)
def test_who_destroys_reaches_what_is_stopped_and_deleted(
    assemblies: Any, environment: str, action: str, kind: tuple[str, str], name: str
) -> None:
    needs = read_needs(assemblies(environment).directory)
    one = arn(kind, name.format(stack=f"slipway-{environment}-"), needs.region)

    assert not refused([destroyer_policy(needs)], needs, [(action, one, {"aws:RequestedRegion": needs.region})])


def test_the_deployer_takes_on_the_roles_that_the_bootstrap_makes(default: Assembly) -> None:
    """Their names are in the template that the pinned CDK CLI bootstraps with."""
    needs = read_needs(default.directory)
    template = (PROJECT / "node_modules/aws-cdk/lib/api/bootstrap/bootstrap-template.yaml").read_text(encoding="utf-8")
    names = set(re.findall(r"RoleName:\s+Fn::Sub: (cdk-\S+)", template))
    values = {"${Qualifier}": needs.qualifier, "${AWS::AccountId}": ACCOUNT, "${AWS::Region}": needs.region}
    roles = {reduce(lambda text, item: text.replace(*item), values.items(), name) for name in names}

    asked: dict[str, tuple[str, str, Context]] = {
        role: ("sts:AssumeRole", f"arn:aws:iam::{ACCOUNT}:role/{role}", {}) for role in roles
    }
    deployer = [deployer_policy(needs, ACCOUNT)]
    taken = {role for role, request in asked.items() if not refused(deployer, needs, [request])}

    assert len(roles) == 5
    assert roles - taken == {bootstrap_role(needs, name, ACCOUNT) for name in ("cfn-exec", "lookup")}
