"""Findings of the security packs that are accepted, each on the one resource and with its reason."""

from collections.abc import Mapping

import aws_cdk as cdk
from constructs import IConstruct


def acknowledge(construct: IConstruct, reasons: Mapping[str, str]) -> None:
    """Accept findings of cdk-nag on one construct.

    Args:
        construct: the resource that the finding names; findings elsewhere stay open.
        reasons: finding id without its pack's prefix (`AwsSolutions-S1`, `NIST.800.53.R5-...`) -> why it is right here.
    """
    validations = cdk.Validations.of(construct)
    for finding, reason in reasons.items():
        pack = finding.split("-", 1)[0]
        # Only the prefixed form leaves an audit entry in the validation report.
        validations.acknowledge(cdk.Acknowledgment(id=f"{pack}::{finding}", reason=reason))
