"""The EC2 instances that a cloud assembly can launch, whoever launches them: Slurm, EKS, ECS."""

from collections.abc import Iterator

from slipway.assembly.instances.group import InstanceGroup
from slipway.assembly.instances.launch_templates import launch_templates
from slipway.assembly.instances.models import model_instances
from slipway.assembly.instances.node_groups import NODE_GROUP_LABEL, node_group_instances
from slipway.assembly.instances.slurm import slurm_instances
from slipway.assembly.stacks import Stack
from slipway.assembly.templates import Templates

__all__ = ["NODE_GROUP_LABEL", "InstanceGroup", "instance_groups"]


def instance_groups(stacks: tuple[Stack, ...]) -> Iterator[InstanceGroup]:
    """Yield everything that the stacks of an environment can launch.

    Groups of which the templates do not say which instance type it is, or how many, are left out: a parameter may.

    Args:
        stacks: the stacks of one assembly; a queue's subnet may be in another stack than the queue.
    """
    templates = Templates({stack.name: stack.template for stack in stacks})
    zones = {reference: subnet.zone_id for reference, subnet in templates.subnets()}
    for found in templates.clusters():
        yield from slurm_instances(found, zones)
    launched = launch_templates(templates)
    yield from node_group_instances(templates, launched, zones)
    yield from model_instances(templates, launched, zones)
