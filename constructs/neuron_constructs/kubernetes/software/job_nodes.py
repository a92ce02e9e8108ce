"""What the cluster's software knows of a node group of jobs."""

from dataclasses import dataclass

from slipway import facts


@dataclass(frozen=True, kw_only=True)
class JobNodes:
    """A node group of jobs."""

    name: str
    """Its name, which is the value of the label `slipway/node-group`."""

    instance_type: str
    """EC2 instance type."""

    max_count: int
    """Most nodes."""

    efa: bool
    """Whether the nodes have EFA interfaces."""

    @property
    def neuron_devices(self) -> int:
        """Neuron devices of one node; 0 without.

        Raises:
            slipway.facts.UnknownFact: there are no facts about the instance type.
        """
        return facts.instance_type(self.instance_type).neuron_devices

    @property
    def efa_interfaces(self) -> int:
        """EFA interfaces of one node; 0 without.

        Raises:
            slipway.facts.UnknownFact: there are no facts about the instance type.
        """
        return facts.instance_type(self.instance_type).efa_interfaces if self.efa else 0
