from dataclasses import replace

import boto3

from slipway.check.preflight.checks.service_linked_roles import service_linked_roles
from tests.check.preflight.aws import Aws, Refusal
from tests.check.preflight.conftest import Ask, NeedsFactory
from tests.check.preflight.well_launches import role


def test_roles_that_are_there_pass(needs_of: NeedsFactory, aws: Aws, ask: Ask) -> None:
    aws.replies["iam.GetRole"] = role
    answers = ask("PF13", needs_of("default"), aws)
    assert {answer.status for answer in answers} == {"passed"}
    assert {answer.subject for answer in answers} >= {
        "AWSServiceRoleForAmazonFSx",
        "AWSServiceRoleForECS",
        "AWSServiceRoleForAutoScaling",
        "AWSServiceRoleForElasticLoadBalancing",
    }


def test_what_a_service_makes_itself_warns(needs_of: NeedsFactory, aws: Aws, ask: Ask) -> None:
    aws.replies["iam.GetRole"] = Refusal("NoSuchEntity")
    answers = {answer.subject: answer for answer in ask("PF13", needs_of("kubernetes"), aws)}
    nodes = answers["AWSServiceRoleForAmazonEKSNodegroup"]
    assert nodes.status == "warning"
    assert nodes.fix == "aws iam create-service-linked-role --aws-service-name eks-nodegroup.amazonaws.com"
    assert nodes.stacks == ("slipway-kubernetes-kubernetes",)


def test_spot_capacity_fails_without_its_role(needs_of: NeedsFactory, aws: Aws, ask: Ask) -> None:
    aws.replies["iam.GetRole"] = Refusal("NoSuchEntity")
    needs = needs_of("default")
    assert "AWSServiceRoleForEC2Spot" not in {answer.subject for answer in ask("PF13", needs, aws)}
    spot = replace(needs, instance_groups=tuple(replace(group, purchase="spot") for group in needs.instance_groups))
    (answer,) = [answer for answer in ask("PF13", spot, aws) if answer.subject == "AWSServiceRoleForEC2Spot"]
    assert answer.status == "failed"
    assert answer.fix == "aws iam create-service-linked-role --aws-service-name spot.amazonaws.com"


def test_auto_scaling_makes_the_role_for_the_spot_nodes_of_eks(needs_of: NeedsFactory, aws: Aws, ask: Ask) -> None:
    aws.replies["iam.GetRole"] = Refusal("NoSuchEntity")
    needs = needs_of("kubernetes")
    spot = replace(needs, instance_groups=tuple(replace(group, purchase="spot") for group in needs.instance_groups))
    assert "AWSServiceRoleForEC2Spot" not in {answer.subject for answer in ask("PF13", spot, aws)}


def test_iam_takes_the_services_names(aws: Aws) -> None:
    """The names are ones that the API takes; moto makes the role."""
    iam = boto3.client("iam")
    for row in service_linked_roles():
        made = iam.create_service_linked_role(AWSServiceName=row.service)["Role"]
        assert made["Path"] == f"/aws-service-role/{row.service}/"
