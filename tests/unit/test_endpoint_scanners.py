"""Other people's rules over an endpoint: cdk-nag's packs, cfn-lint and checkov, on its least and on its most."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import aws_cdk as cdk
import pytest

from neuron_constructs.inference.endpoint import RouteProps
from slipway.review.security.read import PACKS
from tests.assembly import cdk_context
from tests.endpoint_stack import CERTIFICATE, RECORD, REGION, Wanted, add_clients, add_endpoint, endpoint_stack, route
from tests.gates.test_template_linters import CFN_LINT, run_checkov, templates_of
from tests.pack_findings import pack_findings

LEAST = Wanted()
MOST = Wanted(
    internet_facing=True,
    allowed_cidrs=("0.0.0.0/0",),
    certificate_arn=CERTIFICATE,
    dns_record=RECORD,
    firewall_requests_per_five_minutes=2000,
    deletion_protection=True,
)
ROUTES: Mapping[str, RouteProps] = {
    "Tanuki": route("/tanuki", candidate_weights=(90, 10)),
    "Qwen": route(host="qwen.llm.example.com"),
}


class Scanned(NamedTuple):
    """An assembly under the packs."""

    directory: Path
    findings: list[tuple[str, str]]


@pytest.fixture(scope="module", params=["least", "most"])
def scanned(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Scanned:
    """An endpoint after the packs have run over it."""
    directory = tmp_path_factory.mktemp(request.param)
    app = cdk.App(context=cdk_context(), outdir=str(directory))
    stack = endpoint_stack(app)
    wanted = add_clients(stack, MOST, token_minutes=60) if request.param == "most" else LEAST
    endpoint = add_endpoint(stack, wanted)
    for name, props in ROUTES.items():
        endpoint.add_model(name, props)
    return Scanned(directory, pack_findings(app, directory))


def test_the_packs_find_nothing(scanned: Scanned) -> None:
    assert scanned.findings == []


def test_no_acknowledgement_is_stale(scanned: Scanned) -> None:
    written = {
        (path.lstrip("/"), finding)
        for path, entries in json.loads((scanned.directory / "endpoint.metadata.json").read_text()).items()
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
        [
            str(CFN_LINT),
            "--regions",
            REGION,
            "--format",
            "parseable",
            str(scanned.directory / "endpoint.template.json"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (run.returncode, run.stdout) == (0, "")


def test_checkov_finds_nothing_that_is_not_accepted_with_a_reason(scanned: Scanned) -> None:
    report = run_checkov(*templates_of(scanned.directory))
    template = json.loads((scanned.directory / "endpoint.template.json").read_text())
    written = {
        (f"{resource['Type']}.{logical_id}", skip["id"])
        for logical_id, resource in template["Resources"].items()
        for skip in resource.get("Metadata", {}).get("checkov", {}).get("skip", [])
    }

    assert [(check["check_id"], check["resource"]) for check in report["results"]["failed_checks"]] == []
    assert written == {(check["resource"], check["check_id"]) for check in report["results"]["skipped_checks"]}
