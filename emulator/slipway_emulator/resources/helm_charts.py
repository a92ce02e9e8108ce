"""Helm charts: they cannot be fetched here, so they are written down; the kinds that they bring are served."""

from slipway_emulator.failures import ProvisioningError
from slipway_emulator.kubernetes_api.clusters import KubernetesApis
from slipway_emulator.kubernetes_api.kinds import kinds_of_chart
from slipway_emulator.resources.handler import Provisioned, Request
from slipway_emulator.resources.record_handler import RecordHandler
from slipway_emulator.resources.row import Record


class HelmChartHandler(RecordHandler):
    """Records a chart of the CDK's kubectl provider, and lets its cluster serve the chart's kinds and namespace."""

    def __init__(self, record: Record, apis: KubernetesApis) -> None:
        super().__init__(record)
        self._apis = apis

    def create(self, request: Request) -> Provisioned:
        """Record the chart of a cluster that is there."""
        properties = request.properties
        try:
            objects = self._apis.objects(properties["ClusterName"])
        except KeyError as error:
            raise ProvisioningError(f"No cluster found for name: {error.args[0]}.") from error
        chart = str(properties.get("Chart") or properties["Repository"]).rstrip("/").rpartition("/")[2]
        objects.serve(kinds_of_chart(chart))
        if str(properties.get("CreateNamespace")).lower() == "true":
            objects.add_namespace(properties["Namespace"])
        return super().create(request)
