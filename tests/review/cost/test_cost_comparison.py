"""The default environment with the sizes of a published guide, against a count of that guide's lines by hand.

The guide trains on Trn1 and serves on Inferentia 2 (Classmethod, 2024-11): head node m5.8xlarge with 500 GB, FSx for
Lustre of 4,800 GiB at 250 MB/s/TiB, one inf2.xlarge, one NAT gateway, one load balancer. By list prices of us-east-1 it
costs $3.82 an hour with no training node.
"""

import copy
from dataclasses import replace

import pytest

from slipway.assembly.stacks import CLUSTER_TYPE, Stack, read_stacks
from slipway.review.cost.estimate import estimate
from slipway.review.cost.merged import merged
from tests.assembly import Assembly

GUIDE = {
    "NAT gateway": 0.045,
    "public IPv4 address": 0.005,
    # 4,800 GiB for $0.21 a month of 730 hours.
    "FSx for Lustre, 4800 GiB at 250 MB/s/TiB": 1.381,
    "head node, m5.8xlarge": 1.536,
    "volumes of head node, 500 GiB gp3 each": 0.055,
    "inference hosts of tanuki-8b, inf2.xlarge": 0.758,
    "volumes of inference hosts of tanuki-8b, 100 GiB gp3 each": 0.011,
    "load balancer": 0.0225,
}
ONLY_IN_THE_GUIDE = {
    # Ours has no address on the internet.
    "two public IPv4 addresses of the load balancer": 0.010,
    # Ours uses the keys that AWS manages, which are free.
    "customer managed key": 0.001,
}
ONLY_OURS = {
    # Homes and software are on volumes of their own, which a new head node takes over.
    "volume of /home, 100 GiB gp3": 0.011,
    "volume of /apps, 200 GiB gp3": 0.022,
    # The guide counts nothing that watches, and no DNS.
    "alarms, by the metrics they look at": 0.006,
    "dashboard": 0.004,
    "alarms that ParallelCluster makes": 0.001,
    "composite alarm that ParallelCluster makes": 0.001,
    "dashboard that ParallelCluster makes": 0.004,
    "private hosted zone of the cluster": 0.001,
    "KMS key": 0.001,
}


def with_the_guides_machines(stack: Stack) -> Stack:
    """The same stack with the guide's head node and host, if it has one."""
    template = copy.deepcopy(stack.template)
    for resource in template["Resources"].values():
        if resource["Type"] == CLUSTER_TYPE:
            resource["Properties"]["ClusterConfiguration"]["HeadNode"]["InstanceType"] = "m5.8xlarge"
        data = resource.get("Properties", {}).get("LaunchTemplateData", {})
        if data.get("InstanceType") == "inf2.8xlarge":
            data["InstanceType"] = "inf2.xlarge"
    return replace(stack, template=template)


def test_every_line_of_the_guide_is_the_same_here(default: Assembly) -> None:
    cost = estimate(tuple(with_the_guides_machines(stack) for stack in read_stacks(default.directory)))
    idle = {line.what: line.idle_usd_per_hour for line in merged(cost.lines) if line.idle_usd_per_hour}

    assert idle == {what: pytest.approx(usd, abs=0.0006) for what, usd in (GUIDE | ONLY_OURS).items()}
    assert sum((GUIDE | ONLY_IN_THE_GUIDE).values()) == pytest.approx(3.82, abs=0.006)
    assert cost.idle_usd_per_hour == pytest.approx(3.82 - 0.011 + sum(ONLY_OURS.values()), abs=0.006)
    assert not cost.unknown
