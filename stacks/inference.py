"""The inference stack: the endpoint and the model behind it."""

from collections.abc import Mapping
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from neuron_constructs.inference.endpoint import Endpoint, EndpointProps, JwtIssuer
from neuron_constructs.inference.model import Model
from neuron_constructs.inference.model_service import ModelService, ModelServiceProps
from neuron_constructs.inference.rolled_out_model import RolledOutModel, RolledOutModelProps
from slipway import facts
from slipway.spec import inference as spec
from slipway.spec.environment import Environment
from stacks.environment_stack import EnvironmentStack
from stacks.lifetimes import log_retention

HOST_SET_UP = Path(__file__).parent.parent / "assets" / "inference" / "host_setup.sh"

# No host starts without a model; one that did would name this prefix when its mount fails.
NO_MODEL_CHOSEN = "no-model-chosen"


class InferenceStack(EnvironmentStack):
    """An OpenAI-compatible endpoint on Inferentia hosts in Amazon ECS.

    Lifetime: it may be destroyed and rebuilt alone; the model is in the storage stack. While it stands it costs the
    load balancer, and each host while it serves. It is a sibling of the training stack: neither waits for the other.
    """

    endpoint: Endpoint
    model_service: ModelService

    def __init__(
        self,
        scope: Construct,
        environment: Environment,
        inference: spec.Inference,
        *,
        vpc: ec2.IVpc,
        private_subnets: Mapping[str, ec2.ISubnet],
        public_subnets: Mapping[str, ec2.ISubnet],
        model_bucket: s3.IBucket,
        model_reader_policy: iam.IManagedPolicy,
        access_log_bucket: s3.IBucket,
    ) -> None:
        """Create the stack.

        Args:
            scope: the app.
            environment: the environment file.
            inference: its `inference` section.
            vpc: the VPC.
            private_subnets: private subnets by availability zone id.
            public_subnets: public subnets by availability zone id.
            model_bucket: bucket of compiled models.
            model_reader_policy: managed policy that allows reading that bucket.
            access_log_bucket: bucket for the load balancer's access logs.
        """
        super().__init__(
            scope, "inference", environment, description="Slipway: OpenAI-compatible endpoint on Inferentia"
        )
        engine = facts.inference_engine(inference.engine)
        public = inference.endpoint.exposure == "public"
        self.endpoint = Endpoint(
            self,
            "Endpoint",
            EndpointProps(
                vpc=vpc,
                subnets=tuple((public_subnets if public else private_subnets).values()),
                internet_facing=public,
                allowed_cidrs=_allowed_cidrs(inference.endpoint, environment.network.cidr),
                certificate_arn=inference.endpoint.certificate_arn,
                jwt_issuer=_jwt_issuer(inference.endpoint),
                idle_timeout_seconds=inference.endpoint.idle_timeout_seconds,
                target_port=engine.port,
                health_path=engine.health_path,
                paths=tuple(engine.inference_paths),
                deregistration_seconds=engine.stop_timeout_seconds,
                access_log_bucket=access_log_bucket,
            ),
        )
        rolled_out = self._rolled_out_model(inference)
        offered = facts.offered_zone_ids(inference.instance_type, environment.region)
        self.model_service = ModelService(
            self,
            "Model",
            ModelServiceProps(
                cluster_name=self.stack_name,
                vpc=vpc,
                subnets=tuple(subnet for zone, subnet in private_subnets.items() if zone in offered),
                endpoint=self.endpoint,
                engine=engine,
                image=inference.image,
                instance_type=inference.instance_type,
                model=Model(
                    bucket=model_bucket,
                    reader_policy=model_reader_policy,
                    prefix=rolled_out.prefix if rolled_out else _fixed_prefix(inference),
                    name=inference.model.name if inference.model else None,
                    is_chosen=rolled_out.is_chosen if rolled_out else None,
                ),
                desired_count=inference.desired_count,
                max_count=inference.max_count,
                api_key_secret_arn=_api_key_secret_arn(inference.endpoint),
                set_up_script=HOST_SET_UP,
                log_retention=log_retention(environment),
            ),
        )
        cdk.CfnOutput(self, "EndpointUrl", value=self.endpoint.url, description="base_url of an OpenAI client")
        cdk.CfnOutput(self, "ModelBucket", value=model_bucket.bucket_name, description="Where compiled models go")

    def _rolled_out_model(self, inference: spec.Inference) -> RolledOutModel | None:
        if inference.model is None or inference.model.name is None:
            return None
        engine = facts.inference_engine(inference.engine)
        return RolledOutModel(
            self,
            RolledOutModelProps(
                name=inference.model.name,
                none_chosen=NO_MODEL_CHOSEN,
                service={
                    "model": inference.model.name,
                    "engine": inference.engine,
                    "neuron_release": engine.release_in(inference.image),
                    "instance_type": inference.instance_type,
                    "logical_neuron_cores": facts.instance_type(inference.instance_type).logical_neuron_cores,
                    "neuron_memory_gib": facts.instance_type(inference.instance_type).neuron_memory_gib,
                    "memory_gib": facts.instance_type(inference.instance_type).memory_gib,
                    "desired_count": inference.desired_count,
                },
            ),
        )


def _fixed_prefix(inference: spec.Inference) -> str:
    return (inference.model.prefix if inference.model else None) or NO_MODEL_CHOSEN


def _allowed_cidrs(endpoint: spec.Endpoint, vpc_cidr: str) -> tuple[str, ...]:
    """Return who may connect; unsaid, it is the VPC for an internal endpoint and everyone for a public one."""
    if endpoint.allowed_cidrs:
        return endpoint.allowed_cidrs
    return ("0.0.0.0/0",) if endpoint.exposure == "public" else (vpc_cidr,)


def _jwt_issuer(endpoint: spec.Endpoint) -> JwtIssuer | None:
    authentication = endpoint.authentication
    if isinstance(authentication, spec.JwtAuthentication):
        return JwtIssuer(issuer=authentication.issuer, jwks_endpoint=authentication.jwks_endpoint)
    return None


def _api_key_secret_arn(endpoint: spec.Endpoint) -> str | None:
    authentication = endpoint.authentication
    return authentication.secret_arn if isinstance(authentication, spec.ApiKeyAuthentication) else None
