"""The facts about who asks which service of AWS: every call of a script is in them, and the documentation has them."""

import json
import re
from collections.abc import Iterator

import pytest

from slipway import facts
from slipway.bundle import ASSETS, BUNDLE
from tests.iam.cluster_roles import RECORDED

COMMAND = re.compile(r"^(?!\s*(?:#|say )).*?\baws(?:_cli)? (?:--\S+ \S+ )*([a-z][a-z0-9-]+) [a-z]", re.MULTILINE)
OTHER_NAMES = {"cloudwatch": "monitoring", "ecr": "ecr.api"}
"""Where the AWS CLI has another name than the service's endpoint."""

PAGE = BUNDLE / "docs" / "restricted-networks.md"
TITLES: dict[str, facts.EnvironmentPart] = {
    "Slurm's nodes": "slurm",
    "login nodes": "login_nodes",
    "accounting database": "accounting_database",
    "directory service": "directory_service",
    "models' hosts": "endpoint",
    "an endpoint with an API key": "api_key",
}


def called(folder: str) -> Iterator[str]:
    """Yield the services that scripts of a folder call with the AWS CLI."""
    for script in (ASSETS / folder).rglob("*.sh"):
        for name in COMMAND.findall(script.read_text("utf-8")):
            yield OTHER_NAMES.get(name, name)


@pytest.mark.parametrize(("folder", "part"), [("cluster", "slurm"), ("inference", "endpoint")])
def test_a_script_calls_nothing_that_has_no_endpoint(folder: str, part: facts.EnvironmentPart) -> None:
    known = {*facts.services_of({part}, "interface"), *facts.services_of({part}, "gateway")}

    assert set(called(folder)) >= {"s3", "monitoring"}
    assert set(called(folder)) <= known


NO_CALLS = {"iam", "resource-groups", "route53"}
"""Services in the policies that an isolated node does not call: EC2 asks whether it may pass a role and use
a group of reservations, and there are no names in Route 53."""


def test_what_parallelcluster_lets_nodes_call_has_an_endpoint() -> None:
    """The policies that the real package made of environments/team.yaml, which has login nodes and accounting."""
    text = json.dumps(json.loads(RECORDED.read_text("utf-8")))
    allowed = set(re.findall(r'"([a-z0-9-]+):[A-Z][A-Za-z*]+"', text)) - NO_CALLS
    parts: set[facts.EnvironmentPart] = {"slurm", "login_nodes", "accounting_database", "directory_service"}
    known = {*facts.services_of(parts, "interface"), *facts.services_of(parts, "gateway")}

    assert allowed >= {"ec2", "dynamodb", "secretsmanager", "autoscaling"}
    assert allowed <= known


def test_the_documentation_has_the_services_of_each_part() -> None:
    rows = re.findall(r"^\| ([^|]+) \| ([^|]*) \| ([^|]*)\|$", PAGE.read_text("utf-8"), re.MULTILINE)
    documented = {title: (interface, gateway) for title, interface, gateway in rows if title in TITLES}

    assert documented.keys() == TITLES.keys()
    for title, (interface, gateway) in documented.items():
        assert tuple(re.findall(r"`([^`]+)`", interface)) == facts.services_of({TITLES[title]}, "interface"), title
        assert tuple(re.findall(r"`([^`]+)`", gateway)) == facts.services_of({TITLES[title]}, "gateway"), title


def test_every_part_is_documented() -> None:
    assert {use.part for use in facts.service_uses()} == set(TITLES.values())
