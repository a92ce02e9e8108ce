"""Every pair of choices about inference, synthesized: neither cdk-nag's packs nor cfn-lint find anything."""

import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple

import aws_cdk as cdk
import pytest

from slipway.config import load_environment
from slipway.config.inference import MOST_SERVICES
from slipway_stacks.environment import build_environment
from tests.assembly import cdk_context, synthesize
from tests.gates.test_template_linters import CFN_LINT
from tests.inference_environments import allowed_environments, environment_of
from tests.pack_findings import pack_findings
from tests.properties.test_random_environments import assert_within_cloudformations_limits

TEXTS = dict(allowed_environments())
STACK = "slipway-pairs-inference"


class Synthesized(NamedTuple):
    """An environment's inference stack."""

    template: Path
    findings: list[tuple[str, str]]


@cache
def synthesized(name: str, directory: Path) -> Synthesized:
    """Synthesize an environment under both packs, once."""
    folder = directory / name
    folder.mkdir()
    file = folder / "environment.yaml"
    file.write_text(TEXTS[name], encoding="utf-8")
    app = cdk.App(context=cdk_context(), outdir=str(folder))
    build_environment(app, load_environment(file))
    return Synthesized(folder / f"{STACK}.template.json", pack_findings(app, folder))


def largest() -> str:
    """The environment with the most services, each with the most resources."""
    endpoint = {"exposure": "public", "authentication": "cognito", "tls": "named", "firewall": "rate"}
    model = {
        **{"engine": "vllm-aws", "compiled": "said", "versions": "canary", "image": "mirrored", "route": "path"},
        **{"scaling": "office_hours", "source": "sync"},
    }
    return environment_of(endpoint, [model] * (MOST_SERVICES // 2))


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all of them are synthesized."""
    return tmp_path_factory.mktemp("pairs")


@pytest.mark.parametrize("name", TEXTS)
def test_the_packs_find_nothing(name: str, directory: Path) -> None:
    assert synthesized(name, directory).findings == []


@pytest.mark.combination
def test_cfn_lint_has_neither_errors_nor_warnings(directory: Path) -> None:
    templates = [str(synthesized(name, directory).template) for name in TEXTS]
    run = subprocess.run(
        [str(CFN_LINT), "--regions", "us-west-2", "--format", "parseable", "--template", *templates],
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.stdout == ""
    assert run.returncode == 0, run.stderr


def test_the_most_services_fit_a_stack(tmp_path: Path) -> None:
    file = tmp_path / "environment.yaml"
    file.write_text(largest(), encoding="utf-8")

    assembly = synthesize(load_environment(file), tmp_path / "assembly")

    assert_within_cloudformations_limits(assembly)
