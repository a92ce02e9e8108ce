"""The simulator decides as the IAM user guide says, and refuses what AWS would not send."""

import pytest

from tests.iam.simulator import Request, SimulationError, decide

ROLE = "arn:aws:iam::111122223333:role/jobs"
INSTANCE = "arn:aws:ec2:us-west-2:111122223333:instance/i-0123456789abcdef0"
OWN = {"StringEquals": {"aws:ResourceTag/parallelcluster:cluster-name": "own"}}
EVERYTHING = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}


def policy(effect: str, **statement: object) -> dict[str, object]:
    return {"Version": "2012-10-17", "Statement": [{"Effect": effect, **statement}]}


def test_conditions_boundaries_and_denials_count() -> None:
    own_instances = policy("Allow", Action="ec2:TerminateInstances", Resource="*", Condition=OWN)
    reads = policy("Allow", Action="s3:Get*", Resource="*")
    terminate = ("ec2:TerminateInstances", INSTANCE)
    tag = "aws:ResourceTag/parallelcluster:cluster-name"

    decisions = decide(
        [
            Request(ROLE, *terminate, [own_instances], {tag: "own"}),
            Request(ROLE, *terminate, [own_instances], {tag: "other"}),
            Request(ROLE, *terminate, [own_instances]),
            Request(ROLE, "s3:PutObject", "arn:aws:s3:::bucket/key", [EVERYTHING], boundaries=[reads]),
            Request(
                ROLE,
                "s3:PutObject",
                "arn:aws:s3:::bucket/key",
                [EVERYTHING],
                resource_policy=policy("Deny", Principal="*", Action="s3:PutObject", Resource="arn:aws:s3:::bucket/*"),
            ),
        ]
    )

    assert decisions == ["Allowed", "ImplicitlyDenied", "ImplicitlyDenied", "ImplicitlyDenied", "ExplicitlyDenied"]


def test_a_condition_key_that_aws_does_not_send_is_an_error() -> None:
    with pytest.raises(SimulationError, match="s3:prefix"):
        decide([Request(ROLE, "ec2:TerminateInstances", INSTANCE, [EVERYTHING], {"s3:prefix": "a"})])


def test_an_unknown_action_is_an_error() -> None:
    with pytest.raises(SimulationError, match="ec2:EndInstances"):
        decide([Request(ROLE, "ec2:EndInstances", INSTANCE, [EVERYTHING])])
