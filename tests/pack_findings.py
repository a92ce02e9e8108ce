"""cdk-nag's packs over an app of a test's own, as app.py runs them over the environments."""

import json
from contextlib import suppress
from pathlib import Path

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks, HIPAASecurityChecks, NIST80053R5Checks, PCIDSS321Checks

from neuron_constructs.log_groups import EncryptLogGroups


def encrypt_log_groups(app: cdk.App) -> None:
    """Encrypt the log groups of a test's app, as every environment does, with a key of another stack."""
    cdk.Aspects.of(app).add(EncryptLogGroups("arn:aws:kms:us-west-2:111122223333:key/0123abcd"))


def pack_findings(app: cdk.App, directory: Path) -> list[tuple[str, str]]:
    """Synthesize an app under all packs and return the open findings: rule and construct.

    Args:
        app: The app.
        directory: Its output directory.
    """
    cdk.Validations.of(app).add_plugins(
        AwsSolutionsChecks(app), NIST80053R5Checks(app), HIPAASecurityChecks(app), PCIDSS321Checks(app)
    )
    encrypt_log_groups(app)
    # A finding makes synth raise; the report says more than the exception.
    with suppress(RuntimeError):
        app.synth()
    reports = json.loads((directory / "validation-report.json").read_text())["pluginReports"]
    return [
        (violation["ruleName"], construct["constructPath"])
        for report in reports
        for violation in report["violations"]
        for construct in violation["violatingConstructs"]
    ]
