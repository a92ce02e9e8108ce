"""The bill of materials: valid by CycloneDX's own schema, and complete by the files that pin."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from typer.testing import CliRunner

from slipway.cli import app
from slipway.config import load_environment
from slipway.review.sbom.environment import environment_parts
from slipway.review.sbom.parts import image_part
from tests.assembly import PROJECT, environment_path

FACTS = PROJECT / "slipway" / "facts" / "data"


def sbom(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "slipway", "sbom", *options]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)


def rows(file: str) -> dict[str, Any]:
    groups = yaml.safe_load((FACTS / file).read_text(encoding="utf-8"))["groups"]
    return {name: row for group in groups for name, row in group["rows"].items()}


@pytest.fixture(scope="module", params=["default", "kubernetes"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    file = tmp_path_factory.mktemp("sbom") / "sbom.json"
    run = sbom("--environment", request.param, "--output", str(file))
    assert run.returncode == 0, run.stderr
    return str(request.param), file.read_text(encoding="utf-8")


def versions(text: str) -> set[tuple[str, str]]:
    return {(component["name"], component["version"]) for component in json.loads(text)["components"]}


def test_it_is_valid_by_the_schema_of_cyclonedx(written: tuple[str, str]) -> None:
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(written[1]) is None


def test_the_schema_would_find_something(written: tuple[str, str]) -> None:
    broken = json.loads(written[1])
    broken["components"][0]["type"] = "thing"

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(broken)) is not None


def test_it_has_what_the_tool_runs_with_hashes(written: tuple[str, str]) -> None:
    packages = json.loads((PROJECT / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    lock = (PROJECT / "locks" / "requirements.txt").read_text(encoding="utf-8")
    components = json.loads(written[1])["components"]
    tool = [part for part in components if {"name": "slipway:where", "value": "slipway"} in part["properties"]]
    npm = {(path.rpartition("node_modules/")[2], entry["version"]) for path, entry in packages.items() if path}

    assert {(part["name"], part["version"]) for part in tool if part["purl"].startswith("pkg:npm/")} == npm
    assert sum(part["purl"].startswith("pkg:pypi/") for part in tool) == sum("==" in line for line in lock.splitlines())
    assert [part["name"] for part in tool if not part["hashes"]] == []


def test_it_has_the_proxy_where_clients_send_keys() -> None:
    with_key, without = (
        {part.name for part in environment_parts(load_environment(environment_path(name)))}
        for name in ("apikey", "public")
    )
    assert "nginx" in with_key - without


def test_it_has_what_the_facts_pin(written: tuple[str, str]) -> None:
    name, text = written
    found = versions(text)
    stack = rows("training_stacks.yaml")["xla-2.28.1"]

    assert stack["system_packages"].items() <= found
    assert ("neuronx-cc", stack["python_packages"]["neuronx-cc"]) in found
    if name == "default":
        assert ("aws-parallelcluster", "3.16.1") in found
        assert ("text-generation-inference", rows("inference_engines.yaml")["tgi"]["image"].rpartition(":")[2]) in found
    else:
        assert rows("kubernetes_versions.yaml")["1.35"]["add_ons"].items() <= found
        assert ("neuron-helm-chart", rows("helm_charts.yaml")["neuron"]["version"]) in found


@pytest.mark.parametrize(
    ("image", "version", "qualifiers"),
    [
        ("host:5000/a/engine:1.2", "1.2", {"repository_url": "host:5000/a/engine", "tag": "1.2"}),
        ("host:5000/a/engine@sha256:ab", "sha256:ab", {"repository_url": "host:5000/a/engine"}),
        ("a/engine:1.2@sha256:ab", "sha256:ab", {"repository_url": "a/engine", "tag": "1.2"}),
    ],
)
def test_images_by_tag_and_digest(image: str, version: str, qualifiers: dict[str, str]) -> None:
    part = image_part(image, "here")

    assert (part.name, part.version, dict(part.qualifiers)) == ("engine", version, qualifiers)


def test_no_environment_is_no_default(tmp_path: Path) -> None:
    run = sbom("--output", str(tmp_path / "sbom.json"))

    assert run.returncode == 2
    assert not list(tmp_path.iterdir())


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "slipway.review.sbom.run", None)

    result = CliRunner().invoke(app, ["sbom", "-e", "default", "--output", str(tmp_path / "sbom.json")])

    assert result.exit_code == 2
    assert "is not installed: run `make setup`" in result.stderr
