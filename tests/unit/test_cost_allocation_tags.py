"""Everything that bills carries the environment's tag, by which the budget and every report count it."""

from collections.abc import Iterator
from typing import Any

from cfnlint.schema import PROVIDER_SCHEMA_MANAGER  # type: ignore[import-untyped]

from slipway.assembly.stacks import CLUSTER_TYPE, ENVIRONMENT_TAG, read_stacks
from slipway.review.cost.estimate import estimate
from tests.assembly import Assembly

TAGGED_OTHERWISE = {
    CLUSTER_TYPE: "ParallelCluster's configuration has the tags",
    "AWS::AutoScaling::WarmPool": "its hosts are launched from the group's template, which has the tags",
    "AWS::Cognito::UserPoolClient": "AWS has no tags for it: the bill of machine clients is not in the budget",
}
"""Resource types with a price and without tags of their own."""


def tags(assembly: Assembly) -> dict[str, str]:
    """The tags that all of an environment has."""
    return {ENVIRONMENT_TAG: assembly.environment.name, **assembly.environment.tags}


def resources(assembly: Assembly, resource_type: str) -> Iterator[Any]:
    """Properties of all resources of a type."""
    for template in assembly.templates().values():
        for resource in template["Resources"].values():
            if resource["Type"] == resource_type:
                yield resource["Properties"]


def as_mapping(tag_list: Any) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in tag_list}


def test_every_stack_has_the_tags_which_cloudformation_gives_its_resources(each_assembly: Assembly) -> None:
    for stack in read_stacks(each_assembly.directory):
        assert stack.tags == tags(each_assembly), stack.name


def test_whatever_has_a_price_takes_tags_from_its_stack(each_assembly: Assembly) -> None:
    lines = estimate(read_stacks(each_assembly.directory)).lines
    # In a Region without a price list every price is unknown: it bills all the same.
    priced = {line.resource_type for line in lines if line.billing in {"priced", "unknown"}}

    assert ("AWS::FSx::FileSystem" in priced) is (each_assembly.environment.storage.lustre.existing is None)
    for resource_type in priced - set(TAGGED_OTHERWISE):
        schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema(each_assembly.environment.region, resource_type).schema
        assert "Tags" in schema["properties"], resource_type
        assert schema.get("tagging", {}).get("taggable", True), resource_type


def test_what_is_launched_from_templates_is_tagged_there_with_its_volumes(each_assembly: Assembly) -> None:
    for properties in resources(each_assembly, "AWS::EC2::LaunchTemplate"):
        specifications = {
            specification["ResourceType"]: as_mapping(specification["Tags"])
            for specification in properties["LaunchTemplateData"]["TagSpecifications"]
        }

        assert {"instance", "volume"} <= set(specifications)
        for kind in ("instance", "volume"):
            assert tags(each_assembly).items() <= specifications[kind].items()


def test_every_auto_scaling_group_and_node_group_launches_from_such_a_template(each_assembly: Assembly) -> None:
    for properties in resources(each_assembly, "AWS::AutoScaling::AutoScalingGroup"):
        assert "LaunchTemplate" in properties
    for properties in resources(each_assembly, "AWS::EKS::Nodegroup"):
        assert "LaunchTemplate" in properties


def test_parallelcluster_tags_what_it_makes(each_assembly: Assembly) -> None:
    for properties in resources(each_assembly, CLUSTER_TYPE):
        assert as_mapping(properties["ClusterConfiguration"]["Tags"]) == tags(each_assembly)
