"""PF19: no service control policy of the organization forbids to start, or to tag, the environment's instances."""

from collections.abc import Iterator
from functools import partial

from botocore.exceptions import ClientError

from slipway.aws.account import Account
from slipway.check.preflight.answer import Answer
from slipway.check.preflight.check import BY_ORGANIZATION, check
from slipway.check.preflight.needs import Needs

_Answer = partial(Answer, check="PF19")

_IMAGE = "resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"
"""AWS's own image (Amazon Linux 2023 User Guide, "Amazon Linux 2023 on Amazon EC2"): the one that needs no look-up."""

_ROOT_DEVICE, _ROOT_GIB = "/dev/xvda", 30
"""The image's volume, and a size above its own."""

_LIKE_OURS = (":instance/", ":volume/")
"""What of the trial is as the environment's nodes are, tags and all. Its subnet and network interface are of the
default VPC, its image is another one: who forbids those may allow ours."""

_NO_NETWORK = frozenset({"VPCIdNotSpecified", "MissingInput"})


@check(
    "PF19",
    "organization's policies",
    stage="catalogue",
    prevents="No node starts because the organization forbids its type, its Region, or instances without certain tags.",
    actions=("ec2:CreateTags", "ec2:RunInstances", "ssm:GetParameters"),
)
def launch_permission(needs: Needs, account: Account) -> Iterator[Answer]:
    """Let EC2 try a launch of each instance type with the environment's tags, without launching (`DryRun`).

    That says nothing about free capacity. Nodes are started by roles of the environment, so what the caller's own
    policies forbid is not a failure; service control policies hold for all of them.
    """
    stacks = {m.instance_type: tuple(dict.fromkeys(_stacks(needs, m.instance_type))) for m in needs.instance_groups}
    for instance_type, users in stacks.items():
        answer = partial(_Answer, subject=f"launch of {instance_type} with the environment's tags", stacks=users)
        try:
            _dry_run(instance_type, _tags(needs, users), account)
        except ClientError as error:
            yield _judge(error, answer)


def _stacks(needs: Needs, instance_type: str) -> Iterator[str]:
    return (group.stack for group in needs.instance_groups if group.instance_type == instance_type)


def _tags(needs: Needs, users: tuple[str, ...]) -> dict[str, str]:
    """Return the tags that all the stacks which launch the type give their instances."""
    tags = [stack.tags.items() for stack in needs.stacks if stack.name in users]
    return dict(sorted(set.intersection(*map(set, tags))))


def _dry_run(instance_type: str, tags: dict[str, str], account: Account) -> None:
    specified = [{"Key": key, "Value": value} for key, value in tags.items()]
    account.client("ec2").run_instances(
        DryRun=True,
        ImageId=_IMAGE,
        InstanceType=instance_type,
        MinCount=1,
        MaxCount=1,
        MetadataOptions={"HttpTokens": "required"},
        # Organizations forbid volumes that are not encrypted; those of the environment are.
        BlockDeviceMappings=[{"DeviceName": _ROOT_DEVICE, "Ebs": {"Encrypted": True, "VolumeSize": _ROOT_GIB}}],
        TagSpecifications=[{"ResourceType": kind, "Tags": specified} for kind in ("instance", "volume")],
    )


def _judge(error: ClientError, answer: partial[Answer]) -> Answer:
    code, message = error.response["Error"]["Code"], error.response["Error"]["Message"]
    if code == "DryRunOperation":
        return answer(status="passed", message="EC2 would let the caller do it")
    if code == "UnauthorizedOperation" and BY_ORGANIZATION in message:
        like_ours = any(part in message for part in _LIKE_OURS)
        return answer(
            status="failed" if like_ours else "warning",
            message=f"the organization forbids it: {message}"
            + ("" if like_ours else ". The trial is in the default VPC; the environment's own subnets may be allowed"),
            fix="ask who keeps the organization's policies to allow it, or add the tags that they want under `tags`. "
            "What exactly is forbidden:\naws sts decode-authorization-message --encoded-message <the text behind "
            "'Encoded authorization failure message:'>",
        )
    if code == "UnauthorizedOperation":
        return answer(
            status="not_checked",
            message="the caller's own policies forbid a launch, so the organization's were not asked",
            fix="allow the caller ec2:RunInstances and ec2:CreateTags, or ask as somebody who may",
        )
    if code in _NO_NETWORK:
        return answer(
            status="not_checked",
            message=f"the Region has no default VPC to try a launch in ({code})",
            fix="deploy the network stack; a launch of ParallelCluster or EKS will tell",
        )
    return answer(status="not_checked", message=f"EC2 does not say: {error}", fix="run the preflight again")
