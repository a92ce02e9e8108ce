"""Other people's rules over a Kubernetes cluster: cdk-nag's packs, cfn-lint and checkov, on its least and its most."""

import json
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from slipway.review.security.read import PACKS
from tests.gates.test_template_linters import CFN_LINT, run_checkov
from tests.kubernetes_cluster_stack import NAME, REGION, cluster_stack
from tests.pack_findings import pack_findings


class Scanned(NamedTuple):
    """An assembly under the packs."""

    directory: Path
    findings: list[tuple[str, str]]

    @property
    def template(self) -> Path:
        """The cluster's template."""
        return self.directory / f"{NAME}.template.json"


@pytest.fixture(scope="module", params=["private", "public"])
def scanned(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Scanned:
    """A cluster after the packs have run over it; findings in its network are others' business."""
    directory = tmp_path_factory.mktemp(request.param)
    built = cluster_stack(
        directory,
        public_access_cidrs=("203.0.113.0/24",) if request.param == "public" else (),
    )
    findings = pack_findings(built.app, directory)
    return Scanned(directory, [(rule, path) for rule, path in findings if path.startswith(NAME)])


def test_the_packs_find_nothing(scanned: Scanned) -> None:
    assert scanned.findings == []


def test_no_acknowledgement_is_stale(scanned: Scanned) -> None:
    metadata = json.loads((scanned.directory / f"{NAME}.metadata.json").read_text())
    written = {
        (path.lstrip("/"), finding)
        for path, entries in metadata.items()
        for entry in entries
        if entry["type"] == "aws:cdk:acknowledged-rules"
        for finding in entry["data"]
        if finding.startswith(PACKS)
    }
    met = {
        (finding["acknowledgedAt"], finding["acknowledgedId"])
        for report in json.loads((scanned.directory / "validation-report.json").read_text())["pluginReports"]
        for finding in report.get("suppressedViolations", [])
    }

    assert written - met == set()
    assert written


def test_cfn_lint_finds_nothing(scanned: Scanned) -> None:
    run = subprocess.run(
        [str(CFN_LINT), "--regions", REGION, "--format", "parseable", str(scanned.template)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (run.returncode, run.stdout) == (0, "")


def test_checkov_finds_nothing_that_is_not_accepted_with_a_reason(scanned: Scanned) -> None:
    results = run_checkov(str(scanned.template))["results"]
    written = {
        (f"{resource['Type']}.{logical_id}", skip["id"])
        for logical_id, resource in json.loads(scanned.template.read_text())["Resources"].items()
        for skip in resource.get("Metadata", {}).get("checkov", {}).get("skip", [])
    }

    assert [(check["check_id"], check["resource"]) for check in results["failed_checks"]] == []
    assert written == {(check["resource"], check["check_id"]) for check in results["skipped_checks"]}
