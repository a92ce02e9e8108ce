"""Findings of the scanners that are accepted, each on the one resource and with its reason."""

from collections.abc import Iterator, Mapping

import aws_cdk as cdk
from constructs import IConstruct

ECR_LOG_IN: Mapping[str, str] = {
    "AwsSolutions-IAM5[Resource::*]": "ecr:GetAuthorizationToken has no resource-level permissions."
    " Pulls are allowed from named repositories."
}
"""The finding about a role that pulls from Amazon ECR, with its reason."""

_NIST = "NIST.800.53.R5-"
_CUSTOMER_KEY = "neuron_constructs:customer_key"
_ANSWERED_BY_KEY = frozenset(
    {
        "CKV_AWS_26",
        "CKV_AWS_35",
        "CKV_AWS_149",
        "CKV_AWS_173",
        f"{_NIST}CloudTrailEncryptionEnabled",
        f"{_NIST}S3DefaultEncryptionKMS",
        f"{_NIST}SNSEncryptedKMS",
        f"{_NIST}SecretsManagerUsingKMSKey",
    }
)
"""What no scanner finds where a customer's key encrypts."""
_NOT_IN_HIPAA = frozenset({"ALBWAFEnabled"})
_NOT_IN_PCI = frozenset(
    {
        "ELBDeletionProtectionEnabled",
        "LambdaConcurrency",
        "LambdaDLQ",
        "RDSEnhancedMonitoringEnabled",
        "RDSInBackupPlan",
        "RDSInstanceDeletionProtectionEnabled",
        "RDSMultiAZSupport",
        "SecretsManagerRotationEnabled",
    }
)


def set_customer_key(construct: IConstruct, *, present: bool) -> None:
    """Say whether a customer's key encrypts what a construct, still empty, will hold; `customer_key` has the key."""
    construct.node.set_context(_CUSTOMER_KEY, present)


def has_customer_key(construct: IConstruct) -> bool:
    """Return whether a customer's key encrypts a resource."""
    return bool(construct.node.try_get_context(_CUSTOMER_KEY))


def _open(construct: IConstruct, reasons: Mapping[str, str]) -> Mapping[str, str]:
    """Return what is left to accept."""
    if not has_customer_key(construct):
        return reasons
    return {finding: reason for finding, reason in reasons.items() if finding not in _ANSWERED_BY_KEY}


def acknowledge(construct: IConstruct, reasons: Mapping[str, str]) -> None:
    """Accept findings of cdk-nag on one construct.

    A finding of the NIST 800-53 r5 pack is accepted in the HIPAA and PCI DSS packs, too, where they have the same rule:
    one reason answers all three.

    Args:
        construct: the resource that the finding names; findings elsewhere stay open.
        reasons: finding id without its pack's prefix (`AwsSolutions-S1`, `NIST.800.53.R5-...`) -> why it is right here.
    """
    # Only an id with its pack in front leaves an audit entry in the validation report.
    cdk.Validations.of(construct).acknowledge(
        *(
            cdk.Acknowledgment(id=f"{finding.split('-', 1)[0]}::{finding}", reason=reason)
            for name, reason in _open(construct, reasons).items()
            for finding in _in_all_packs(name)
        )
    )


def _in_all_packs(finding: str) -> Iterator[str]:
    yield finding
    if finding.startswith(_NIST):
        rule = finding.removeprefix(_NIST)
        name = rule.partition("[")[0]
        if name not in _NOT_IN_HIPAA:
            yield f"HIPAA.Security-{rule}"
        if name not in _NOT_IN_PCI:
            yield f"PCI.DSS.321-{rule}"


def accept_cluster_rules(cluster: IConstruct, reasons: Mapping[str, str]) -> None:
    """Accept findings of the rules for a cluster configuration (docs/cluster-rules.md) on one cluster.

    Args:
        cluster: the construct of the cluster.
        reasons: rule id -> why its finding is right here.
    """
    cdk.Validations.of(cluster).acknowledge(
        *(cdk.Acknowledgment(id=f"slipway-cluster-rules::{rule}", reason=reason) for rule, reason in reasons.items())
    )


def accept_wiring_rules(construct: IConstruct, reasons: Mapping[str, str]) -> None:
    """Accept findings of the rules over the whole assembly (docs/wiring-rules.md) on one construct.

    Args:
        construct: the construct of the resource that the finding names, or one around it.
        reasons: rule id -> why its finding is right here.
    """
    cdk.Validations.of(construct).acknowledge(
        *(cdk.Acknowledgment(id=f"slipway-wiring::{rule}", reason=reason) for rule, reason in reasons.items())
    )


def skip_checkov(resource: IConstruct | None, reasons: Mapping[str, str]) -> None:
    """Accept findings of checkov on one resource, in the resource's template metadata, where checkov reads it.

    Args:
        resource: the L1 resource; the default child of an L2.
        reasons: check id (`CKV_AWS_18`) -> why it is right here.
    """
    assert isinstance(resource, cdk.CfnResource)
    skips = [{"id": check, "comment": reason} for check, reason in _open(resource, reasons).items()]
    resource.add_metadata("checkov", {"skip": skips})


def allow_redundant_depends_on(resource: IConstruct | None) -> None:
    """Tell cfn-lint that a DependsOn beside a Ref is not a mistake (W3005): the CDK's own constructs write both."""
    assert isinstance(resource, cdk.CfnResource)
    resource.add_metadata("cfn-lint", {"config": {"ignore_checks": ["W3005"]}})
