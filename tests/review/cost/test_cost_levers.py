"""The levers of docs/cost.md change what the page says they do."""

import copy
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from slipway.assembly.stacks import CLUSTER_TYPE, Stack, read_stacks
from slipway.review.cost.estimate import estimate
from tests.assembly import PROJECT, Assembly

ROW = re.compile(r"^\| (?P<edit>.+?) \| (?P<idle>-?[\d.]+) \| (?P<peak>-?[\d.]+) \|$", re.MULTILINE)

Resources = dict[str, Any]


def of_type(resources: Resources, resource_type: str) -> list[Any]:
    """The properties of the resources of a type."""
    return [resource["Properties"] for resource in resources.values() if resource["Type"] == resource_type]


def smaller_file_system(resources: Resources) -> None:
    """1,200 GiB."""
    for properties in of_type(resources, "AWS::FSx::FileSystem"):
        properties["StorageCapacity"] = 1200


def slower_file_system(resources: Resources) -> None:
    """125 MB/s/TiB."""
    for properties in of_type(resources, "AWS::FSx::FileSystem"):
        properties["LustreConfiguration"]["PerUnitStorageThroughput"] = 125


def no_host(resources: Resources) -> None:
    """No model is served, as at the time of a schedule that says so."""
    for service in of_type(resources, "AWS::ECS::Service"):
        service["DesiredCount"] = 0


def smaller_head_node(resources: Resources) -> None:
    """m6i.large."""
    for properties in of_type(resources, CLUSTER_TYPE):
        properties["ClusterConfiguration"]["HeadNode"]["InstanceType"] = "m6i.large"


def one_node_less(resources: Resources) -> None:
    """Of the first queue."""
    for properties in of_type(resources, CLUSTER_TYPE):
        properties["ClusterConfiguration"]["Scheduling"]["SlurmQueues"][0]["ComputeResources"][0]["MaxCount"] -= 1


def smaller_host(resources: Resources) -> None:
    """inf2.xlarge."""
    for properties in of_type(resources, "AWS::EC2::LaunchTemplate"):
        if properties["LaunchTemplateData"].get("InstanceType") == "inf2.8xlarge":
            properties["LaunchTemplateData"]["InstanceType"] = "inf2.xlarge"


EDITS: dict[str, Callable[[Resources], None]] = {
    "capacity_gib": smaller_file_system,
    "scaling.schedules": no_host,
    "throughput_mb_s_per_tib": slower_file_system,
    "head_node.instance_type": smaller_head_node,
    "models[].instance_type": smaller_host,
    "max_count": one_node_less,
}


def edited(stacks: tuple[Stack, ...], edit: Callable[[Resources], None]) -> tuple[Stack, ...]:
    """The same stacks after an edit."""
    templates = [copy.deepcopy(stack.template) for stack in stacks]
    for template in templates:
        edit(template["Resources"])
    return tuple(replace(stack, template=template) for stack, template in zip(stacks, templates, strict=True))


def levers() -> dict[str, re.Match[str]]:
    """The rows of the page's table by the edit that they are about."""
    page = (PROJECT / "docs" / "cost.md").read_text()
    table = page.partition("<!-- levers")[2].partition("<!-- /levers -->")[0]
    return {next(name for name in EDITS if name in row["edit"]): row for row in ROW.finditer(table)}


def test_the_table_has_every_lever() -> None:
    assert levers().keys() == EDITS.keys()


@pytest.mark.parametrize("name", EDITS)
def test_a_lever_changes_what_the_page_says(name: str, default: Assembly) -> None:
    stacks = read_stacks(default.directory)
    before, after = estimate(stacks), estimate(edited(stacks, EDITS[name]))
    row = levers()[name]

    assert after.idle_usd_per_hour - before.idle_usd_per_hour == pytest.approx(float(row["idle"]), abs=0.006)
    assert after.peak_usd_per_hour - before.peak_usd_per_hour == pytest.approx(float(row["peak"]), abs=0.006)
