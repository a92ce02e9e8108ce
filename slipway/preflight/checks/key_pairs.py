"""PF11: the EC2 key pairs that nodes are started with."""

from collections.abc import Iterator
from functools import partial

from botocore.exceptions import ClientError

from slipway.assembly import CLUSTER_TYPE
from slipway.preflight.account import Account
from slipway.preflight.answer import Answer
from slipway.preflight.check import check
from slipway.preflight.needs import Needs

_Answer = partial(Answer, check="PF11")


@check(
    "PF11",
    "EC2 key pairs",
    stage="existence",
    prevents="The head node cannot be launched because its key pair is not there.",
    actions=("ec2:DescribeKeyPairs",),
)
def key_pairs(needs: Needs, account: Account) -> Iterator[Answer]:
    """Look for the key pairs that the cluster and launch templates name; none is named where people use SSM alone."""
    named: dict[str, list[str]] = {}
    for stack, name in _named(needs):
        named.setdefault(name, []).append(stack)
    for name, stacks in named.items():
        answer = partial(_Answer, subject=f"key pair {name}", stacks=tuple(dict.fromkeys(stacks)))
        if _exists(account, name):
            yield answer(status="passed", message=f"{needs.region} has it")
        else:
            yield answer(
                status="failed",
                message=f"{needs.region} has no key pair of this name",
                fix=f"aws ec2 import-key-pair --region {needs.region} --key-name {name} "
                "--public-key-material fileb://~/.ssh/id_ed25519.pub",
            )


def _named(needs: Needs) -> Iterator[tuple[str, str]]:
    for stack, _, properties in needs.resources(CLUSTER_TYPE):
        name = properties["ClusterConfiguration"]["HeadNode"].get("Ssh", {}).get("KeyName")
        if name:
            yield stack.name, name
    for stack, _, properties in needs.resources("AWS::EC2::LaunchTemplate"):
        name = properties["LaunchTemplateData"].get("KeyName")
        if isinstance(name, str):
            yield stack.name, name


def _exists(account: Account, name: str) -> bool:
    try:
        account.client("ec2").describe_key_pairs(KeyNames=[name])
    except ClientError as error:
        if error.response["Error"]["Code"] == "InvalidKeyPair.NotFound":
            return False
        raise
    return True
