"""Other people's rules over an endpoint: cdk-nag's packs, cfn-lint and checkov, on its least and on its most."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from cdk_nag import AwsSolutionsChecks, NIST80053R5Checks

from neuron_constructs.inference.endpoint import RouteProps
from tests.assembly import cdk_context
from tests.endpoint_stack import CERTIFICATE, RECORD, REGION, Wanted, add_clients, add_endpoint, endpoint_stack, route
from tests.gates.test_template_linters import CFN_LINT, run_checkov

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
PACKS = ("AwsSolutions", "NIST.800.53.R5")


@pytest.fixture(scope="module", params=["least", "most"])
def directory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An assembly with the report of the packs."""
    directory = tmp_path_factory.mktemp(request.param)
    app = cdk.App(context=cdk_context(), outdir=str(directory))
    stack = endpoint_stack(app)
    wanted = add_clients(stack, MOST, token_minutes=60) if request.param == "most" else LEAST
    endpoint = add_endpoint(stack, wanted)
    for name, props in ROUTES.items():
        endpoint.add_model(name, props)
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app), NIST80053R5Checks(app))
    # A finding makes synth raise; the report says more than the exception.
    with suppress(RuntimeError):
        app.synth()
    return directory


def findings(directory: Path, pack: str, kind: str) -> Sequence[Mapping[str, Any]]:
    """A pack's findings, open ones or accepted ones; a pack that has neither is not in the report."""
    reports = json.loads((directory / "validation-report.json").read_text())["pluginReports"]
    found: Sequence[Mapping[str, Any]] = [
        finding for report in reports if report["pluginName"] == pack for finding in report.get(kind, [])
    ]
    return found


@pytest.mark.parametrize("pack", PACKS)
def test_the_packs_find_nothing(directory: Path, pack: str) -> None:
    assert [
        (finding["ruleName"], construct["constructPath"])
        for finding in findings(directory, pack, "violations")
        for construct in finding["violatingConstructs"]
    ] == []


def test_no_acknowledgement_is_stale(directory: Path) -> None:
    written = {
        (path.lstrip("/"), finding)
        for path, entries in json.loads((directory / "endpoint.metadata.json").read_text()).items()
        for entry in entries
        if entry["type"] == "aws:cdk:acknowledged-rules"
        for finding in entry["data"]
        if finding.startswith(PACKS)
    }
    met = {
        (finding["acknowledgedAt"], finding["acknowledgedId"])
        for pack in PACKS
        for finding in findings(directory, pack, "suppressedViolations")
    }

    assert written - met == set()
    assert written


def test_cfn_lint_finds_nothing(directory: Path) -> None:
    run = subprocess.run(
        [str(CFN_LINT), "--regions", REGION, "--format", "parseable", str(directory / "endpoint.template.json")],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (run.returncode, run.stdout) == (0, "")


def test_checkov_finds_nothing_that_is_not_accepted_with_a_reason(directory: Path) -> None:
    report = run_checkov(directory)
    template = json.loads((directory / "endpoint.template.json").read_text())
    written = {
        (f"{resource['Type']}.{logical_id}", skip["id"])
        for logical_id, resource in template["Resources"].items()
        for skip in resource.get("Metadata", {}).get("checkov", {}).get("skip", [])
    }

    assert [(check["check_id"], check["resource"]) for check in report["results"]["failed_checks"]] == []
    assert written == {(check["resource"], check["check_id"]) for check in report["results"]["skipped_checks"]}
