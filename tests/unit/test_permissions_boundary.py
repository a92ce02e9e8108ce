"""The permissions boundary of the environment file bounds every role that our stacks make."""

from pathlib import Path

import pytest

from tests.assembly import Assembly, load, synthesize

BOUNDARY = "arn:aws:iam::111122223333:policy/developer-boundary"


@pytest.fixture(scope="module")
def bounded(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """The default environment, which has all stacks, with a boundary."""
    directory: Path = tmp_path_factory.mktemp("bounded")
    return synthesize(load("default").model_copy(update={"permissions_boundary_arn": BOUNDARY}), directory)


def test_every_role_of_every_stack_has_the_boundary(bounded: Assembly) -> None:
    roles = {
        f"{stack}/{logical_id}": resource["Properties"].get("PermissionsBoundary")
        for stack, template in bounded.templates().items()
        for logical_id, resource in template["Resources"].items()
        if resource["Type"] in ("AWS::IAM::Role", "AWS::IAM::User")
    }

    assert len(roles) > 5
    assert set(roles.values()) == {BOUNDARY}, roles


def test_the_cluster_bounds_the_roles_of_its_nodes(directory: Assembly) -> None:
    configuration = directory.resource("training", "Custom::PclusterCluster")["ClusterConfiguration"]

    assert configuration["Iam"]["PermissionsBoundary"] == directory.environment.permissions_boundary_arn


def test_without_one_no_role_has_a_boundary(default: Assembly) -> None:
    for template in default.templates().values():
        for logical_id, resource in template["Resources"].items():
            assert "PermissionsBoundary" not in resource.get("Properties", {}), logical_id
