"""cdk-nag's packs AwsSolutions, NIST 800-53 r5, HIPAA and PCI DSS, as app.py runs them at every synth."""

import json
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import aws_cdk as cdk
import pytest
from cdk_nag import AwsSolutionsChecks, HIPAASecurityChecks, NIST80053R5Checks, PCIDSS321Checks

from slipway_stacks.environment import build_environment
from tests.assembly import ENVIRONMENTS, cdk_context, load

PACKS = ("AwsSolutions", "NIST.800.53.R5", "HIPAA.Security", "PCI.DSS.321")


class Acknowledgement(NamedTuple):
    """A finding that the app accepts on a construct."""

    construct: str
    finding: str


class Checked(NamedTuple):
    """An environment after the packs have run over it."""

    reports: dict[str, dict[str, Any]]
    directory: Path

    def acknowledgements(self) -> dict[Acknowledgement, str]:
        """What the app acknowledges, with the reasons, from the assembly's construct metadata."""
        found = {}
        for file in self.directory.glob("*.metadata.json"):
            for path, entries in json.loads(file.read_text()).items():
                for entry in entries:
                    if entry["type"] == "aws:cdk:acknowledged-rules":
                        for finding, reason in entry["data"].items():
                            if finding.startswith(PACKS):
                                found[Acknowledgement(path.lstrip("/"), finding)] = reason
        return found

    def used_acknowledgements(self) -> set[Acknowledgement]:
        """The acknowledgements that a finding really met."""
        return {
            Acknowledgement(suppressed["acknowledgedAt"], suppressed["acknowledgedId"])
            for pack in PACKS
            for suppressed in self.reports[pack].get("suppressedViolations", [])
        }


@pytest.fixture(scope="module")
def check(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Run the packs on an environment, once."""

    @cache
    def run(name: str) -> Checked:
        directory = tmp_path_factory.mktemp(name)
        app = cdk.App(context=cdk_context(), outdir=str(directory))
        build_environment(app, load(name))
        cdk.Validations.of(app).add_plugins(
            AwsSolutionsChecks(app), NIST80053R5Checks(app), HIPAASecurityChecks(app), PCIDSS321Checks(app)
        )
        # A finding makes synth raise; the report says more than the exception.
        with suppress(RuntimeError):
            app.synth()
        reports = json.loads((directory / "validation-report.json").read_text())["pluginReports"]
        return Checked({report["pluginName"]: report for report in reports}, directory)

    return run


@pytest.mark.parametrize("name", ENVIRONMENTS)
@pytest.mark.parametrize("pack", PACKS)
def test_the_packs_find_nothing(check: Any, name: str, pack: str) -> None:
    findings = [
        (violation["ruleName"], construct["constructPath"])
        for violation in check(name).reports[pack]["violations"]
        for construct in violation["violatingConstructs"]
    ]

    assert findings == []


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_no_acknowledgement_is_stale(check: Any, name: str) -> None:
    checked = check(name)

    assert set(checked.acknowledgements()) - checked.used_acknowledgements() == set()


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_acknowledgement_has_a_reason(check: Any, name: str) -> None:
    for acknowledgement, reason in check(name).acknowledgements().items():
        assert len(reason.split()) >= 6, acknowledgement


def test_the_app_runs_all_packs() -> None:
    source = (Path(__file__).parents[2] / "stacks" / "slipway_stacks" / "app.py").read_text()

    for pack in (AwsSolutionsChecks, NIST80053R5Checks, HIPAASecurityChecks, PCIDSS321Checks):
        assert f"{pack.__name__}(app)" in source
