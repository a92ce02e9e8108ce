"""EKS node groups: CloudFormation changes their version alone or not at all."""

from slipway_emulator.clients import Clients
from slipway_emulator.failures import ProvisioningError
from slipway_emulator.resources.handler import Existing, Provisioned, Request
from slipway_emulator.resources.row import Row
from slipway_emulator.resources.row_handler import RowHandler

_VERSIONS = frozenset({"Version", "ReleaseVersion"})
_CONFIGURATION = frozenset({"ScalingConfig", "Labels", "Taints", "UpdateConfig", "NodeRepairConfig", "Tags"})


class NodeGroupHandler(RowHandler):
    """Makes the calls of the row, unless CloudFormation would refuse the change (eksctl-io/eksctl#2565)."""

    def __init__(self, row: Row, clients: Clients) -> None:
        super().__init__(row, clients)
        self._refused: set[str] = set()

    def update(self, request: Request, existing: Existing, changed: frozenset[str]) -> Provisioned:
        """Change the configuration or the version; what follows a refusal is the rollback to what is there."""
        if existing.physical_id in self._refused:
            self._refused.discard(existing.physical_id)
            return Provisioned(existing.physical_id)
        if changed & _VERSIONS and changed & _CONFIGURATION:
            self._refused.add(existing.physical_id)
            raise ProvisioningError("Version and ReleaseVersion updates cannot be combined with other updates")
        return super().update(request, existing, changed)
