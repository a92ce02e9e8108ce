"""Standing cost: everything that bills by itself, from the facts' prices, and nothing unknown taken for free."""

from collections import Counter

import pytest

from neuron_constructs.kubernetes import names
from slipway import facts
from slipway.plan.standing_cost import HOURS_PER_MONTH, NODE_GROUP_LABEL, Charge, machine_prices, standing_charges
from tests.assembly import Assembly
from tests.conftest import AssemblyFactory


def test_the_default_environment_bills_nat_file_system_head_node_volumes_and_load_balancer(default: Assembly) -> None:
    charged = {charge.item: charge.quantity for charge in standing_charges(default.templates().values())}

    assert charged == {
        "nat_gateway_hour": 1,
        "public_ipv4_hour": 1,
        "lustre_persistent_2_250_gb_month": 4800,
        "m6i.2xlarge": 1,
        "gp3_gb_month": 500 + 100 + 200,
        "load_balancer_hour": 1,
    }


def test_monthly_prices_are_spread_over_the_hours_of_a_month() -> None:
    price = facts.price("gp3_gb_month", "us-west-2")
    assert price is not None
    assert price.usd is not None

    assert Charge("disk", "gp3_gb_month", 100).usd_per_hour("us-west-2") == pytest.approx(
        price.usd * 100 / HOURS_PER_MONTH
    )


def test_what_has_no_list_price_is_not_free() -> None:
    assert Charge("node", "trn2.48xlarge", 1).usd_per_hour("us-east-2") is None
    assert Charge("gateway", "nat_gateway_hour", 1).usd_per_hour("eu-north-1") is None


def test_every_kind_of_node_is_priced_once(ultracluster: Assembly) -> None:
    nodes = [charge.item for charge in machine_prices(ultracluster.templates().values())]

    assert nodes == ["trn1.32xlarge", "m6i.8xlarge", "trn1.2xlarge"]


def test_hosts_of_models_are_priced_beside_the_nodes(public: Assembly) -> None:
    prices = {charge.item: charge.usd_per_hour("us-west-2") for charge in machine_prices(public.templates().values())}

    price = facts.on_demand_price("inf2.24xlarge", "us-west-2")
    assert price is not None
    assert prices["inf2.24xlarge"] == price.usd


def test_nodes_in_a_capacity_block_are_paid_beforehand(ultracluster: Assembly) -> None:
    items = [charge.item for charge in standing_charges(ultracluster.templates().values())]

    assert "trn1.32xlarge" not in items


def test_a_team_also_pays_home_accounting_and_login_nodes(team: Assembly) -> None:
    charged: Counter[str] = Counter()
    for charge in standing_charges(team.templates().values()):
        charged[charge.item] += int(charge.quantity)

    assert charged == {
        "nat_gateway_hour": 2,
        "public_ipv4_hour": 2,
        "lustre_persistent_2_250_gb_month": 9600,
        "open_zfs_single_az_1_gb_month": 512,
        "open_zfs_single_az_1_mbps_month": 256,
        "db.t4g.medium": 1,
        "rds_gp3_gb_month": 20,
        "secret_month": 1,
        "m6i.2xlarge": 1,
        "m6i.xlarge": 2,
        "load_balancer_hour": 1,
        # No volume for /home; login nodes' root volumes are AWS's choice.
        "gp3_gb_month": 500 + 200,
    }


def test_a_standby_doubles_the_database(directory: Assembly) -> None:
    charged = {charge.item: charge.quantity for charge in standing_charges(directory.templates().values())}

    assert (charged["db.m5.large"], charged["rds_gp3_gb_month"]) == (2, 200)


def node_group(name: str, min_count: int, **properties: object) -> dict[str, object]:
    """A node group that names the instances of the launch template `Template`."""
    launch_template = {"Id": {"Ref": "Template"}, "Version": "1"}
    scaling = {"MinSize": min_count, "DesiredSize": min_count, "MaxSize": 4}
    return {
        "Type": "AWS::EKS::Nodegroup",
        "Properties": {
            "Labels": {NODE_GROUP_LABEL: name},
            "ScalingConfig": scaling,
            "LaunchTemplate": launch_template,
            **properties,
        },
    }


KUBERNETES = {
    "Resources": {
        "Cluster": {"Type": "AWS::EKS::Cluster", "Properties": {}},
        "Template": {
            "Type": "AWS::EC2::LaunchTemplate",
            "Properties": {
                "LaunchTemplateData": {
                    "InstanceType": "m6i.xlarge",
                    "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 100}}],
                }
            },
        },
        "Core": node_group("core", 2),
        "Idle": node_group("idle", 0),
        "Spot": node_group("spot", 1, CapacityType="SPOT"),
        "Block": node_group("block", 4, CapacityType="CAPACITY_BLOCK"),
    }
}


def test_a_kubernetes_cluster_bills_its_control_plane_and_the_nodes_that_always_run() -> None:
    charged = [(charge.what, charge.item, charge.quantity) for charge in standing_charges([KUBERNETES])]

    assert charged == [
        ("control plane of the Kubernetes cluster", "eks_cluster_hour", 1),
        ("nodes that always run in core, m6i.xlarge", "m6i.xlarge", 2),
        ("their root volumes in core, gp3", "gp3_gb_month", 200),
    ]
    assert all(charge.usd_per_hour("us-west-2") for charge in standing_charges([KUBERNETES]))
    assert [charge.item for charge in machine_prices([KUBERNETES])] == ["m6i.xlarge"]


def test_the_kubernetes_environment_bills_its_control_plane_and_core_nodes(assemblies: AssemblyFactory) -> None:
    charged = {
        charge.what: charge.quantity for charge in standing_charges(assemblies("kubernetes").templates().values())
    }

    assert NODE_GROUP_LABEL == names.NODE_GROUP_LABEL
    assert charged["control plane of the Kubernetes cluster"] == 1
    assert charged["nodes that always run in core, m6i.xlarge"] == 2
    assert not any("trn1" in what for what in charged)
