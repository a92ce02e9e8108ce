"""What is generated for editors and readers: it is current, and it says what the loader says."""

import re
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml

from slipway.config.reference import REFERENCE_FILE, with_reference
from slipway.config.schema import SCHEMA_FILE, environment_schema, schema_text
from tests.config.files import MINIMAL, changed, problems_of
from tests.config.rule_cases import JWT
from tests.config.rule_cases_kubernetes import TRN1, cluster

PROJECT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(environment_schema())


def test_committed_schema_is_current() -> None:
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text(), "run: make schema"


def test_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(environment_schema())


@pytest.mark.parametrize("name", sorted(file.stem for file in (PROJECT / "environments").glob("*.yaml")))
def test_shipped_environment_fits(name: str, validator: jsonschema.Draft202012Validator) -> None:
    text = (PROJECT / "environments" / f"{name}.yaml").read_text(encoding="utf-8")
    assert text.startswith("# yaml-language-server: $schema=schema.json\n")
    validator.validate(yaml.safe_load(text))


@pytest.mark.parametrize(
    "changes",
    [
        {"regio": "us-west-2"},
        {"region": "eu-south-1"},
        {"training.training_stack": "xla-2.28"},
        {"training.queues.0.name": "Trn1"},
        {"training.queues.0.training_stack": "xla-2.28"},
        {"training.queues.0.compute_resources.0.instance_type": "inf2.xlarge"},
        {"training.login_nodes.instance_type": "trn1.2xlarge"},
        {"storage.home.throughput_mb_s": 160},
        {"storage.accounting_database.instance_type": "m6i.large"},
        {"training.queues.0.compute_resources.0.max_count": 0},
        cluster(version="1.34"),
        cluster(training_stack="seed-2.20"),
        cluster(core_nodes={"instance_type": "trn1.2xlarge"}),
        cluster(core_nodes={"min_count": 1}),
        cluster(node_groups=[]),
        cluster({**TRN1, "instance_type": "p4d.24xlarge"}),
        cluster({**TRN1, "name": "Trn1"}),
        cluster(hugging_face_token_secret_arn="hf_token"),
        {"network.cidr": "10.0.0.0"},
        {"network.other_availability_zone_ids": []},
        {"inference.endpoint.authentication": {"type": "oidc"}},
        {"inference.endpoint.authentication": {**JWT, "issuer": f"https://{'x' * 256}"}},
        {"inference.models": []},
        {"inference.models.0.engine": "vllm"},
        {"inference.models.0.instance_type": "trn1n.32xlarge"},
        {"inference.models.0.source": {"type": "sync"}},
        {"inference.models.0.route.path": "tanuki"},
        {"inference.models.0.scaling.target": 0},
    ],
)
def test_editor_marks_mistakes(changes: dict[str, Any], validator: jsonschema.Draft202012Validator) -> None:
    assert validator.is_valid(MINIMAL)
    assert not validator.is_valid(changed(MINIMAL, changes))


def test_every_field_is_described() -> None:
    schema = environment_schema()
    for name, section in {"Environment": schema, **schema["$defs"]}.items():
        assert section["description"], name
        for key, field in section["properties"].items():
            assert field.get("description", "").endswith("."), f"{name}.{key}"


def test_reference_is_current() -> None:
    text = REFERENCE_FILE.read_text(encoding="utf-8")
    assert text == with_reference(text), "run: python -m slipway.config.reference"


def test_documented_messages_are_real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page shows three mistakes in environments/mine.yaml: make them in a copy of default.yaml."""
    mistakes = {"usw2-az4": "us-west-2b", "capacity_gib: 4800": "capacity_gib: 5000", "max_count: 4": "max_nodes: 4"}
    text = (PROJECT / "environments" / "default.yaml").read_text(encoding="utf-8")
    for right, wrong in mistakes.items():
        text = text.replace(right, wrong)
    monkeypatch.chdir(tmp_path)
    file = Path("environments/mine.yaml")
    file.parent.mkdir()
    file.write_text(text, encoding="utf-8")
    [block] = re.findall(r"^```\n(.*?)^```", REFERENCE_FILE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert block.splitlines() == [str(problem) for problem in problems_of(file)]
