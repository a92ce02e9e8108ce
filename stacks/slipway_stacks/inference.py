"""The inference stack: the endpoint and the models behind it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from neuron_constructs.inference.client_commands import api_key_command
from neuron_constructs.inference.cluster import InferenceCluster, InferenceClusterProps
from neuron_constructs.inference.endpoint import DnsRecord, Endpoint, EndpointProps
from neuron_constructs.inference.engine_api_key import EngineApiKey
from neuron_constructs.inference.image_mirror import ImageMirror, ImageMirrorProps
from neuron_constructs.inference.machine_clients import MachineClients, MachineClientsProps
from neuron_constructs.inference.node_problem_detection import (
    DETECTOR_IMAGE,
    RECOVERY_IMAGE,
    NodeProblemDetection,
    NodeProblemDetectionProps,
)
from neuron_constructs.inference.served_files import changes_log
from neuron_constructs.inference.token_check import TokenCheck, TokenClaim
from neuron_constructs.log_groups import list_log_groups_command
from slipway import facts
from slipway.assembly.stacks import ENVIRONMENT_TAG
from slipway.config import endpoint as endpoint_spec
from slipway.config.environment import Environment
from slipway.config.inference import Inference
from slipway.config.inference import ServedModel as ServedModelSpec
from slipway.config.network import vpc_cidr
from slipway_stacks.environment_stack import EnvironmentStack
from slipway_stacks.network import NetworkStack
from slipway_stacks.served_model import EndpointContext, ServedModel
from slipway_stacks.settings.lifetimes import log_retention
from slipway_stacks.storage import StorageStack

METADATA = "Slipway::Endpoint"
"""Key of the template's metadata that tells `slipway endpoint` what there is to ask."""


@dataclass(frozen=True)
class Authentication:
    """Who may ask: at most one of token check and API key."""

    kind: str
    """`jwt`, `cognito`, `api_key` or `none`."""

    tokens: TokenCheck | None = None
    api_key: secretsmanager.ISecret | None = None
    clients: MachineClients | None = None

    def claims_of(self, model: ServedModelSpec) -> Sequence[TokenClaim]:
        """Return what a token must say for a model."""
        return [self.clients.claim_of(model.name)] if self.clients else _token_claims(model.required_claims)


class InferenceStack(EnvironmentStack):
    """An OpenAI-compatible endpoint, and models on Inferentia hosts in Amazon ECS behind it.

    Lifetime: it may be destroyed and rebuilt alone; the models are in the storage stack. While it stands it costs the
    load balancer, and each host while it serves. It is a sibling of the training stack: neither waits for the other.
    """

    endpoint: Endpoint
    models: tuple[ServedModel, ...]
    node_problem_detection: NodeProblemDetection

    def __init__(
        self,
        scope: Construct,
        environment: Environment,
        inference: Inference,
        *,
        network: NetworkStack,
        storage: StorageStack,
    ) -> None:
        """Create the stack.

        Args:
            scope: the app.
            environment: the environment file.
            inference: its `inference` section.
            network: the stack with the VPC.
            storage: the stack with the model bucket and the training file system.
        """
        super().__init__(
            scope, "inference", environment, description="Slipway: OpenAI-compatible endpoint on Inferentia"
        )
        self._environment, self._inference = environment, inference
        authentication = self._authentication(environment, inference)
        self.endpoint = self._endpoint(environment, inference.endpoint, network, authentication.tokens)
        cluster = InferenceCluster(
            self,
            "Cluster",
            InferenceClusterProps(
                name=self.stack_name, vpc=network.network.vpc, log_retention=log_retention(environment)
            ),
        ).cluster
        context = EndpointContext(
            environment=environment,
            endpoint=self.endpoint,
            cluster=cluster,
            vpc=network.network.vpc,
            private_subnets=network.network.private_subnets,
            storage=storage,
            authentication=authentication.kind,
            api_key=authentication.api_key,
            proxy_copy=self._copy("Proxy", facts.cluster_image("engine-proxy").image)
            if authentication.api_key
            else None,
            idle_timeout_seconds=inference.endpoint.idle_timeout_seconds,
            changes=changes_log(self, "ServedFiles", retention=log_retention(environment)),
        )
        # Below a construct of their own: a model may have any name.
        models = Construct(self, "Models")
        self.models = tuple(
            ServedModel(models, model, context, claims=authentication.claims_of(model)) for model in inference.models
        )
        self._tag_hosts(environment)
        self.node_problem_detection = NodeProblemDetection(
            self,
            "NodeProblemDetection",
            NodeProblemDetectionProps(
                cluster=cluster,
                auto_scaling_groups=[
                    service.hosts.auto_scaling_group for model in self.models for service in model.services
                ],
                log_retention=log_retention(environment),
                detector_image=self._copy("Detector", DETECTOR_IMAGE),
                recovery_image=self._copy("Recovery", RECOVERY_IMAGE),
            ),
        )
        cdk.CfnOutput(self, "ModelBucket", value=storage.model_bucket.bucket_name, description="Where models go")
        cdk.CfnOutput(
            self,
            "LogGroups",
            # CloudFormation names a group after its stack and its logical id.
            value=list_log_groups_command(f"{self.stack_name}-", region=environment.region),
            description="Lists the log groups of engines and hosts; a name tells the model and the part",
        )
        self.add_metadata(METADATA, self._describe(authentication.kind))

    def _tag_hosts(self, environment: Environment) -> None:
        """Tag hosts and volumes: tags of the stack do not reach what an Auto Scaling group's template launches."""
        for service in (service for model in self.models for service in model.services):
            for key, value in {ENVIRONMENT_TAG: environment.name, **environment.tags}.items():
                cdk.Tags.of(service.hosts.launch_template).add(key, value)

    def _describe(self, authentication: str) -> Mapping[str, Any]:
        """Return what `slipway endpoint` is told: which outputs tell where the models are, and how a key is had."""
        api_key, cognito = authentication == "api_key", authentication == "cognito"
        return {
            "authentication": authentication,
            "models": [model.description for model in self.models],
            "api_key_secret_output": "ApiKeySecretArn" if api_key else None,
            "user_pool_output": "UserPoolId" if cognito else None,
            "user_pool_client_output": "UserPoolClientId" if cognito else None,
            **({"takes_several_keys": True} if api_key else {}),
        }

    def _authentication(self, environment: Environment, inference: Inference) -> Authentication:
        wanted = inference.endpoint.authentication
        match wanted:
            case None:
                return Authentication("none")
            case endpoint_spec.JwtAuthentication():
                claims = _token_claims(wanted.required_claims)
                return Authentication(
                    "jwt", TokenCheck(issuer=wanted.issuer, jwks_endpoint=wanted.jwks_endpoint, claims=claims)
                )
            case endpoint_spec.CognitoAuthentication():
                clients = MachineClients(
                    self,
                    "Clients",
                    MachineClientsProps(
                        # Domain prefixes are shared by all accounts of a Region.
                        domain_prefix=f"{self.stack_name}-{self.account}",
                        token_minutes=wanted.token_minutes,
                        models=[model.name for model in inference.models],
                    ),
                )
                cdk.CfnOutput(self, "TokenCommand", value=clients.token_command, description="Prints a token")
                cdk.CfnOutput(self, "UserPoolId", value=clients.user_pool.user_pool_id, description="Machine clients")
                cdk.CfnOutput(
                    self, "UserPoolClientId", value=clients.client.user_pool_client_id, description="First of them"
                )
                return Authentication("cognito", clients.tokens, clients=clients)
            case endpoint_spec.ApiKeyAuthentication():
                key = EngineApiKey(self, "ApiKey", secret_arn=wanted.secret_arn)
                command = api_key_command(key.secret.secret_arn, environment.region)
                cdk.CfnOutput(self, "ApiKeyCommand", value=command, description="Puts the key into OPENAI_API_KEY")
                cdk.CfnOutput(self, "ApiKeySecretArn", value=key.secret.secret_arn, description="Secret with the key")
                return Authentication("api_key", api_key=key.secret)

    def _copy(self, part: str, image: str) -> ecs.ContainerImage | None:
        """Return a copy of a public image in the account's own registry.

        None where hosts reach public registries and no model depends on the account's own alone.
        """
        mirrored = any(model.mirror_image for model in self._inference.models)
        if self._environment.network.reaches_internet and not mirrored:
            return None
        mirror = ImageMirror(
            self,
            f"{part}Mirror",
            ImageMirrorProps(source_image=image, log_retention=log_retention(self._environment)),
        )
        cdk.CfnOutput(
            self,
            f"Mirror{part}Command",
            value=mirror.command,
            description=f"Copies the {part.lower()}'s image into Amazon ECR",
        )
        return mirror.image

    def _endpoint(
        self,
        environment: Environment,
        endpoint: endpoint_spec.Endpoint,
        network: NetworkStack,
        tokens: TokenCheck | None,
    ) -> Endpoint:
        public = endpoint.exposure == "public"
        subnets = network.network.public_subnets if public else network.network.private_subnets
        record = endpoint.dns_record
        return Endpoint(
            self,
            "Endpoint",
            EndpointProps(
                vpc=network.network.vpc,
                subnets=tuple(subnets.values()),
                internet_facing=public,
                allowed_cidrs=_allowed_cidrs(endpoint, vpc_cidr(environment.network)),
                certificate_arn=endpoint.certificate_arn,
                dns_record=DnsRecord(name=record.name, zone_name=record.zone_name, zone_id=record.zone_id)
                if record
                else None,
                tokens=tokens,
                firewall_requests_per_five_minutes=endpoint.firewall.requests_per_five_minutes
                if endpoint.firewall
                else None,
                idle_timeout_seconds=endpoint.idle_timeout_seconds,
                deletion_protection=endpoint.deletion_protection,
                access_log_bucket=network.access_log_bucket,
                log_retention=log_retention(environment),
            ),
        )


def _token_claims(claims: Sequence[endpoint_spec.Claim]) -> list[TokenClaim]:
    return [TokenClaim(**claim.model_dump()) for claim in claims]


def _allowed_cidrs(endpoint: endpoint_spec.Endpoint, vpc_cidr: str) -> tuple[str, ...]:
    """Return who may connect; unsaid, it is the VPC for an internal endpoint and everyone for a public one."""
    if endpoint.allowed_cidrs:
        return endpoint.allowed_cidrs
    return ("0.0.0.0/0",) if endpoint.exposure == "public" else (vpc_cidr,)
