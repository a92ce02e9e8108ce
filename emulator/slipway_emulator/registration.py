"""Puts the catalogue together."""

from slipway_emulator.clients import Clients
from slipway_emulator.functions.responses import ResponseServer
from slipway_emulator.functions.runner import DEVIATIONS, FunctionRunner
from slipway_emulator.kubernetes_api.clusters import DEVIATIONS as KUBERNETES_DEVIATIONS
from slipway_emulator.kubernetes_api.clusters import KubernetesApis
from slipway_emulator.ledger import Ledger
from slipway_emulator.resources.bucket_policy import BucketPolicyHandler
from slipway_emulator.resources.custom_resource import CustomResourceHandler
from slipway_emulator.resources.databases import DatabaseHandler
from slipway_emulator.resources.helm_charts import HelmChartHandler
from slipway_emulator.resources.lambda_functions import FunctionHandler, LayerHandler
from slipway_emulator.resources.node_groups import NodeGroupHandler
from slipway_emulator.resources.record_handler import RecordHandler
from slipway_emulator.resources.row_handler import RowHandler
from slipway_emulator.resources.rows import api_rows, records
from slipway_emulator.resources.secrets import SecretHandler
from slipway_emulator.resources.security_group_egress import SecurityGroupEgressHandler
from slipway_emulator.resources.volumes import VolumeHandler
from slipway_emulator.stacks.engine import Engine
from slipway_emulator.stacks.nested_stack import NestedStackHandler

_FUNCTION = "AWS::Lambda::Function"
_HELM_CHART = "Custom::AWSCDK-EKS-HelmChart"
_LAYER = "AWS::Lambda::LayerVersion"
_BUCKET_POLICY = "AWS::S3::BucketPolicy"
_DATABASE = "AWS::RDS::DBInstance"
_EGRESS = "AWS::EC2::SecurityGroupEgress"
_NODE_GROUP = "AWS::EKS::Nodegroup"
_SECRET = "AWS::SecretsManager::Secret"
_VOLUME = "AWS::EC2::Volume"


def fill_catalogue(
    engine: Engine,
    clients: Clients,
    ledger: Ledger,
    runner: FunctionRunner,
    responses: ResponseServer,
    *,
    kubernetes: KubernetesApis,
) -> None:
    """Give the engine every resource type: rows first, then the few types that need more than calls."""
    for name, why in {**DEVIATIONS, **KUBERNETES_DEVIATIONS}.items():
        ledger.deviation(name, why)
    rows = api_rows()
    engine.catalogue.add({name: RowHandler(row, clients) for name, row in rows.items()})
    engine.catalogue.add({name: RecordHandler(record) for name, record in records().items()})
    engine.catalogue.add(
        {
            "AWS::CloudFormation::CustomResource": CustomResourceHandler(runner, responses, clients.guard),
            "AWS::CloudFormation::Stack": NestedStackHandler(engine, clients),
            _BUCKET_POLICY: BucketPolicyHandler(rows[_BUCKET_POLICY], clients, ledger),
            _DATABASE: DatabaseHandler(rows[_DATABASE], clients),
            _EGRESS: SecurityGroupEgressHandler(rows[_EGRESS], clients),
            _FUNCTION: FunctionHandler(rows[_FUNCTION], clients, runner),
            _HELM_CHART: HelmChartHandler(records()[_HELM_CHART], kubernetes),
            _LAYER: LayerHandler(rows[_LAYER], clients, runner),
            _NODE_GROUP: NodeGroupHandler(rows[_NODE_GROUP], clients),
            _SECRET: SecretHandler(rows[_SECRET], clients, ledger),
            _VOLUME: VolumeHandler(rows[_VOLUME], clients),
        }
    )
