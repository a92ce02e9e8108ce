"""What is published for `pcluster build-image`; the judge lets ParallelCluster itself read it."""

import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from neuron_constructs.cluster.image_build import ImageBuild, bake_script, image_configuration, image_id
from slipway.review.judge.assembly import read_assembly
from tests.assembly import Assembly, synthesize
from tests.config.files import changed, load
from tests.review.judge.update_cases import BASE

CLUSTER_ASSETS = Path(__file__).parents[2] / "assets" / "cluster"

BUILD = ImageBuild(
    region="us-west-2",
    operating_system="ubuntu2404",
    training_stack="native-2.33",
    instance_type="m6i.2xlarge",
    subnet_id="subnet-0123456789abcdef0",
    security_group_id="sg-0123456789abcdef0",
    script_url="s3://scripts/cluster/images/bake_native-2.33.sh",
    permissions_boundary_arn=None,
    tags={"slipway:environment": "team"},
)


def published(assembly: Assembly) -> dict[str, dict[str, Any]]:
    """The image configurations of an assembly by file name, with the markers of what is known only at deployment."""
    documents = read_assembly(assembly.directory)["documents"].values()
    return {Path(path).name: yaml.safe_load(text) for texts in documents for path, text in texts.items()}


def outputs(assembly: Assembly) -> dict[str, str]:
    """The commands that bake, by the outputs' names."""
    found = assembly.template("training")["Outputs"]
    return {name: str(output["Value"]) for name, output in found.items() if name.startswith("BakeImage")}


def test_every_training_stack_has_a_configuration_and_a_command_that_fetches_it(each_slurm_assembly: Assembly) -> None:
    training = each_slurm_assembly.training
    bakes = not each_slurm_assembly.environment.network.isolated
    stacks = training.training_stacks if bakes else ()
    ids = [image_id(training.cluster_name, stack, training.operating_system) for stack in stacks]

    assert sorted(published(each_slurm_assembly)) == sorted(f"{name}.yaml" for name in ids)
    for name, command in zip(ids, outputs(each_slurm_assembly).values(), strict=True):
        assert f"/cluster/images/{name}.yaml . && pcluster build-image" in command
        assert f"--image-id {name} --image-configuration {name}.yaml" in command


def test_the_script_of_a_configuration_is_uploaded_under_that_key(default: Assembly) -> None:
    scripts = [path for paths in read_assembly(default.directory)["uploads"].values() for path in paths]
    deployment = default.resource("training", "Custom::CDKBucketDeployment")
    values = [str(value) for markers in deployment["SourceMarkers"] for value in markers.values()]

    assert "images/bake_xla-2.28.1.sh" in scripts
    assert any("/cluster/images/bake_xla-2.28.1.sh" in value for value in values)


def test_nothing_reaches_the_machine_that_builds_and_it_reaches_packages_only(default: Assembly) -> None:
    groups = default.resources("training", "AWS::EC2::SecurityGroup")
    (group,) = [resource["Properties"] for name, resource in groups.items() if name.startswith("NodeImages")]

    assert "SecurityGroupIngress" not in group
    assert [rule["FromPort"] for rule in group["SecurityGroupEgress"]] == [443, 80]
    assert all(rule["FromPort"] == rule["ToPort"] for rule in group["SecurityGroupEgress"])


def test_the_build_keeps_to_the_environments_rules() -> None:
    configuration = image_configuration(BUILD)
    build = configuration["Build"]

    assert configuration["Image"]["RootVolume"] == {"Size": 82, "Encrypted": True}
    assert build["Imds"] == {"ImdsSupport": "v2.0"}
    assert build["UpdateOsPackages"] == {"Enabled": False}
    assert build["ParentImage"].endswith(":imagebuilder:us-west-2:aws:image/ubuntu-server-24-lts-x86/x.x.x")
    assert build["Tags"] == [{"Key": "slipway:environment", "Value": "team"}]
    assert {"Key": "slipway:training-stack", "Value": "native-2.33"} in configuration["Image"]["Tags"]


def test_the_builds_roles_get_the_permissions_boundary_and_no_further_policy() -> None:
    boundary = "arn:aws:iam::111122223333:policy/boundary"
    bounded = replace(BUILD, permissions_boundary_arn=boundary)

    assert "Iam" not in image_configuration(BUILD)["Build"]
    assert image_configuration(bounded)["Build"]["Iam"] == {"PermissionsBoundary": boundary}


@pytest.mark.parametrize("training_stack", ["xla-2.28.1", "native-2.33", "seed-2.20"])
def test_an_image_id_has_the_characters_that_parallelcluster_takes(training_stack: str) -> None:
    assert re.fullmatch(r"[a-zA-Z][a-zA-Z0-9-]{0,127}", image_id("c" * 60, training_stack, "ubuntu2204"))


def test_the_script_carries_all_that_it_needs(tmp_path: Path) -> None:
    script = tmp_path / "bake.sh"
    script.write_text(bake_script(CLUSTER_ASSETS, ("native-2.33",), "ubuntu2404"), "utf-8")
    sourced = set(re.findall(r"for part in ([^;]*);", script.read_text("utf-8"))[-1].replace("\\", "").split())

    assert script.read_text("utf-8").startswith("#!/usr/bin/env bash\n")
    assert subprocess.run(["bash", "-n", script], capture_output=True, check=False).stderr == b""
    carried = set(re.findall(r'cat >"\$\{directory\}/(.*?)\.sh"', script.read_text("utf-8")))
    programs = {"bake_image", "security_updates"}
    assert sourced <= carried == {*sourced, *programs, "training_stacks/native-2.33"}


def test_the_script_carries_the_pins_of_all_training_stacks_and_the_job_kits_only_where_one_has_it() -> None:
    both = bake_script(CLUSTER_ASSETS, ("seed-2.20", "xla-2.28.1"), "ubuntu2204")
    alone = bake_script(CLUSTER_ASSETS, ("seed-2.20",), "ubuntu2204")

    assert both.endswith('/bake_image.sh" seed-2.20 xla-2.28.1\n')
    assert "/training_stacks/xla-2.28.1.sh" in both
    marks = [script.count("\nEND OF jobs/requirements.txt\n") for script in (both, alone)]
    assert marks == [1, 0]


def test_each_image_of_a_cluster_can_be_its_head_nodes(tmp_path: Path) -> None:
    environment = load(tmp_path, changed(BASE, {"training.queues.1.training_stack": "seed-2.20"}))
    assembly = synthesize(environment, tmp_path / "assembly")
    for stacks in (("xla-2.28.1", "seed-2.20"), ("seed-2.20", "xla-2.28.1")):
        (script,) = assembly.directory.rglob(f"images/bake_{stacks[0]}.sh")
        assert script.read_text("utf-8").endswith(f'/bake_image.sh" {" ".join(stacks)}\n')
