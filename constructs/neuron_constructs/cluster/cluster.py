"""A cluster as a CloudFormation resource: AWS's provider stack and `Custom::PclusterCluster`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import aws_cdk as cdk
from constructs import Construct, IDependable

from neuron_constructs.acknowledgements import allow_redundant_depends_on

PROVIDER_TEMPLATE_URL = (
    "https://{region}-aws-parallelcluster.s3.{region}.{url_suffix}"
    "/parallelcluster/{version}/templates/custom_resource/cluster.yaml"
)
"""Where AWS hosts the provider (AWS ParallelCluster User Guide, "AWS CloudFormation custom resource")."""


@dataclass(frozen=True, kw_only=True)
class ClusterProps:
    """Properties of a `Cluster`."""

    name: str
    """Name of the cluster; it becomes a CloudFormation stack of this name beside the one that holds this construct."""

    version: str
    """AWS ParallelCluster version of the provider."""

    region: str
    """AWS Region of the provider and the cluster."""

    configuration: dict[str, Any]
    """The `ClusterConfiguration`, as an object."""

    uses: Sequence[IDependable]
    """Whatever nodes need while they run, and while they are torn down, inside this stack."""


class Cluster(Construct):
    """The provider's nested stack and the cluster that it creates, updates and deletes.

    The cluster's resource has no `ServiceTimeout`: the provider hands unknown properties to ParallelCluster, which
    refuses them. CloudFormation allows a custom resource one hour.

    The provider's template gets no parameters. The CDK CLI makes change sets that include nested stacks, and there
    CloudFormation puts `{{IntrinsicFunction:...}}` in the place of a value that is not known yet, such as the ARN of a
    new policy, and may refuse it (aws-cloudformation/cfn-language-discussion#152). So `AdditionalIamPolicies` stays
    empty, and the provider's validators, which may not look at node scripts and secrets, warn
    (aws-parallelcluster 3.16.1, pcluster/validators/s3_validators.py and common.py).
    """

    resource: cdk.CustomResource

    def __init__(self, scope: Construct, id: str, props: ClusterProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        provider = cdk.CfnStack(
            self,
            "Provider",
            template_url=PROVIDER_TEMPLATE_URL.format(
                region=props.region, url_suffix=cdk.Aws.URL_SUFFIX, version=props.version
            ),
        )
        self.resource = cdk.CustomResource(
            self,
            "Resource",
            resource_type="Custom::PclusterCluster",
            service_token=provider.get_att("Outputs.ServiceToken").to_string(),
            properties={"ClusterName": props.name, "ClusterConfiguration": props.configuration},
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        self.resource.node.add_dependency(*props.uses)
        allow_redundant_depends_on(self.resource.node.default_child)

    @property
    def head_node_instance_id(self) -> str:
        """EC2 instance id of the head node, for SSM Session Manager."""
        return self.resource.get_att_string("headNode.instanceId")
