"""`slipway lint`: exit codes, formats, options."""

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from slipway.cli import app
from slipway.review.lint.rules import RULES
from slipway.review.wiring.rules import RULES as WIRING_RULES
from tests.config.files import changed
from tests.review.lint.configurations import MINIMAL

RUNNER = CliRunner()


@pytest.fixture
def clean(tmp_path: Path) -> str:
    """A file without errors and warnings."""
    return _write(tmp_path / "clean.yaml", {})


@pytest.fixture
def warned(tmp_path: Path) -> str:
    """A file with a warning."""
    return _write(tmp_path / "warned.yaml", {"Monitoring": None, "Scheduling.SlurmSettings": None})


@pytest.fixture
def broken(tmp_path: Path) -> str:
    """A file with an error."""
    return _write(tmp_path / "broken.yaml", {"Image.Os": "ubuntu2004"})


def _write(path: Path, changes: dict[str, object]) -> str:
    path.write_text(yaml.safe_dump(changed(MINIMAL, changes), sort_keys=False), encoding="utf-8")
    return str(path)


def test_a_clean_file_ends_with_0_and_says_what_was_not_checked(clean: str) -> None:
    result = RUNNER.invoke(app, ["lint", clean])
    assert result.exit_code == 0
    assert f"{clean}: 0 errors, 0 warnings, 11 rules not checked" in result.output
    assert "  not checked: quotas-allow-all-nodes: the account's vCPU quotas" in result.output
    assert "512 vCPUs of `Running On-Demand Trn instances`; 86.38 USD per hour at list price" in result.output


def test_warnings_fail_only_when_strict(warned: str) -> None:
    assert RUNNER.invoke(app, ["lint", warned]).exit_code == 0
    assert RUNNER.invoke(app, ["lint", "--strict", warned]).exit_code == 1


def test_one_broken_file_of_several_fails_and_all_are_reported(clean: str, broken: str) -> None:
    result = RUNNER.invoke(app, ["lint", broken, clean])
    assert result.exit_code == 1
    assert f"{broken}:3:7: error: Image.Os: ParallelCluster 3.14.0 removed ubuntu2004" in result.output
    assert f"{clean}: 0 errors" in result.output


def test_the_standard_input_is_a_file_too(broken: str) -> None:
    result = RUNNER.invoke(app, ["lint", "-"], input=Path(broken).read_bytes())
    assert result.exit_code == 1
    assert "<stdin>:3:7: error" in result.output


def test_sarif_names_rule_place_and_level(broken: str) -> None:
    result = RUNNER.invoke(app, ["lint", "--format", "sarif", broken])
    assert result.exit_code == 1
    log = json.loads(result.output)
    assert log["version"] == "2.1.0"
    [run] = log["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [*RULES, *WIRING_RULES]
    found = next(item for item in run["results"] if item["ruleId"] == "operating-system-exists")
    assert found["level"] == "error"
    place = found["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": broken}, "region": {"startLine": 3, "startColumn": 7}}


def test_quotas_and_ceiling_are_taken_from_the_command_line(clean: str) -> None:
    quotas = ["--quota", "on_demand_trn=384", "--quota", "on_demand_standard=64"]
    result = RUNNER.invoke(app, ["lint", clean, *quotas, "--hourly-ceiling", "50"])
    assert result.exit_code == 1
    assert "all nodes have 512 vCPUs, the quota `Running On-Demand Trn instances` allows 384" in result.output
    assert "all nodes cost 86.38 USD per hour, the ceiling is 50.00" in result.output


def test_a_rule_is_explained() -> None:
    result = RUNNER.invoke(app, ["lint", "--explain", "efa-where-it-exists"])
    assert result.exit_code == 0
    rule = RULES["efa-where-it-exists"]
    for text in (rule.statement, rule.reason, rule.fix, rule.source):
        assert text in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a file, or - for the standard input"),
        (["--explain", "efa-where-it-exist"], "Did you mean 'efa-where-it-exists'?"),
        (["a.yaml", "--quota", "on_demand_trn"], "write KEY=VCPUS with a key of on_demand_trn, spot_trn"),
        (["a.yaml", "--quota", "elastic_ips=5"], "write KEY=VCPUS"),
    ],
)
def test_wrong_use_ends_with_2_and_a_sentence(arguments: list[str], message: str) -> None:
    result = RUNNER.invoke(app, ["lint", *arguments])
    assert result.exit_code == 2
    assert message in result.output


@pytest.mark.parametrize("name", ["nosuch.yaml", ".", "x" * 300])
def test_a_file_that_is_not_there_is_wrong_use(clean: str, name: str) -> None:
    result = RUNNER.invoke(app, ["lint", clean, name])

    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"slipway lint: {name} cannot be read (")
    assert len(result.stderr.splitlines()) == 1


def test_nothing_on_the_standard_input_is_wrong_use() -> None:
    result = RUNNER.invoke(app, ["lint", "-"], input=b"")

    assert result.exit_code == 2
    assert result.stderr == "slipway lint: the standard input is empty: pipe a file into it, or name a file\n"
