"""Other people's linters over every template: cfn-lint, CloudFormation's own offline validator and checkov."""

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from cloudformation_validate import (
    CompositeEngine,
    PseudoParameterOverrides,
    ReportStatus,
    RuleFilterConfig,
    Severity,
    TemplateContent,
    ValidateConfig,
)

from tests.assembly import ENVIRONMENT_FILES, ENVIRONMENTS, PROJECT, Assembly
from tests.conftest import AssemblyFactory

CFN_LINT = Path(sys.executable).with_name("cfn-lint")
CHECKOV = PROJECT / ".tools" / "checkov" / "bin" / "checkov"


@pytest.fixture(scope="module")
def all_assemblies(assemblies: AssemblyFactory) -> list[Assembly]:
    """Every environment, synthesized: a linter starts once for all of them."""
    return [assemblies(name) for name in ENVIRONMENTS]


UNKNOWN_TO_CFN_LINT = "E3628:'trn2.3xlarge' is not one of"
"""cfn-lint 1.58.0 lists trn2.48xlarge alone, in every Region; EC2 offers both (slipway/facts/data/offerings.yaml)."""


def templates_of(*directories: Path) -> list[str]:
    """Paths of all templates in cloud assemblies."""
    return [str(path) for directory in directories for path in sorted(directory.glob("*.template.json"))]


def test_cfn_lint_has_neither_errors_nor_warnings(all_assemblies: list[Assembly]) -> None:
    by_region = defaultdict(list)
    for assembly in all_assemblies:
        by_region[assembly.environment.region].append(assembly.directory)
    assert len(all_assemblies) == len(ENVIRONMENTS)
    for region, found in by_region.items():
        run = subprocess.run(
            [
                *(str(CFN_LINT), "--regions", region),
                *("--format", "parseable", "--template", *templates_of(*found)),
            ],
            capture_output=True,
            text=True,
            check=False,
        )

        found_lines = [line for line in run.stdout.splitlines() if UNKNOWN_TO_CFN_LINT not in line]
        assert found_lines == [], run.stderr
        assert run.returncode == 0 or run.stdout, run.stderr


NOT_JUDGED = {
    "W3005": "cfn-lint judges the same rule, and reads from the template where a DependsOn beside a Ref is wanted",
}
"""Rules of cloudformation-validate that are switched off, each with the reason."""

NAMED_ARNS = {
    "W9002": "the environment file names an administrator or a secret by its ARN",
    "W9013": "the environment file names a permissions boundary, an administrator or a secret in an account",
}
"""Rules that a template may break only where its environment file names an ARN."""


@pytest.fixture(scope="module")
def validator() -> CompositeEngine:
    """AWS's offline validator: it compiles its rules once."""
    return CompositeEngine()


def validate(validator: CompositeEngine, template: str, region: str, allowed: set[str]) -> list[tuple[str, str]]:
    """Return the rules that a template breaks, with the message; notes on style are left out."""
    report = validator.validate_template(
        TemplateContent(template),
        ValidateConfig(
            severity_level=Severity.WARN,
            exclude=RuleFilterConfig(ids=sorted(allowed)),
            pseudo_parameter_overrides=PseudoParameterOverrides(region=region),
        ),
    )
    assert report.status is ReportStatus.OK
    return [
        (finding.rule_id, f"{finding.entity.logical_id if finding.entity else ''}: {finding.message}")
        for finding in report.diagnostics
    ]


def test_cloudformation_validate_has_neither_errors_nor_warnings(
    each_assembly: Assembly, validator: CompositeEngine
) -> None:
    environment = each_assembly.environment
    names_arns = "arn:" in ENVIRONMENT_FILES[environment.name].read_text(encoding="utf-8")
    allowed = {*NOT_JUDGED, *(NAMED_ARNS if names_arns else ())}
    found = {
        path.name: validate(validator, path.read_text(encoding="utf-8"), environment.region, allowed)
        for path in sorted(each_assembly.directory.glob("*.template.json"))
    }

    assert found
    assert {name: findings for name, findings in found.items() if findings} == {}


def test_cloudformation_validate_would_find_something(validator: CompositeEngine) -> None:
    bucket = {"Type": "AWS::S3::Bucket", "Properties": {"BucketNam": "x"}}
    (finding,) = validate(validator, json.dumps({"Resources": {"Bucket": bucket}}), "us-west-2", set())

    assert finding[0] == "F3002"
    assert "Did you mean 'BucketName'" in finding[1]


def run_checkov(*templates: str) -> dict[str, Any]:
    """Run checkov over templates and return its results; it downloads nothing."""
    assert CHECKOV.exists(), "run `make .tools/checkov/.installed` (make test does)"
    run = subprocess.run(
        [
            *(str(CHECKOV), "--framework", "cloudformation", "--skip-download", "--output", "json"),
            *(item for template in templates for item in ("--file", template)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    report: dict[str, Any] = json.loads(run.stdout)
    return report


@pytest.fixture(scope="module")
def checkov(all_assemblies: list[Assembly]) -> dict[str, Any]:
    """Checkov's report on all environments."""
    return run_checkov(*templates_of(*(assembly.directory for assembly in all_assemblies)))


def checks_of(report: dict[str, Any], result: str, assembly: Assembly) -> list[dict[str, Any]]:
    """The checks of one environment's templates with a result."""
    folder = str(assembly.directory.resolve())
    return [check for check in report["results"][result] if check["file_abs_path"].startswith(f"{folder}/")]


def test_checkov_fails_nothing(checkov: dict[str, Any], all_assemblies: list[Assembly]) -> None:
    assert checkov["summary"]["parsing_errors"] == 0
    assert [(check["check_id"], check["resource"]) for check in checkov["results"]["failed_checks"]] == []
    for assembly in all_assemblies:
        assert len(checks_of(checkov, "passed_checks", assembly)) > 50, assembly.environment.name


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
        for check in checks_of(checkov, "skipped_checks", each_assembly)
    }

    assert written == met
