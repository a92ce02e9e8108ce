"""PF11: the EC2 key pairs that nodes are started with."""

from collections.abc import Iterator
from functools import partial
from shlex import quote
from typing import NamedTuple

from botocore.exceptions import ClientError

from slipway.assembly.stacks import CLUSTER_TYPE
from slipway.aws.account import Account
from slipway.check.preflight.answer import Answer
from slipway.check.preflight.check import check
from slipway.check.preflight.needs import Needs

_Answer = partial(Answer, check="PF11")

_RSA = "rsa"
_WITHOUT_RSA = frozenset({"ubuntu2204", "ubuntu2404"})
"""Operating systems that ParallelCluster starts with ED25519 keys only (pcluster, KeyPairValidator)."""


@check(
    "PF11",
    "EC2 key pairs",
    stage="existence",
    prevents="The head node cannot be launched: its key pair is not there, or of a kind that its system does not take.",
    actions=("ec2:DescribeKeyPairs",),
)
def key_pairs(needs: Needs, account: Account) -> Iterator[Answer]:
    """Look for the key pairs that the cluster and launch templates name; none is named where people use SSM alone."""
    named: dict[str, list[_Use]] = {}
    for use in _uses(needs):
        named.setdefault(use.key_name, []).append(use)
    for name, uses in named.items():
        answer = partial(_Answer, subject=f"key pair {name}", stacks=tuple(dict.fromkeys(use.stack for use in uses)))
        kind = _kind(account, name)
        refusing = next((use.system for use in uses if use.system in _WITHOUT_RSA), None)
        if kind is None:
            yield answer(
                status="failed",
                message=f"{needs.region} has no key pair of this name",
                fix=_import(name, needs.region),
            )
        elif kind == _RSA and refusing:
            yield answer(
                status="failed",
                message=f"it is an RSA key, and ParallelCluster refuses those for {refusing}",
                fix="write the name of an ED25519 key pair as `key_name`. To import one:\n"
                + _import(f"{name}-ed25519", needs.region),
            )
        else:
            yield answer(status="passed", message=f"{needs.region} has it")


class _Use(NamedTuple):
    """Who is started with a key pair.

    Attributes:
        stack: name of the stack.
        key_name: the key pair's name.
        system: ParallelCluster's name of the operating system; none of hosts outside a cluster.
    """

    stack: str
    key_name: str
    system: str | None


def _uses(needs: Needs) -> Iterator[_Use]:
    for stack, _, properties in needs.resources(CLUSTER_TYPE):
        configuration = properties["ClusterConfiguration"]
        name = configuration["HeadNode"].get("Ssh", {}).get("KeyName")
        if name:
            yield _Use(stack.name, name, configuration["Image"]["Os"])
    for stack, _, properties in needs.resources("AWS::EC2::LaunchTemplate"):
        name = properties["LaunchTemplateData"].get("KeyName")
        if isinstance(name, str):
            yield _Use(stack.name, name, None)


def _kind(account: Account, name: str) -> str | None:
    """Return `rsa` or `ed25519`; None when the key pair is missing."""
    try:
        found = account.client("ec2").describe_key_pairs(KeyNames=[name])["KeyPairs"]
    except ClientError as error:
        if error.response["Error"]["Code"] == "InvalidKeyPair.NotFound":
            return None
        raise
    kind: str = found[0].get("KeyType", "ed25519")
    return kind


def _import(name: str, region: str) -> str:
    return (
        f"aws ec2 import-key-pair --region {region} --key-name {quote(name)} "
        "--public-key-material fileb://~/.ssh/id_ed25519.pub"
    )
