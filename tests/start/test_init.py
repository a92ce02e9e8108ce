"""`slipway init`: what it writes synthesizes, and what it cannot write leaves nothing."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from slipway.cli import app
from slipway.config import load_environment
from slipway.facts import regions
from tests.assembly import PROJECT
from tests.gates.test_workflows import WRITTEN

SMALL = ("--size", "small", "--region", "us-west-2", "--orchestrator", "slurm", "--endpoint")


def init(folder: Path, *options: str) -> Result:
    return CliRunner().invoke(app, ["init", str(folder), *options])


@pytest.mark.parametrize("endpoint", ["--endpoint", "--no-endpoint"])
@pytest.mark.parametrize(
    ("size", "orchestrator"),
    [
        ("small", "slurm"),
        ("default", "slurm"),
        ("team", "slurm"),
        ("ultracluster", "slurm"),
        ("default", "kubernetes"),
    ],
)
def test_the_environment_is_what_was_asked_for(tmp_path: Path, size: str, orchestrator: str, endpoint: str) -> None:
    made = init(tmp_path / "mine", "--size", size, "--region", "us-west-2", "--orchestrator", orchestrator, endpoint)

    assert made.exit_code == 0, made.output
    environment = load_environment(tmp_path / "mine" / "environments" / "mine.yaml")
    assert (environment.name, environment.region) == ("mine", "us-west-2")
    assert (environment.kubernetes is not None) == (orchestrator == "kubernetes")
    assert (environment.inference is not None) == (endpoint == "--endpoint")
    assert environment.training is None or environment.training.cluster_name == "mine"


@pytest.mark.parametrize("region", regions())
def test_each_region_has_zones_of_its_own_or_is_refused(tmp_path: Path, region: str) -> None:
    folder = tmp_path / "mine"
    made = init(folder, *SMALL[:3], region, *SMALL[4:])

    if made.exit_code:
        assert made.exit_code == 2
        assert "Nothing was written" in made.stderr
        assert list(tmp_path.iterdir()) == []
    else:
        environment = load_environment(folder / "environments" / "mine.yaml")
        zones = {environment.network.training_availability_zone_id, *environment.network.other_availability_zone_ids}
        assert zones <= set(regions()[region].availability_zone_ids)


def test_its_files_are_those_that_the_readme_names(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    init(folder, *SMALL)

    assert {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()} == {
        *(f".github/workflows/{name}.yaml" for name in ("review", "deploy", "destroy")),
        *(".gitignore", "README.md", "app.py", "cdk.json", "requirements.txt"),
        *("environments/mine.yaml", "environments/schema.json"),
    }
    assert json.loads((folder / "cdk.json").read_text())["app"] == "python3 app.py"
    version = re.search(r'^version = "(.+)"$', (PROJECT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version
    assert (folder / "requirements.txt").read_text().endswith(f"=={version[1]}\n")


def test_its_workflows_are_those_that_the_gates_judge(tmp_path: Path) -> None:
    init(tmp_path / "mine", *SMALL)
    written = {file.name: file.read_text() for file in (tmp_path / "mine" / ".github" / "workflows").iterdir()}

    assert written == {file.name: file.read_text() for file in WRITTEN.iterdir()}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--name", "My Env"), "lower-case letters"),
        (("--region", "eu-nowhere-1"), "--region 'eu-nowhere-1': one of ap-northeast-1"),
        (("--orchestrator", "kubernetes"), "has one size, --size default"),
    ],
)
def test_what_cannot_be_leaves_nothing(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    refused = init(tmp_path / "mine", *SMALL, *options)

    assert refused.exit_code == 2
    assert message in refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_something_in_it_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    refused = init(tmp_path, *SMALL, "--name", "mine")

    assert refused.exit_code == 2
    assert "is not empty" in refused.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["notes"]


def test_without_a_terminal_it_asks_nothing(tmp_path: Path) -> None:
    refused = init(tmp_path / "mine", "--size", "small")

    assert refused.exit_code == 2
    assert "say --region, --orchestrator, --endpoint or --no-endpoint" in refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_set_up_in_a_checkout_is_makes() -> None:
    refused = CliRunner().invoke(app, ["setup"])

    assert refused.exit_code == 2
    assert "run `make setup`" in refused.stderr
