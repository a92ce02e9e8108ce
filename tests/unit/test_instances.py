"""What an environment can launch: every kind of group, from the templates alone."""

from collections.abc import Mapping
from typing import Any

import pytest

from neuron_constructs.kubernetes import names
from slipway.assembly.instances import NODE_GROUP_LABEL, InstanceGroup, instance_groups
from slipway.assembly.stacks import CLUSTER_TYPE, Stack, read_stacks
from tests.assembly import Assembly
from tests.conftest import AssemblyFactory

OWN_SUBNET = "subnet-0123456789abcdef0"

# type, purchase, idle, peak, zones, reservation, GiB
Row = tuple[str, str, int, int, str, str | None, int]


def by_purpose(assembly: Assembly) -> dict[str, InstanceGroup]:
    """The instance_groups of an assembly by what they are for."""
    found = list(instance_groups(read_stacks(assembly.directory)))
    assert len({each.purpose for each in found}) == len(found)
    return {each.purpose: each for each in found}


def rows(assembly: Assembly) -> dict[str, Row]:
    """The instance_groups of an assembly, short enough for a table."""
    return {
        purpose: (
            each.instance_type,
            each.purchase,
            each.idle_count,
            each.peak_count,
            " ".join(each.availability_zone_ids),
            each.capacity_reservation,
            each.volume_gib,
        )
        for purpose, each in by_purpose(assembly).items()
    }


def stack(name: str, resources: Mapping[str, Any]) -> Stack:
    """A stack with these resources alone."""
    return Stack(name, "us-west-2", {"Resources": resources}, {}, termination_protection=False)


def test_the_default_environment_has_a_head_node_two_queues_and_hosts(default: Assembly) -> None:
    assert rows(default) == {
        "head node": ("m6i.2xlarge", "on_demand", 1, 1, "usw2-az4", None, 500),
        "queue trn1, trn1-32xl": ("trn1.32xlarge", "on_demand", 0, 4, "usw2-az4", None, 200),
        "queue cpu, c6i-4xl": ("c6i.4xlarge", "on_demand", 0, 2, "usw2-az4", None, 200),
        "inference hosts of tanuki-8b": ("inf2.8xlarge", "on_demand", 1, 2, "usw2-az4 usw2-az1", None, 100),
    }


def test_reservations_and_capacity_blocks_of_queues(ultracluster: Assembly) -> None:
    assert rows(ultracluster) == {
        "head node": ("m6i.8xlarge", "on_demand", 1, 1, "usw2-az4", None, 500),
        "queue reserved, trn1-32xl": (("trn1.32xlarge", "on_demand", 0, 1603, "usw2-az4", "cr-0123456789abcdef0", 200)),
        "queue block, trn1-32xl": ("trn1.32xlarge", "capacity_block", 16, 16, "usw2-az4", "cr-0fedcba9876543210", 200),
        "queue ondemand, trn1-32xl": ("trn1.32xlarge", "on_demand", 0, 256, "usw2-az4", None, 200),
        "queue cpu, m6i-8xl": ("m6i.8xlarge", "on_demand", 0, 16, "usw2-az4", None, 200),
        "queue debug, trn1-2xl": ("trn1.2xlarge", "on_demand", 0, 4, "usw2-az4", None, 200),
    }


def test_login_nodes_have_the_volume_of_their_image(team: Assembly) -> None:
    found = rows(team)

    assert found["login nodes, login"] == ("m6i.xlarge", "on_demand", 2, 2, "usw2-az4", None, 45)
    assert found["queue spot, trn1-2xl"] == ("trn1.2xlarge", "spot", 0, 8, "usw2-az4", None, 200)


def test_a_group_of_reservations_is_named_by_its_arn(directory: Assembly) -> None:
    group = by_purpose(directory)["queue reserved, trn2-48xl"].capacity_reservation

    assert group == "arn:aws:resource-groups:us-east-2:123456789012:group/trainium"


def test_node_groups_of_every_purchase(assemblies: AssemblyFactory) -> None:
    found = {purpose: row for purpose, row in rows(assemblies("beside")).items() if purpose.startswith("node group")}

    assert found == {
        "node group core": ("m6i.2xlarge", "on_demand", 2, 3, "use2-az3 use2-az1", None, 100),
        "node group spot": ("trn1.32xlarge", "spot", 0, 4, "use2-az3", None, 200),
        "node group reserved": ("trn1.32xlarge", "on_demand", 1, 4, "use2-az3", "cr-0123456789abcdef0", 200),
        "node group block": ("trn2.48xlarge", "capacity_block", 0, 2, "use2-az3", "cr-0fedcba9876543210", 200),
        "node group debug": ("trn1.2xlarge", "on_demand", 0, 1, "use2-az3", None, 100),
        "node group inference": ("inf2.xlarge", "on_demand", 0, 1, "use2-az3", None, 200),
        "node group cpu": ("m6i.8xlarge", "on_demand", 0, 2, "use2-az3", None, 200),
    }


def test_a_candidate_has_a_host_only_while_it_is_tried_out(rolledout: Assembly) -> None:
    found = rows(rolledout)

    assert found["inference hosts of tanuki-8b"][2:4] == (2, 5)
    assert found["inference hosts of tanuki-8b-candidate"][2:4] == (0, 1)


def test_schedules_count_with_the_most_that_they_keep(public: Assembly) -> None:
    # tanuki-8b has none at night, tanuki-70b no schedule.
    assert rows(public)["inference hosts of tanuki-8b"][2:4] == (2, 4)
    assert rows(public)["inference hosts of tanuki-70b"][2:4] == (2, 3)


def test_machines_stand_where_the_environment_puts_them(each_assembly: Assembly) -> None:
    network = each_assembly.environment.network
    assert network.training_availability_zone_id
    for each in by_purpose(each_assembly).values():
        assert each.availability_zone_ids[0] == network.training_availability_zone_id
        assert 0 <= each.idle_count <= each.peak_count
        assert each.volume_gib > 0
        template = each_assembly.templates()[each.stack]
        assert each.logical_id in template["Resources"]


def test_a_subnet_that_is_there_already_has_no_known_zone() -> None:
    queue = {
        "Name": "trn1",
        "Networking": {"SubnetIds": [OWN_SUBNET]},
        "ComputeResources": [{"Name": "trn1", "InstanceType": "trn1.32xlarge"}],
    }
    configuration = {
        "HeadNode": {"InstanceType": "m6i.large", "Networking": {"SubnetId": OWN_SUBNET}},
        "Scheduling": {"Scheduler": "slurm", "SlurmQueues": [queue]},
    }
    cluster = {"Type": CLUSTER_TYPE, "Properties": {"ClusterConfiguration": configuration}}
    found = list(instance_groups((stack("training", {"Cluster": cluster}),)))

    assert [each.availability_zone_ids for each in found] == [(), ()]
    # What the configuration leaves open is ParallelCluster's default: on demand, none to ten nodes.
    assert (found[1].purchase, found[1].idle_count, found[1].peak_count) == ("on_demand", 0, 10)


def served(**count: Any) -> Stack:
    """A stack with one model, served by hosts of its own."""
    launch = {"LaunchTemplateId": {"Ref": "Launch"}, "Version": "1"}
    group = {"LaunchTemplate": launch, "MinSize": "0", "MaxSize": "4", "VPCZoneIdentifier": [OWN_SUBNET]}
    provider = {"AutoScalingGroupProvider": {"AutoScalingGroupArn": {"Ref": "Hosts"}}}
    service = {"ServiceName": "model", "CapacityProviderStrategy": [{"CapacityProvider": {"Ref": "Provider"}}], **count}
    types: dict[str, tuple[str, dict[str, Any]]] = {
        "Launch": ("AWS::EC2::LaunchTemplate", {"LaunchTemplateData": {"InstanceType": "inf2.xlarge"}}),
        "Hosts": ("AWS::AutoScaling::AutoScalingGroup", group),
        "Provider": ("AWS::ECS::CapacityProvider", provider),
        "Service": ("AWS::ECS::Service", service),
    }
    return stack("inference", {name: {"Type": kind, "Properties": given} for name, (kind, given) in types.items()})


def test_a_service_that_says_no_count_has_one_task_as_ecs_gives_it() -> None:
    assert [each.idle_count for each in instance_groups((served(),))] == [1]
    assert [each.idle_count for each in instance_groups((served(DesiredCount=0),))] == [0]


def test_a_count_that_cannot_be_read_is_not_taken_for_none() -> None:
    assert not list(instance_groups((served(DesiredCount={"Fn::FindInMap": ["Counts", "model", "tasks"]}),)))
    assert not list(instance_groups((served(DesiredCount={"Ref": "Count"}),)))


def own_group(**group: Any) -> Stack:
    """An Auto Scaling group and a node group that a user added."""
    launch = {"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": {"InstanceType": "c6i.large"}}}
    hosts = {"Type": "AWS::AutoScaling::AutoScalingGroup", "Properties": {"MaxSize": "3", **group}}
    nodes = {"Type": "AWS::EKS::Nodegroup", "Properties": {"InstanceTypes": ["m6i.large"], "Subnets": [OWN_SUBNET]}}
    return stack("own", {"Launch": launch, "Hosts": hosts, "Nodes": nodes})


def test_groups_of_the_users_own_are_machines_too() -> None:
    group = {"LaunchTemplate": {"LaunchTemplateId": {"Ref": "Launch"}}, "MinSize": "1", "DesiredCapacity": "2"}
    nodes, hosts = instance_groups((own_group(**group),))
    assert (nodes.purpose, nodes.instance_type, nodes.volume_gib) == ("node group Nodes", "m6i.large", 20)
    assert (hosts.purpose, hosts.instance_type) == ("Auto Scaling group Hosts", "c6i.large")
    assert (hosts.idle_count, hosts.peak_count) == (2, 3)


@pytest.mark.parametrize("count", [{"Ref": "Size"}, {"Fn::If": ["IsLarge", "4", "2"]}])
def test_a_group_that_does_not_say_how_many_is_no_machines(count: Any) -> None:
    launch = {"LaunchTemplateId": {"Ref": "Launch"}}
    own = own_group(LaunchTemplate=launch, MinSize=count)
    own.template["Resources"]["Nodes"]["Properties"]["ScalingConfig"] = {"MinSize": count}
    assert not list(instance_groups((own,)))


def test_groups_that_name_no_single_type_are_no_machines() -> None:
    mixed = own_group(MixedInstancesPolicy={"LaunchTemplate": {"Overrides": [{"InstanceType": "c6i.large"}]}})
    mixed.template["Resources"]["Nodes"]["Properties"]["InstanceTypes"] += ["m5.large"]
    assert not list(instance_groups((mixed,)))
    mixed.template["Resources"]["Nodes"]["Properties"]["InstanceTypes"] = [{"Ref": "Type"}]
    assert not list(instance_groups((mixed,)))


@pytest.mark.parametrize("stacks", [(), (stack("empty", {}),)])
def test_an_assembly_without_machines_has_none(stacks: tuple[Stack, ...]) -> None:
    assert not list(instance_groups(stacks))


def test_the_label_is_the_one_that_the_constructs_write() -> None:
    assert NODE_GROUP_LABEL == names.NODE_GROUP_LABEL


def test_hosts_in_a_capacity_block_are_in_its_zone(trainium2: Assembly) -> None:
    found = rows(trainium2)["inference hosts of llama-3-8b"]
    assert found == ("trn2.3xlarge", "capacity_block", 1, 2, "sae1-az1", "cr-0123456789abcdef0", 100)
