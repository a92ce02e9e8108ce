"""The kubernetes stack: what the environment file asks for, wired together."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from slipway import facts
from slipway.config import load_environment
from slipway_jobs.environment import Environment
from tests.assembly import Assembly, synthesize
from tests.conftest import AssemblyFactory
from tests.kubernetes.installed import Installed, resolved

GROUP = "AWS::EKS::Nodegroup"

_IN_LONDON = """
name: london
region: eu-west-2
lifecycle: ephemeral
network:
  cidr: 10.60.0.0/16
  training_availability_zone_id: euw2-az1
  # A young zone without m6i.
  other_availability_zone_ids: [euw2-az4, euw2-az2]
storage: {lustre: {capacity_gib: 1200, throughput_mb_s_per_tib: 250}}
kubernetes:
  node_groups: [{name: cpu, instance_type: m6i.8xlarge}]
"""


@pytest.fixture(scope="module")
def kubernetes(assemblies: AssemblyFactory) -> Assembly:
    """The environment that trains on Kubernetes alone."""
    return assemblies("kubernetes")


@pytest.fixture(scope="module", params=["kubernetes", "beside"])
def each(request: pytest.FixtureRequest, assemblies: AssemblyFactory) -> Assembly:
    """It, and the variant beside Slurm."""
    return assemblies(request.param)


def told(assembly: Assembly) -> Environment:
    """What the job kit in the cluster reads of its environment."""
    config_map = Installed(assembly.template("kubernetes")).named("ConfigMap", "environment", "slipway")
    return Environment.model_validate_json(config_map["data"]["environment.json"])


def job_groups(assembly: Assembly) -> dict[str, Any]:
    """The node groups of jobs by name."""
    groups = assembly.resources("kubernetes", GROUP).values()
    by_name = {group["Properties"]["Labels"]["slipway/node-group"]: group["Properties"] for group in groups}
    return {name: group for name, group in by_name.items() if name != "core"}


def core_zones(assembly: Assembly) -> set[str]:
    """The zones of the core nodes."""
    groups = assembly.resources("kubernetes", GROUP).values()
    (core,) = (group["Properties"] for group in groups if "core" in group["Properties"]["Labels"].values())
    return {zone_of(assembly, subnet) for subnet in core["Subnets"]}


def zone_of(assembly: Assembly, subnet: Mapping[str, Any]) -> str:
    """The availability zone id of a subnet of the network stack."""
    network = assembly.template("network")
    output = network["Outputs"][subnet["Fn::GetStackOutput"]["OutputName"]]["Value"]["Ref"]
    zone: str = network["Resources"][output]["Properties"]["AvailabilityZoneId"]
    return zone


def statements(assembly: Assembly, policy: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The statements of the stack's policy that a role names."""
    yield from assembly.template("kubernetes")["Resources"][policy["Ref"]]["Properties"]["PolicyDocument"]["Statement"]


def depends_on(assembly: Assembly, logical_id: str) -> set[str]:
    """All that a resource waits for by `DependsOn`, and what that waits for."""
    resources = assembly.template("kubernetes")["Resources"]
    found: set[str] = set()
    waiting = [logical_id]
    while waiting:
        needed = resources[waiting.pop()].get("DependsOn", [])
        new = set([needed] if isinstance(needed, str) else needed) - found
        found |= new
        waiting += new
    return found


def test_the_kit_is_told_of_node_groups_as_of_queues(each: Assembly) -> None:
    environment, wanted = told(each), each.environment.kubernetes
    assert wanted
    assert environment.kubernetes
    trains = {group.name: group for group in wanted.node_groups if not group.instance_type.startswith("inf")}

    assert {queue.name: queue.instance_types for queue in environment.queues} == {
        name: {group.instance_type: group.max_count} for name, group in trains.items()
    }
    assert {queue.name: queue.efa for queue in environment.queues} == {
        name: group.uses_efa for name, group in trains.items()
    }
    assert environment.kubernetes.launcher == wanted.launcher
    assert (environment.kubernetes.local_queue is not None) is (wanted.queueing == "kueue")
    assert environment.kubernetes.hugging_face_token_secret == wanted.hugging_face_token_secret_arn


def test_a_pod_asks_for_less_than_its_node_has(each: Assembly) -> None:
    environment = told(each)
    assert environment.kubernetes

    for name, pod in environment.kubernetes.pods.items():
        node = facts.kubernetes_node(name)
        assert node.cpu_millicores * 0.8 < pod.cpu_millicores < node.cpu_millicores
        assert node.memory_mib * 0.8 < pod.memory_mib < node.memory_mib


def test_every_node_group_of_the_file_is_there_and_in_the_training_zone(each: Assembly) -> None:
    wanted = each.environment.kubernetes
    assert wanted
    groups = job_groups(each)

    assert {name: group["ScalingConfig"]["MaxSize"] for name, group in groups.items()} == {
        group.name: group.max_count for group in wanted.node_groups
    }
    assert {zone_of(each, subnet) for group in groups.values() for subnet in group["Subnets"]} == {
        each.environment.network.training_availability_zone_id
    }


def test_core_nodes_are_in_every_zone_that_has_their_type_and_in_no_other(each: Assembly, tmp_path: Path) -> None:
    file = tmp_path / "environment.yaml"
    file.write_text(_IN_LONDON, encoding="utf-8")
    london = synthesize(load_environment(file), tmp_path)

    assert core_zones(each) == {
        each.environment.network.training_availability_zone_id,
        *each.environment.network.other_availability_zone_ids,
    }
    assert core_zones(london) == {"euw2-az1", "euw2-az2"}


def test_nodes_live_when_software_comes_and_when_it_goes(each: Assembly) -> None:
    resources = each.template("kubernetes")["Resources"]
    installed = [key for key, resource in resources.items() if resource["Type"].startswith("Custom::AWSCDK-EKS-")]
    groups = set(each.resources("kubernetes", GROUP))

    assert len(installed) >= 6
    for key in installed:
        assert groups <= depends_on(each, key), key


def test_jobs_have_the_buckets_and_only_with_a_token_its_secret(each: Assembly) -> None:
    roles = {
        resource["Properties"]["ServiceAccount"]: resource["Properties"]["RoleArn"]["Fn::GetAtt"][0]
        for resource in each.resources("kubernetes", "AWS::EKS::PodIdentityAssociation").values()
        if resource["Properties"]["Namespace"] == "slipway"
    }
    resources = each.template("kubernetes")["Resources"]
    policies = resources[roles["jobs"]]["Properties"]["ManagedPolicyArns"]
    publishers = resources[roles["publisher"]]["Properties"]["ManagedPolicyArns"]
    own = [policy for policy in policies if "Ref" in policy]
    wanted = each.environment.kubernetes
    assert wanted
    secret = wanted.hugging_face_token_secret_arn

    assert set(roles) == {"jobs", "publisher"}
    assert len(policies) - len(own) == 1, "the storage stack's policy for jobs"
    assert publishers[:-1] == policies, "the publisher's role has the storage stack's policy for publishing besides"
    assert [
        [statement["Action"], statement["Resource"]] for policy in own for statement in statements(each, policy)
    ] == ([["secretsmanager:GetSecretValue", secret]] if secret else [])


def test_the_outputs_say_how_to_get_in(assemblies: AssemblyFactory, kubernetes: Assembly) -> None:
    private = kubernetes.template("kubernetes")["Outputs"]
    public = assemblies("beside").template("kubernetes")["Outputs"]

    assert "Tunnel" in private
    assert "Tunnel" not in public
    assert resolved(private["Kubeconfig"]["Value"]).startswith("aws eks update-kubeconfig --region us-west-2 --name ")
    assert "--parameters host=known-later,portNumber=443,localPortNumber=8443" in resolved(private["Tunnel"]["Value"])
    assert private["Shell"]["Value"] == "kubectl exec -it -n slipway deploy/shell -- bash"


def test_network_and_file_system_outlive_the_cluster(each: Assembly) -> None:
    manifest = json.loads((each.directory / "manifest.json").read_text())
    name = each.environment.name

    dependencies = manifest["artifacts"][f"slipway-{name}-kubernetes"]["dependencies"]

    assert {f"slipway-{name}-network", f"slipway-{name}-storage"} <= set(dependencies)
    assert f"slipway-{name}-training" not in dependencies
