"""Whether EKS still offers the Kubernetes version and the add-ons' versions that are pinned."""

from collections.abc import Iterator
from typing import Any

from slipway.aws.account import Account
from slipway.check.preflight.answer import Answer, Status
from slipway.check.preflight.check import check
from slipway.check.preflight.needs import EKS_CLUSTER, Needs

_SUPPORT: dict[str, tuple[Status, str]] = {
    "STANDARD_SUPPORT": ("passed", "EKS has it in standard support"),
    "EXTENDED_SUPPORT": (
        "warning",
        "EKS has it in extended support alone, at six times the price of the control plane",
    ),
    "UNSUPPORTED": ("failed", "EKS supports it no more"),
}
"""What `versionStatus` of eks:DescribeClusterVersions means. Prices: 0.60 against 0.10 USD an hour (slipway/facts)."""

_FACTS = "slipway/facts/data/kubernetes_versions.yaml"


@check(
    "PF22",
    "Kubernetes version and add-ons",
    stage="catalogue",
    prevents="The Kubernetes stack fails: EKS has no such version, or an add-on has no such build for it.",
    actions=("eks:DescribeAddonVersions", "eks:DescribeClusterVersions"),
)
def kubernetes(needs: Needs, account: Account) -> Iterator[Answer]:
    """Ask EKS for the cluster's version, and for the version of each add-on."""
    for stack, _, properties in needs.resources(EKS_CLUSTER):
        version = properties["Version"]
        yield _version(version, stack.name, account)
        # An add-on belongs to the cluster of its own stack: there is one.
        for owner, _, add_on in needs.resources("AWS::EKS::Addon"):
            if owner.name == stack.name:
                yield _add_on(add_on, version, stack.name, account)


def _version(version: str, stack: str, account: Account) -> Answer:
    found = account.listing("eks", "describe_cluster_versions", "clusterVersions", clusterVersions=[version])
    status, message = ("failed", "EKS has no such version") if not found else _support(found[0].get("versionStatus"))
    return Answer(
        check="PF22",
        status=status,
        subject=f"Kubernetes {version}",
        message=message,
        fix=None if status == "passed" else "choose another `kubernetes.version` in the environment file",
        stacks=(stack,),
    )


def _support(status: str | None) -> tuple[Status, str]:
    return _SUPPORT.get(status or "", ("warning", f"EKS says of it {status or 'nothing'}"))


def _add_on(add_on: Any, version: str, stack: str, account: Account) -> Answer:
    name, wanted = add_on["AddonName"], add_on["AddonVersion"]
    builds = account.listing(
        "eks",
        "describe_addon_versions",
        "addons[].addonVersions[].addonVersion",
        addonName=name,
        kubernetesVersion=version,
    )
    there = wanted in builds
    # EKS lists the newest first.
    newest = f"; the newest is {builds[0]}" if builds else "; EKS has no build of it for this version"
    return Answer(
        check="PF22",
        status="passed" if there else "failed",
        subject=f"add-on {name} {wanted}",
        message=f"there for Kubernetes {version}" if there else f"not there for Kubernetes {version}{newest}",
        fix=None if there else f"write a version that is there into the row of {version} in {_FACTS}",
        stacks=(stack,),
    )
