"""Every pair of choices about a Kubernetes cluster and its node groups, synthesized: no scanner finds anything."""

import re
import subprocess
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import aws_cdk as cdk
import pytest

from slipway import facts
from slipway.config import load_environment
from slipway_stacks.environment import build_environment
from tests.assembly import cdk_context
from tests.gates.test_template_linters import CFN_LINT, run_checkov
from tests.kubernetes_environments import clusters, environments
from tests.pack_findings import pack_findings

TEXTS = dict(environments())
STACK = "slipway-pairs-kubernetes"
WAYS = {
    "on_demand": "on-demand",
    "reserved": "on-demand",
    "placed": "on-demand",
    "spot": "spot",
    "block": "capacity-block",
}
"""How EC2 must sell an instance type for each choice of capacity."""

_UNKNOWN_TYPE = re.compile(r":E3628:'(?P<type>[^']+)' is not one of .* in '(?P<region>[^']+)'$")


class Synthesized(NamedTuple):
    """An environment's Kubernetes stack."""

    template: Path
    region: str
    findings: list[tuple[str, str]]


@cache
def synthesized(name: str, directory: Path) -> Synthesized:
    """Synthesize an environment under both packs, once."""
    folder = directory / name
    folder.mkdir()
    file = folder / "environment.yaml"
    file.write_text(TEXTS[name], encoding="utf-8")
    environment = load_environment(file)
    # Without a copy of kubectl and Helm for each.
    app = cdk.App(context={**cdk_context(), "aws:cdk:disable-asset-staging": True}, outdir=str(folder))
    build_environment(app, environment)
    findings = pack_findings(app, folder)
    return Synthesized(folder / f"{STACK}.template.json", environment.region, findings)


def templates_by_region(directory: Path) -> Mapping[str, list[str]]:
    """All templates, by the region that they are for."""
    found = defaultdict(list)
    for name in TEXTS:
        one = synthesized(name, directory)
        found[one.region].append(str(one.template))
    return found


def known_to_ec2_alone(line: str) -> bool:
    """Return whether cfn-lint's list of a region's instance types is behind EC2's own, which the facts have."""
    found = _UNKNOWN_TYPE.search(line)
    return found is not None and found["region"] in facts.offering_regions(found["type"])


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all of them are synthesized."""
    return tmp_path_factory.mktemp("pairs")


def test_every_type_is_bought_in_every_way_and_with_efa_where_there_is_efa() -> None:
    rows = [row for cluster in clusters() for row in cluster.node_groups]
    types = facts.instance_types().values()

    assert {(row["instance_type"], row["capacity"]) for row in rows} == {
        (row.name, way) for row, way in product(types, WAYS) if WAYS[way] in row.usage_classes
    }
    assert {row["instance_type"] for row in rows if row["efa"] == "on"} == {
        row.name for row in types if row.efa_interfaces
    }


@pytest.mark.parametrize("name", TEXTS)
def test_the_packs_find_nothing(name: str, directory: Path) -> None:
    assert synthesized(name, directory).findings == []


@pytest.mark.combination
def test_cfn_lint_has_neither_errors_nor_warnings(directory: Path) -> None:
    for region, templates in templates_by_region(directory).items():
        run = subprocess.run(
            [str(CFN_LINT), "--regions", region, "--format", "parseable", "--template", *templates],
            capture_output=True,
            text=True,
            check=False,
        )

        assert [line for line in run.stdout.splitlines() if not known_to_ec2_alone(line)] == []
        assert run.stderr == ""


@pytest.mark.combination
def test_checkov_fails_nothing(directory: Path) -> None:
    templates = [template for group in templates_by_region(directory).values() for template in group]
    report = run_checkov(*templates)

    assert report["summary"]["parsing_errors"] == 0
    assert report["summary"]["passed"] > 50 * len(templates)
    assert [(check["check_id"], check["resource"]) for check in report["results"]["failed_checks"]] == []
