"""Node groups of every instance type, by each way to buy them: what EKS and EC2 are told."""

import email
import email.policy
from collections.abc import Mapping
from typing import Any
from unittest.mock import ANY

import pytest
import yaml

from neuron_constructs.kubernetes.node_interfaces import network_interfaces
from slipway import facts
from tests.facts.conftest import SpoiledFacts, spoiled_facts  # noqa: F401 - a fixture
from tests.kubernetes_node_group_stack import TAGS, Built, node_groups

RESERVATION = "cr-0123456789abcdef0"
TYPES = {name: facts.instance_type(name) for name in facts.kubernetes_nodes()}
BY_TYPE: dict[str, dict[str, Any]] = {
    name: {"instance_type": name, "efa": instance.efa_interfaces > 0} for name, instance in TYPES.items()
}
TRN1 = {"instance_type": "trn1.32xlarge", "efa": True}
BOUGHT: dict[str, dict[str, Any]] = {
    "on-demand": TRN1,
    "spot": {**TRN1, "capacity_type": "spot"},
    "reserved": {**TRN1, "capacity_reservation_id": RESERVATION},
    "placed": {**TRN1, "capacity_reservation_id": RESERVATION, "placement_group": "trn1-reserved"},
    "block": {**TRN1, "capacity_type": "capacity_block", "capacity_reservation_id": RESERVATION},
    "without-efa": {**TRN1, "efa": False},
    "without-repair": {**TRN1, "auto_repair": False},
}


@pytest.fixture(scope="module")
def built() -> Mapping[str, Built]:
    """All of them, in one stack."""
    return node_groups({**{name.replace(".", "-"): case for name, case in BY_TYPE.items()}, **BOUGHT})


def of_type(built: Mapping[str, Built], instance_type: str) -> Built:
    """The plain group of an instance type."""
    return built[instance_type.replace(".", "-")]


def node_config(template: Mapping[str, Any]) -> Mapping[str, Any]:
    """What nodeadm is told in a launch template's user data; nothing where there is none."""
    if "UserData" not in template:
        return {}
    message = email.message_from_string(template["UserData"]["Fn::Base64"], policy=email.policy.default)
    assert message.get_content_type() == "multipart/mixed"
    (part,) = message.iter_parts()
    assert part.get_content_type() == "application/node.eks.aws"
    config = yaml.safe_load(part.get_content().decode())
    assert (config.pop("apiVersion"), config.pop("kind")) == ("node.eks.aws/v1alpha1", "NodeConfig")
    spec: Mapping[str, Any] = config.pop("spec")
    assert not config
    return spec


@pytest.mark.parametrize("name", TYPES)
def test_the_image_fits_the_instance_type(built: Mapping[str, Built], name: str) -> None:
    group = of_type(built, name).group

    assert group["AmiType"] == ("AL2023_x86_64_NEURON" if TYPES[name].neuron_devices else "AL2023_x86_64_STANDARD")
    # The newest image has driver 2.29, which the runtime library of xla-2.28.1 does not work with.
    assert group["ReleaseVersion"] == ("1.35.6-20260625" if TYPES[name].neuron_devices else "1.35.6-20260714")
    assert group["Version"] == "1.35"


def test_the_image_is_chosen_by_the_runtime_library_of_jobs() -> None:
    runtimes = {stack.name.replace(".", "-"): stack.runtime for stack in facts.training_stacks().values()}
    built = node_groups({name: {"neuron_runtime": runtime} for name, runtime in runtimes.items()})
    releases = {name: found.group["ReleaseVersion"] for name, found in built.items()}

    assert releases == {
        "seed-2-20": "1.35.6-20260625",
        "xla-2-28-1": "1.35.6-20260625",
        "native-2-33": "1.35.6-20260714",
    }


def test_a_runtime_library_that_no_image_has_a_driver_for_is_refused(spoiled_facts: SpoiledFacts) -> None:  # noqa: F811
    spoiled_facts.replace("kubernetes_versions.yaml", ", 1.35.6-20260625: 2.28.0.0", "")
    with pytest.raises(ValueError, match=r"no image of Kubernetes 1\.35 has a Neuron driver for runtime library 2\.30"):
        node_groups({"trn1": {}})


@pytest.mark.parametrize("name", [*(name.replace(".", "-") for name in BY_TYPE), *BOUGHT])
def test_eks_takes_the_launch_template(built: Mapping[str, Built], name: str) -> None:
    """Rules: EKS user guide, "Customize managed nodes with launch templates"."""
    group, template, _ = built[name]
    interfaces = template["NetworkInterfaces"]

    assert group["LaunchTemplate"] == {"Id": ANY, "Version": {"Fn::GetAtt": [ANY, "LatestVersionNumber"]}}
    assert "InstanceTypes" not in group
    assert isinstance(template["InstanceType"], str)
    assert not {"ImageId", "IamInstanceProfile", "SecurityGroupIds", "SecurityGroups"} & template.keys()
    assert not [interface for interface in interfaces if "SubnetId" in interface]
    assert template.get("InstanceMarketOptions", {}).get("MarketType") != "spot"
    assert "DiskSize" not in group
    assert len(group["Subnets"]) == 1
    for interface in interfaces:
        assert interface["Groups"] == [{"Fn::GetAtt": [ANY, "ClusterSecurityGroupId"]}, "sg-0123456789abcdef0"]
        # One that stayed would hold the subnet.
        assert interface["DeleteOnTermination"] is True


@pytest.mark.parametrize("name", [name for name, instance in TYPES.items() if instance.efa_interfaces])
def test_efa_nodes_are_close_to_each_other_unless_a_reservation_says_where(
    built: Mapping[str, Built], name: str
) -> None:
    found = of_type(built, name)

    assert found.placement_group == {"Strategy": "cluster"}
    assert found.template["Placement"] == {"GroupName": {"Fn::GetAtt": [ANY, "GroupName"]}}
    for elsewhere in ("reserved", "block", "without-efa"):
        assert built[elsewhere].placement_group is None
        assert "Placement" not in built[elsewhere].template
    assert built["placed"].placement_group is None
    assert built["placed"].template["Placement"] == {"GroupName": "trn1-reserved"}


@pytest.mark.parametrize(
    ("name", "capacity_type", "market", "reserved"),
    [
        ("on-demand", "ON_DEMAND", None, False),
        ("spot", "SPOT", None, False),
        ("reserved", "ON_DEMAND", None, True),
        ("block", "CAPACITY_BLOCK", {"MarketType": "capacity-block"}, True),
    ],
)
def test_nodes_are_bought_as_the_environment_says(
    built: Mapping[str, Built], name: str, capacity_type: str, market: Any, reserved: bool
) -> None:
    group, template, _ = built[name]
    target = {"CapacityReservationTarget": {"CapacityReservationId": RESERVATION}}

    assert group["CapacityType"] == capacity_type
    assert template.get("InstanceMarketOptions") == market
    assert template.get("CapacityReservationSpecification") == (target if reserved else None)


@pytest.mark.parametrize("name", TYPES)
def test_other_pods_stay_off_and_jobs_find_the_nodes(built: Mapping[str, Built], name: str) -> None:
    group = of_type(built, name).group
    label = name.replace(".", "-")
    key, value = ("aws.amazon.com/neuron", "true") if TYPES[name].neuron_devices else ("slipway/node-group", label)

    assert group["Labels"] == {"slipway/node-group": label}
    assert group["Taints"] == [{"Key": key, "Value": value, "Effect": "NO_SCHEDULE"}]


@pytest.mark.parametrize("name", TYPES)
def test_the_autoscaler_knows_what_a_node_will_have(built: Mapping[str, Built], name: str) -> None:
    prefix = "k8s.io/cluster-autoscaler/node-template/resources/"
    told = {
        key.removeprefix(prefix): value
        for key, value in of_type(built, name).group["Tags"].items()
        if key.startswith(prefix)
    }
    instance, node = TYPES[name], facts.kubernetes_node(name)
    devices = {"aws.amazon.com/neuron": instance.neuron_devices, "vpc.amazonaws.com/efa": instance.efa_interfaces}

    assert told == {
        "cpu": f"{node.cpu_millicores}m",
        "memory": f"{node.memory_mib}Mi",
        **{resource: str(count) for resource, count in devices.items() if count},
    }


def test_without_efa_the_autoscaler_expects_none(built: Mapping[str, Built]) -> None:
    assert not [key for key in built["without-efa"].group["Tags"] if key.endswith("/efa")]
    assert len(built["without-efa"].template["NetworkInterfaces"]) == 1


@pytest.mark.parametrize("name", TYPES)
def test_local_disks_are_one(built: Mapping[str, Built], name: str) -> None:
    told = node_config(of_type(built, name).template)

    assert told.get("instance") == ({"localStorage": {"strategy": "RAID0"}} if TYPES[name].nvme_volumes else None)


@pytest.mark.parametrize("name", TYPES)
def test_containers_may_lock_memory_where_efa_pins_it(built: Mapping[str, Built], name: str) -> None:
    told = node_config(of_type(built, name).template)
    if not TYPES[name].efa_interfaces:
        assert "containerd" not in told
        return
    limits = {limit["type"]: limit for limit in told["containerd"]["baseRuntimeSpec"]["process"]["rlimits"]}
    locked = limits["RLIMIT_MEMLOCK"]["soft"]

    # Those of nodeadm itself, which a list of others replaces.
    assert limits["RLIMIT_NOFILE"] == {"type": "RLIMIT_NOFILE", "soft": 65536, "hard": 1048576}
    assert locked == limits["RLIMIT_MEMLOCK"]["hard"] > facts.kubernetes_node(name).memory_mib << 20
    # nodeadm's JSON numbers are floating point; containerd's limits have 64 bits.
    assert int(float(locked)) == locked < 1 << 64


def test_without_efa_containers_lock_what_containerd_may(built: Mapping[str, Built]) -> None:
    assert "containerd" not in node_config(built["without-efa"].template)


def test_nodes_are_encrypted_tagged_and_keep_their_role(built: Mapping[str, Built]) -> None:
    template = built["on-demand"].template
    (volume,) = template["BlockDeviceMappings"]

    assert volume["Ebs"] == {
        "DeleteOnTermination": True,
        "Encrypted": True,
        "VolumeSize": 200,
        "VolumeType": "gp3",
    }
    assert template["MetadataOptions"] == {"HttpPutResponseHopLimit": 1, "HttpTokens": "required"}
    for specification in template["TagSpecifications"]:
        assert {tag["Key"]: tag["Value"] for tag in specification["Tags"]}.items() >= TAGS.items()
    assert {specification["ResourceType"] for specification in template["TagSpecifications"]} == {"instance", "volume"}


def test_a_run_is_interrupted_once_by_an_update(built: Mapping[str, Built]) -> None:
    group = built["on-demand"].group

    assert group["UpdateConfig"] == {"MaxUnavailablePercentage": 100, "UpdateStrategy": "MINIMAL"}
    assert group["ForceUpdateEnabled"] is False
    assert group["ScalingConfig"] == {"DesiredSize": 0, "MinSize": 0, "MaxSize": 2}
    assert "NodegroupName" not in group


def test_broken_nodes_are_replaced_unless_they_are_to_stay(built: Mapping[str, Built]) -> None:
    assert built["on-demand"].group["NodeRepairConfig"] == {"Enabled": True}
    assert "NodeRepairConfig" not in built["without-repair"].group


def test_efa_is_refused_where_there_is_none() -> None:
    with pytest.raises(ValueError, match=r"trn1\.2xlarge has no EFA"):
        network_interfaces(facts.instance_type("trn1.2xlarge"), efa=True, security_group_ids=["sg-1"])
