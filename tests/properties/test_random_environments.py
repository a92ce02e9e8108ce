"""Random valid environments: each synthesizes, and what comes out holds together."""

import json
import tempfile
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings

from slipway.review.lint.assembly import lint_assembly
from slipway.review.lint.rules import RULES
from slipway.review.wiring.resources import read_assembly
from slipway.review.wiring.rules import run_rules as run_wiring_rules
from tests.assembly import Assembly, synthesize
from tests.config.files import load
from tests.config.strategies import environments

RESOURCE_LIMIT = 500
TEMPLATE_LIMIT_BYTES = 1_000_000


def references(value: Any) -> set[tuple[str, ...]]:
    """Return every Ref, GetAtt and cross-stack reference in a template."""
    found: set[tuple[str, ...]] = set()
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "Ref":
                found.add(("Ref", item))
            elif key == "Fn::GetAtt":
                found.add(("GetAtt", item[0]))
            elif key == "Fn::GetStackOutput":
                found.add(("GetStackOutput", item["StackName"], item["OutputName"]))
            else:
                found |= references(item)
    elif isinstance(value, list):
        for item in value:
            found |= references(item)
    return found


def assert_references_resolve(assembly: Assembly) -> None:
    """Every reference names something that is there."""
    templates = assembly.templates()
    for template in templates.values():
        known = {*template["Resources"], *template.get("Parameters", {})}
        for kind, *names in references(template):
            if kind == "GetStackOutput":
                assert names[1] in templates[names[0]]["Outputs"]
            else:
                assert names[0] in known or names[0].startswith("AWS::"), names[0]


def assert_within_cloudformations_limits(assembly: Assembly) -> None:
    """CloudFormation takes 500 resources and one million bytes in a template."""
    for path in assembly.directory.glob("*.template.json"):
        assert path.stat().st_size < TEMPLATE_LIMIT_BYTES
        assert len(json.loads(path.read_text())["Resources"]) <= RESOURCE_LIMIT


def assert_subnets_fit(assembly: Assembly) -> None:
    """Subnets are disjoint and inside the VPC."""
    vpc = IPv4Network(assembly.environment.network.cidr)
    subnets = [
        IPv4Network(subnet["Properties"]["CidrBlock"])
        for subnet in assembly.resources("network", "AWS::EC2::Subnet").values()
    ]
    assert all(subnet.subnet_of(vpc) for subnet in subnets)
    assert not any(a.overlaps(b) for i, a in enumerate(subnets) for b in subnets[i + 1 :])


def assert_cluster_rules_find_no_error(assembly: Assembly) -> None:
    """What the environment file may say, `slipway lint` does not refuse."""
    findings = [finding for cluster in lint_assembly(assembly.directory) for finding in cluster.result.findings]
    assert [finding for finding in findings if RULES[finding.rule].severity == "error"] == []


def assert_parts_fit_together(assembly: Assembly) -> None:
    """What `slipway lint` says of the whole assembly: nothing, but for a candidate that nobody watches yet."""
    findings = run_wiring_rules(read_assembly(assembly.directory))
    assert [str(finding) for finding in findings if finding.rule != "resource-is-watched"] == []


@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(values=environments())
def test_every_valid_environment_synthesizes(values: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assembly = synthesize(load(Path(folder), values), Path(folder) / "assembly")

        assert_references_resolve(assembly)
        assert_within_cloudformations_limits(assembly)
        assert_subnets_fit(assembly)
        assert_cluster_rules_find_no_error(assembly)
        assert_parts_fit_together(assembly)
        for template in assembly.templates().values():
            assert "${Token[" not in json.dumps(template)
