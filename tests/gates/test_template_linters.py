"""Other people's linters over every template: cfn-lint and checkov."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.assembly import PROJECT, Assembly

CFN_LINT = Path(sys.executable).with_name("cfn-lint")
CHECKOV = PROJECT / ".tools" / "checkov" / "bin" / "checkov"


def test_cfn_lint_has_neither_errors_nor_warnings(each_assembly: Assembly) -> None:
    templates = [str(path) for path in sorted(each_assembly.directory.glob("*.template.json"))]
    run = subprocess.run(
        [
            *(str(CFN_LINT), "--regions", each_assembly.environment.region),
            *("--format", "parseable", "--template", *templates),
        ],
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.stdout == ""
    assert run.returncode == 0, run.stderr


def run_checkov(directory: Path) -> dict[str, Any]:
    """Run checkov over the templates of an assembly and return its results."""
    assert CHECKOV.exists(), "run `make .tools/checkov/.installed` (make test does)"
    run = subprocess.run(
        [
            *(str(CHECKOV), "--framework", "cloudformation", "--output", "json"),
            *(item for path in sorted(directory.glob("*.template.json")) for item in ("--file", str(path))),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    report: dict[str, Any] = json.loads(run.stdout)
    return report


@pytest.fixture(scope="module")
def checkov(each_assembly: Assembly) -> dict[str, Any]:
    """Checkov's report on an environment."""
    return run_checkov(each_assembly.directory)


def test_checkov_fails_nothing(checkov: dict[str, Any]) -> None:
    assert checkov["summary"]["passed"] > 50
    assert checkov["summary"]["parsing_errors"] == 0
    assert [(check["check_id"], check["resource"]) for check in checkov["results"]["failed_checks"]] == []


def test_every_checkov_skip_has_a_reason_and_meets_a_finding(checkov: dict[str, Any], each_assembly: Assembly) -> None:
    written = {
        (stack, f"{resource['Type']}.{logical_id}", skip["id"])
        for stack, template in each_assembly.templates().items()
        for logical_id, resource in template["Resources"].items()
        for skip in resource.get("Metadata", {}).get("checkov", {}).get("skip", [])
        if len(skip["comment"].split()) >= 6
    }
    met = {
        (Path(check["file_path"]).name.removesuffix(".template.json"), check["resource"], check["check_id"])
        for check in checkov["results"]["skipped_checks"]
    }

    assert written == met
