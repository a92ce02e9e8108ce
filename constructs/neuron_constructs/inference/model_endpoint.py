"""One model, served: what a CDK app needs that has a network of its own and nothing else of Slipway's."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from neuron_constructs.bucket_access import BucketAccess
from neuron_constructs.inference.cluster import InferenceCluster, InferenceClusterProps
from neuron_constructs.inference.container_image import container_image, is_in_ecr
from neuron_constructs.inference.endpoint import DnsRecord, Endpoint, EndpointProps, RouteProps
from neuron_constructs.inference.engine_api_key import EngineApiKey
from neuron_constructs.inference.model import Model, ModelSource, MountedBucket
from neuron_constructs.inference.model_service import ModelService, ModelServiceProps
from slipway import facts

_IDLE_SECONDS = 900
"""A long prompt takes minutes before the first byte of its answer."""


@dataclass(frozen=True, kw_only=True)
class ModelEndpointProps:
    """Properties of a `ModelEndpoint`."""

    name: str
    """The model's name for clients, and of its ECS service: letters, digits and hyphens."""

    vpc: ec2.IVpc
    """The VPC. Its private subnets reach AWS's APIs and the image's registry, through NAT for example."""

    subnets: Sequence[ec2.ISubnet]
    """Private subnets in two zones or more, for the load balancer."""

    host_subnets: Sequence[ec2.ISubnet]
    """Private subnets in zones that offer the instance type: `slipway az` knows them."""

    clients: Sequence[str]
    """IPv4 ranges that may connect."""

    certificate_arn: str
    """Certificate of AWS Certificate Manager: keys never travel without TLS."""

    bucket: s3.IBucket
    """Bucket with the model, of the same stack or of another owner."""

    prefix: str
    """The compiled model's folder in the bucket, without slashes at its ends."""

    source: ModelSource = field(default_factory=MountedBucket)
    """How it gets to a host."""

    engine: str = "tgi"
    """Inference engine: a row of slipway/facts/data/inference_engines.yaml."""

    compiled: facts.CompiledShape | None = None
    """What the model was compiled for; only some engines need to be told."""

    instance_type: str
    """EC2 instance type of the hosts, with memory for the model: inf2.8xlarge for 8 billion parameters."""

    task_count: int = 1
    """How many tasks serve the model, each on a host of its own. A deployment needs room for twice as many."""

    dns_record: DnsRecord | None = None
    """The endpoint's own name. If None, clients use the load balancer's name, which no certificate covers."""

    access_log_bucket: s3.IBucket
    """Bucket for the load balancer's logs, encrypted with SSE-S3: no other encryption takes them."""

    log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH
    """How long the logs of engine, hosts and cluster are kept."""


class ModelEndpoint(Construct):
    """A model on Inferentia or Trainium hosts in Amazon ECS behind an internal load balancer that asks for an API key.

    For more than one model, tokens in place of keys, a firewall or canaries, wire `Endpoint` and `ModelService`
    yourself, as this construct does.
    """

    endpoint: Endpoint
    service: ModelService
    api_key: secretsmanager.ISecret
    """Secret with the valid API keys, one made to begin with."""
    base_url: str
    """`OPENAI_BASE_URL` of clients."""
    model_id: str
    """What clients send as `model`."""

    def __init__(self, scope: Construct, id: str, props: ModelEndpointProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        engine = facts.inference_engine(props.engine)
        self.api_key = EngineApiKey(self, "ApiKey", secret_arn=None).secret
        self.endpoint = Endpoint(
            self,
            "Endpoint",
            EndpointProps(
                vpc=props.vpc,
                subnets=props.subnets,
                allowed_cidrs=props.clients,
                certificate_arn=props.certificate_arn,
                dns_record=props.dns_record,
                idle_timeout_seconds=_IDLE_SECONDS,
                access_log_bucket=props.access_log_bucket,
                log_retention=props.log_retention,
            ),
        )
        route = self.endpoint.add_model("Route", RouteProps(engine=engine, has_proxy=True))
        self.service = ModelService(
            self,
            "Model",
            ModelServiceProps(
                name=props.name,
                cluster=self._cluster(props),
                vpc=props.vpc,
                subnets=props.host_subnets,
                target_group=route.target_group,
                load_balancer_security_group=self.endpoint.security_group,
                engine=engine,
                image=container_image(self, "Repository", engine.image),
                image_uri=engine.image,
                image_needs_log_in=is_in_ecr(engine.image),
                neuron_runtime=engine.neuron_runtime,
                instance_type=props.instance_type,
                model=self._model(props),
                compiled=props.compiled,
                task_count=props.task_count,
                max_hosts=2 * props.task_count,
                idle_timeout_seconds=_IDLE_SECONDS,
                api_key=self.api_key,
                proxy_image=ecs.ContainerImage.from_registry(facts.cluster_image("engine-proxy").image),
                log_retention=props.log_retention,
            ),
        )
        self.base_url = route.base_url
        self.model_id = engine.model_id_for(self.service.task.settings)

    def _cluster(self, props: ModelEndpointProps) -> ecs.Cluster:
        name = f"{cdk.Stack.of(self).stack_name}-{props.name}"
        return InferenceCluster(
            self, "Cluster", InferenceClusterProps(name=name, vpc=props.vpc, log_retention=props.log_retention)
        ).cluster

    def _model(self, props: ModelEndpointProps) -> Model:
        reader = BucketAccess(self, "ModelReader", description="Inference hosts read the model")
        reader.allow_reading(props.bucket)
        return Model(
            bucket=props.bucket,
            reader_policy=reader.policy,
            prefix=props.prefix,
            name=props.name,
            source=props.source,
        )
