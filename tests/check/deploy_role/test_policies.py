"""The policies hold what a deployment needs, as far as others can tell: cfn-lint, and the emulator's own calls."""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import boto3
import pytest

from slipway.check.deploy_role.needs import Needs, read_needs
from slipway.check.deploy_role.policies import (
    MANAGED_POLICY_CHARACTERS,
    deployer_policy,
    destroyer_policy,
    execution_policies,
    github_trust_policy,
)
from slipway.check.preflight.policy import policy as preflight_policy
from slipway.check.preflight.run import choose
from slipway_emulator.resources.row import Row
from slipway_emulator.resources.rows import api_rows
from tests.assembly import ENVIRONMENTS, Assembly
from tests.conftest import AssemblyFactory
from tests.gates.test_template_linters import CFN_LINT, templates_of

ACCOUNT = "111122223333"
Statement = Mapping[str, Any]

PREFIXES = {"elbv2": "elasticloadbalancing"}
"""IAM's name of a service where boto3 has another."""

OTHER_NAMES = {
    "s3:PutBucketNotificationConfiguration": "s3:PutBucketNotification",
    "s3:PutBucketEncryption": "s3:PutEncryptionConfiguration",
    "s3:PutBucketLifecycleConfiguration": "s3:PutLifecycleConfiguration",
    "s3:PutPublicAccessBlock": "s3:PutBucketPublicAccessBlock",
    "elasticloadbalancing:SetWebAcl": "elasticloadbalancing:SetWebACL",
    "budgets:CreateBudget": "budgets:ModifyBudget",
    "budgets:DeleteBudget": "budgets:ModifyBudget",
}
"""Actions that are not named like their operation (Service Authorization Reference)."""


@cache
def statements(needs: Needs) -> tuple[Statement, ...]:
    return tuple(statement for policy in execution_policies(needs) for statement in policy["Statement"])


def allows(needs: Needs, action: str) -> bool:
    return any(fnmatchcase(action, pattern) for item in statements(needs) for pattern in item["Action"])


def test_each_fits_a_managed_policy_and_all_fit_a_role(each_assembly: Assembly) -> None:
    policies = execution_policies(read_needs(each_assembly.directory))

    # Ten managed policies is what a role takes without a raised quota.
    assert 1 <= len(policies) <= 10
    assert all(len(json.dumps(policy, separators=(",", ":"))) <= MANAGED_POLICY_CHARACTERS for policy in policies)


def test_the_workflows_policies_fit_a_role_together(each_assembly: Assembly) -> None:
    """The printed commands put them into the role; IAM takes 10,240 characters of such policies (IAM quotas)."""
    needs = read_needs(each_assembly.directory)
    preflight = json.loads(preflight_policy(choose((), (), capacity=False)))
    inline = [deployer_policy(needs, ACCOUNT), destroyer_policy(needs), preflight]

    assert sum(len(json.dumps(document, separators=(",", ":"))) for document in inline) <= 10240


def test_no_action_is_lost_between_the_documents(each_assembly: Assembly) -> None:
    needs = read_needs(each_assembly.directory)

    allowed = [action for item in statements(needs) for action in item["Action"]]

    assert sorted(allowed) == sorted(needs.actions)


def test_cfn_lint_knows_every_action_and_resource(assemblies: AssemblyFactory, tmp_path: Path) -> None:
    for name in ENVIRONMENTS:
        needs = read_needs(assemblies(name).directory)
        documents = [*execution_policies(needs), deployer_policy(needs, ACCOUNT), destroyer_policy(needs)]
        resources = {
            f"Policy{number}": {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"PolicyDocument": document}}
            for number, document in enumerate(documents)
        }
        template = {"AWSTemplateFormatVersion": "2010-09-09", "Resources": resources}
        (tmp_path / f"{name}.template.json").write_text(json.dumps(template))

    run = subprocess.run(
        [
            *(str(CFN_LINT), "--format", "parseable", "--include-checks", "I"),
            *("--template", *templates_of(tmp_path)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.stdout == ""
    assert run.returncode == 0, run.stderr


def test_what_takes_no_resource_is_not_held_to_one(each_assembly: Assembly) -> None:
    needs = read_needs(each_assembly.directory)
    # The Service Authorization Reference, as cfn-lint keeps it; its own rules do not look at this.
    reference = json.loads((files("cfnlint") / "data" / "AdditionalSpecs" / "Policies.json").read_text())

    def takes_one(action: str) -> bool:
        service, name = action.lower().split(":")
        known = reference[service]["Actions"]
        return all(known[found].get("Resources") for found in known if fnmatchcase(found, name))

    documents = [*execution_policies(needs), deployer_policy(needs, ACCOUNT), destroyer_policy(needs)]
    held = {
        action
        for document in documents
        for item in document["Statement"]
        if item["Resource"] not in ("*", ["*"])
        for action in ([item["Action"]] if isinstance(item["Action"], str) else item["Action"])
    }

    assert len(held) > 40
    assert not sorted(action for action in held if not takes_one(action))


def test_whatever_writes_is_held_to_names_or_the_region(each_assembly: Assembly) -> None:
    needs = read_needs(each_assembly.directory)

    for item in statements(needs):
        writing = [a for a in item["Action"] if not re.match(r"[a-z0-9-]+:(Describe|List|Get|BatchGet|Simulate)", a)]
        layers = [action for action in writing if "Layer" in action or "CodeSigning" in action]
        if writing and item["Resource"] == ["*"]:
            assert item["Condition"]["StringEquals"] == {"aws:RequestedRegion": needs.region}, writing
            assert writing == layers or not [a for a in writing if a.startswith(("iam:", "s3:", "lambda:"))]


def test_only_the_services_of_the_roles_are_passed_one(each_assembly: Assembly) -> None:
    needs = read_needs(each_assembly.directory)

    (passing,) = [item for item in statements(needs) if "iam:PassRole" in item["Action"]]

    assert passing["Condition"]["StringEquals"]["iam:PassedToService"] == list(needs.role_services)
    assert all("role/" in resource for resource in passing["Resource"])


def calls(row: Row) -> Iterator[str]:
    """Yield the boto3 methods that make, set up and delete a resource on the emulator."""
    if row.operation:
        yield row.operation
    yield from (setting.apply.operation for setting in row.settings.values() if setting.apply)
    if row.delete:
        yield row.delete.operation


@cache
def iam_action(service: str, method: str) -> str:
    client = boto3.client(service, region_name="us-west-2", aws_access_key_id="x", aws_secret_access_key="x")  # type: ignore[call-overload]
    action = f"{PREFIXES.get(service, service)}:{client.meta.method_to_api_mapping[method]}"
    return OTHER_NAMES.get(action, action)


def test_every_call_that_makes_a_resource_on_the_emulator_is_allowed(each_assembly: Assembly) -> None:
    needs = read_needs(each_assembly.directory)
    rows = api_rows()
    types = {r["Type"] for t in each_assembly.templates().values() for r in t["Resources"].values()} & set(rows)
    wanted = {iam_action(rows[kind].service, method) for kind in types for method in calls(rows[kind])}

    assert len(wanted) > 40
    assert not sorted(action for action in wanted if not allows(needs, action))


def test_a_boundary_that_all_roles_have_is_demanded_of_new_ones(kubernetes_bounded: Path) -> None:
    needs = read_needs(kubernetes_bounded)

    (creating,) = [item for item in statements(needs) if "iam:CreateRole" in item["Action"]]

    assert creating["Condition"]["StringEquals"] == {"iam:PermissionsBoundary": needs.permissions_boundary}


def test_the_providers_role_has_no_boundary_so_none_is_demanded(assemblies: Any) -> None:
    assert read_needs(assemblies("directory").directory).permissions_boundary is None


def test_a_demanded_boundary_cannot_be_lifted(kubernetes_bounded: Path, default: Assembly) -> None:
    assert not allows(read_needs(kubernetes_bounded), "iam:DeleteRolePermissionsBoundary")
    assert allows(read_needs(default.directory), "iam:DeleteRolePermissionsBoundary")


def resources_of(needs: Needs, action: str) -> set[str]:
    """What an action is allowed on."""
    return {arn for item in statements(needs) if action in item["Action"] for arn in item["Resource"]}


def test_every_stack_reads_the_bootstraps_version_and_the_outputs_of_others(each_assembly: Assembly) -> None:
    needs = read_needs(each_assembly.directory)

    (version,) = {t["Parameters"]["BootstrapVersion"]["Default"] for t in each_assembly.templates().values()}
    assert f"arn:aws:ssm:{needs.region}:*:parameter{version}" in resources_of(needs, "ssm:GetParameters")
    stacks = f"arn:aws:cloudformation:{needs.region}:*:stack"
    own = {f"{stacks}/{name}/*" for name in needs.stack_names}
    nested = {f"{stacks}/{prefix}*" for prefix in needs.name_prefixes("cloudformation")}
    allowed = own | nested if needs.nests_provider else own
    assert resources_of(needs, "cloudformation:DescribeStacks") == allowed


def test_what_aws_own_templates_name_is_reached_where_they_are_nested(default: Assembly, assemblies: Any) -> None:
    needs, without = read_needs(default.directory), read_needs(assemblies("kubernetes").directory)

    assert "arn:aws:iam::*:role/ParallelClusterLambdaRole-????????" in resources_of(needs, "iam:CreateRole")
    policy = "arn:aws:iam::*:policy/DefaultParallelClusterIamAdminPolicy-????????"
    assert policy in resources_of(needs, "iam:CreatePolicy")
    transform = "arn:aws:cloudformation:us-west-2:aws:transform/Serverless-2016-10-31"
    assert transform in resources_of(needs, "cloudformation:CreateChangeSet")
    assert not [arn for item in statements(without) for arn in item["Resource"] if "ParallelCluster" in arn]
    assert not resources_of(without, "cloudformation:CreateChangeSet")


def test_assets_of_others_are_read_and_never_changed(each_assembly: Assembly) -> None:
    needs = read_needs(each_assembly.directory)
    assets = f"arn:aws:s3:::cdk-{needs.qualifier}-assets-*-{needs.region}/*"

    changing = [action for item in statements(needs) if assets in item["Resource"] for action in item["Action"]]

    assert not [action for action in changing if not action.startswith("s3:GetObject")]


def test_fsx_may_give_its_own_role_the_linked_buckets(default: Assembly) -> None:
    role = "arn:aws:iam::*:role/aws-service-role/s3.data-source.lustre.fsx.amazonaws.com/*"

    needs = read_needs(default.directory)

    assert role in resources_of(needs, "iam:AttachRolePolicy") & resources_of(needs, "iam:PutRolePolicy")
    assert role not in resources_of(needs, "iam:CreateRole")


def test_a_rolling_update_may_suspend_what_would_disturb_it(default: Assembly) -> None:
    needs = read_needs(default.directory)
    groups = [
        resource
        for template in default.templates().values()
        for resource in template["Resources"].values()
        if resource["Type"] == "AWS::AutoScaling::AutoScalingGroup"
    ]

    assert all(group["UpdatePolicy"]["AutoScalingRollingUpdate"]["SuspendProcesses"] for group in groups)
    wanted = ("SuspendProcesses", "ResumeProcesses", "TerminateInstanceInAutoScalingGroup")
    assert all(allows(needs, f"autoscaling:{action}") for action in wanted)


def test_the_deployer_may_take_on_the_bootstraps_roles_and_look(default: Assembly) -> None:
    document = deployer_policy(read_needs(default.directory), ACCOUNT)

    taking, *looking = document["Statement"]
    assert taking["Action"] == "sts:AssumeRole"
    assert f"arn:aws:iam::{ACCOUNT}:role/cdk-hnb659fds-deploy-role-{ACCOUNT}-us-west-2" in taking["Resource"]
    assert not [role for role in taking["Resource"] if "cfn-exec" in role]
    said = [
        action
        for item in looking
        for action in ([item["Action"]] if isinstance(item["Action"], str) else item["Action"])
    ]
    assert all(re.search(":(Get|Describe|List)", action) for action in said)


@pytest.mark.parametrize("repository", ["acme/ml", "acme@123456/ml@456789"])
def test_only_the_environments_own_jobs_may_take_on_the_role(default: Assembly, repository: str) -> None:
    (statement,) = github_trust_policy(read_needs(default.directory), ACCOUNT, repository)["Statement"]

    conditions = statement["Condition"]["StringEquals"]
    assert conditions["token.actions.githubusercontent.com:sub"] == f"repo:{repository}:environment:default"
    assert conditions["token.actions.githubusercontent.com:aud"] == "sts.amazonaws.com"


@pytest.fixture
def kubernetes_bounded(assemblies: Any, tmp_path: Path) -> Path:
    """The Kubernetes environment with a boundary on every role."""
    source: Path = assemblies("kubernetes").directory
    for path in [source / "manifest.json", *source.glob("*.template.json")]:
        content = json.loads(path.read_text())
        for resource in content.get("Resources", {}).values():
            if resource["Type"] == "AWS::IAM::Role":
                resource["Properties"]["PermissionsBoundary"] = f"arn:aws:iam::{ACCOUNT}:policy/boundary"
        (tmp_path / path.name).write_text(json.dumps(content))
    return tmp_path
