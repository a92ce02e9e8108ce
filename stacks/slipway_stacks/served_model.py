"""One model of the inference stack: its route, its service, a candidate beside it, its outputs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_events as events
from aws_cdk import aws_logs as logs
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from neuron_constructs.acknowledgements import accept_wiring_rules
from neuron_constructs.inference.client_commands import curl_command, openai_command
from neuron_constructs.inference.container_image import container_image, is_in_ecr
from neuron_constructs.inference.endpoint import Endpoint, ModelRoute, RouteProps, TokenClaim
from neuron_constructs.inference.image_mirror import ImageMirror, ImageMirrorProps
from neuron_constructs.inference.model import NOT_PINNED, Model
from neuron_constructs.inference.model_service import ModelService, ModelServiceProps
from neuron_constructs.inference.rolled_out_model import RolledOutModel, RolledOutModelProps
from neuron_constructs.inference.scaling import (
    CapacitySchedule,
    RequestsPerTarget,
    ServiceScaling,
    ServiceScalingProps,
)
from neuron_constructs.inference.served_files import changes_rule
from slipway import facts
from slipway.config import inference as spec
from slipway.config.environment import Environment
from slipway_stacks.settings.lifetimes import log_retention
from slipway_stacks.settings.proxy import proxy_settings
from slipway_stacks.settings.served_model import host_zones, model_source, rolled_out_service, scales
from slipway_stacks.storage import StorageStack

# No host starts without a model; one that did would name this prefix when its mount fails.
NO_MODEL_CHOSEN = "no-model-chosen"

_CANDIDATE_IS_JUDGED = "A candidate runs while it is being judged, and its errors have an alarm."
CANDIDATE_TASKS = 1
"""Tasks of a candidate: enough to be judged, and one more host at most."""


@dataclass(frozen=True, kw_only=True)
class EndpointContext:
    """What the models of an endpoint share."""

    environment: Environment
    endpoint: Endpoint
    cluster: ecs.Cluster
    vpc: ec2.IVpc
    private_subnets: Mapping[str, ec2.ISubnet]
    storage: StorageStack
    authentication: str
    api_key: secretsmanager.ISecret | None
    proxy_copy: ecs.ContainerImage | None
    """A copy of the proxy's image in the account's own registry."""

    idle_timeout_seconds: int
    changes: logs.ILogGroup
    """Log of the changes of served files."""


@dataclass(frozen=True)
class EngineImage:
    """The image that a model's tasks run."""

    container_image: ecs.ContainerImage
    uri: str
    needs_log_in: bool
    """Whether it is in a private Amazon ECR repository."""


class ServedModel(Construct):
    """A model as the environment file describes it, wired."""

    name: str
    route: ModelRoute
    service: ModelService
    candidate: ModelService | None
    changes: events.CfnRule
    """What finds each change of a file that is served."""
    description: Mapping[str, Any]

    def __init__(
        self,
        scope: Construct,
        wanted: spec.ServedModel,
        context: EndpointContext,
        *,
        claims: Sequence[TokenClaim],
    ) -> None:
        """Add the model.

        Args:
            scope: what holds the models; a model's id in it is its slug.
            wanted: the model's entry in the environment file.
            context: what the models share.
            claims: what a token must say for this model, where the endpoint checks tokens.
        """
        super().__init__(scope, wanted.slug)
        self.name = wanted.name
        self.spec = wanted
        self._stack = cdk.Stack.of(self)
        self._context = context
        self.engine = facts.inference_engine(wanted.engine)
        rolled_out = self._rolled_out()
        self.route = context.endpoint.add_model(
            wanted.slug,
            RouteProps(
                engine=self.engine,
                path=wanted.route.path,
                host=wanted.route.host,
                candidate_weights=rolled_out.weights if rolled_out and wanted.canary else None,
                has_proxy=context.api_key is not None,
                claims=claims,
            ),
        )
        self._image = self._container_image()
        prefix = rolled_out.prefix if rolled_out else wanted.prefix or NO_MODEL_CHOSEN
        self.service = self._service(
            "Service",
            self._model(
                prefix,
                rolled_out.is_chosen if rolled_out else None,
                rolled_out.manifest_sha256 if rolled_out else NOT_PINNED,
            ),
            task_count=wanted.scaling.min_count,
            desired_count=rolled_out.task_count if rolled_out else None,
        )
        self._scale(rolled_out.is_chosen if rolled_out else None)
        self.candidate = self._candidate(rolled_out) if rolled_out and wanted.canary else None
        candidate_prefix = rolled_out.candidate_prefix if rolled_out else None
        self.changes = changes_rule(
            self,
            "Changes",
            bucket=context.storage.model_bucket,
            prefixes=[prefix, candidate_prefix] if candidate_prefix else [prefix],
            log=context.changes,
        )
        self.description = self._describe()

    @property
    def services(self) -> tuple[ModelService, ...]:
        """The model's service, and the candidate's where it can have one."""
        return (self.service, self.candidate) if self.candidate else (self.service,)

    @property
    def service_name(self) -> str:
        """Name of the ECS service."""
        return self.name.replace(".", "-")

    @property
    def service_names(self) -> tuple[str, ...]:
        """Names of all ECS services: the model's, and the candidate's where it can have one."""
        return (self.service_name, self._candidate_name) if self.candidate else (self.service_name,)

    @property
    def _candidate_name(self) -> str:
        return f"{self.service_name}-candidate"

    @property
    def model_id(self) -> str:
        """What clients send as `model`."""
        return self.engine.model_id_for(self.service.task.settings)

    def _rolled_out(self) -> RolledOutModel | None:
        wanted = self.spec
        if wanted.prefix is not None:
            return None
        return RolledOutModel(
            self._stack,
            RolledOutModelProps(
                name=wanted.name,
                slug=wanted.slug,
                none_chosen=NO_MODEL_CHOSEN,
                canary=wanted.canary,
                task_count=wanted.scaling.min_count if scales(self.spec.scaling) else None,
                service=rolled_out_service(wanted, self.engine, self.service_name),
            ),
        )

    def _container_image(self) -> EngineImage:
        reference = self.spec.image or self.engine.image
        if self.spec.mirror_image:
            mirror = ImageMirror(
                self,
                "Mirror",
                ImageMirrorProps(source_image=reference, log_retention=log_retention(self._context.environment)),
            )
            self._output("MirrorCommand", mirror.command, "Copies the engine's image into Amazon ECR")
            return EngineImage(mirror.image, mirror.image_uri, needs_log_in=True)
        return EngineImage(container_image(self, "Repository", reference), reference, needs_log_in=is_in_ecr(reference))

    def _model(self, prefix: str, is_chosen: cdk.CfnCondition | None, manifest_sha256: str) -> Model:
        storage = self._context.storage
        return Model(
            bucket=storage.model_bucket,
            reader_policy=storage.model_reader.policy,
            prefix=prefix,
            name=self.name,
            is_published=self.spec.prefix is None,
            manifest_sha256=manifest_sha256,
            source=model_source(self.spec.source, storage.lustre),
            is_chosen=is_chosen,
        )

    def _service(
        self,
        id: str,  # noqa: A002
        model: Model,
        *,
        task_count: int,
        desired_count: int | None = None,
        candidate: bool = False,
    ) -> ModelService:
        """Create the model's service, or that of a candidate: one task, no spare host."""
        wanted, around = self.spec, self._context
        zones, reservation = host_zones(wanted, around.environment.region), wanted.capacity_reservation
        targets = self.route.candidate_target_group if candidate else self.route.target_group
        assert targets is not None
        return ModelService(
            self,
            id,
            ModelServiceProps(
                name=self._candidate_name if candidate else self.service_name,
                cluster=around.cluster,
                vpc=around.vpc,
                subnets=tuple(subnet for zone, subnet in around.private_subnets.items() if zone in zones),
                target_group=targets,
                load_balancer_security_group=around.endpoint.security_group,
                engine=self.engine,
                image=self._image.container_image,
                image_uri=self._image.uri,
                image_needs_log_in=self._image.needs_log_in,
                ami_id=wanted.host_image.ami_id if wanted.host_image else None,
                neuron_runtime=self.engine.runtime_in(wanted.image),
                instance_type=wanted.instance_type,
                capacity_reservation_id=reservation.id if reservation else None,
                capacity_block=reservation is not None and reservation.capacity_type == "capacity_block",
                model=model,
                compiled=facts.CompiledShape(**wanted.compiled.model_dump()) if wanted.compiled else None,
                limits=wanted.limits.model_dump(exclude_none=True),
                task_count=task_count,
                desired_count=desired_count,
                scales=scales(self.spec.scaling) and not candidate,
                max_hosts=CANDIDATE_TASKS if candidate else wanted.host_limit,
                warm_pool_count=0 if candidate else wanted.scaling.warm_pool_count,
                deployment="in_place" if candidate else wanted.deployment,
                idle_timeout_seconds=around.idle_timeout_seconds,
                api_key=around.api_key,
                proxy_image=around.proxy_copy
                if around.proxy_copy and (wanted.mirror_image or not around.environment.network.reaches_internet)
                else ecs.ContainerImage.from_registry(facts.cluster_image("engine-proxy").image),
                log_retention=log_retention(around.environment),
                http_proxy=proxy_settings(around.environment),
            ),
        )

    def _candidate(self, rolled_out: RolledOutModel) -> ModelService:
        assert rolled_out.candidate_prefix is not None
        service = self._service(
            "Candidate",
            self._model(
                rolled_out.candidate_prefix, rolled_out.candidate_is_chosen, rolled_out.candidate_manifest_sha256
            ),
            task_count=CANDIDATE_TASKS,
            candidate=True,
        )
        accept_wiring_rules(service, {"resource-is-watched": _CANDIDATE_IS_JUDGED})
        if targets := self.route.candidate_target_group:
            accept_wiring_rules(targets, {"resource-is-watched": _CANDIDATE_IS_JUDGED})
        return service

    def _scale(self, is_chosen: cdk.CfnCondition | None) -> None:
        scaling = self.spec.scaling
        if not scales(self.spec.scaling):
            return
        metric: cloudwatch.IMetric | RequestsPerTarget = (
            self.service.metrics.metric("QueueSize", "Average")
            if scaling.metric == "queue_size"
            else RequestsPerTarget(target_group=self.route.target_group)
        )
        ServiceScaling(
            self,
            "Scaling",
            ServiceScalingProps(
                service=self.service.service,
                min_count=scaling.min_count,
                max_count=scaling.min_count if scaling.max_count is None else scaling.max_count,
                metric=metric,
                target=scaling.target_value,
                scale_out_cooldown_seconds=scaling.scale_out_cooldown_seconds,
                scale_in_cooldown_seconds=scaling.scale_in_cooldown_seconds,
                schedules=[CapacitySchedule(**schedule.model_dump()) for schedule in scaling.schedules],
                is_chosen=is_chosen,
                busy=self.service.metrics.metric("BatchUtilization", "Average") if self.service.batch_size else None,
            ),
        )

    def _describe(self) -> Mapping[str, Any]:
        """Add the outputs for clients, and return what `slipway endpoint` is told of the model."""
        base_url, model_id = self.route.base_url, self.model_id
        has_key = self._context.authentication != "none"
        self._output("BaseUrl", base_url, "OPENAI_BASE_URL of clients")
        self._output("ModelId", model_id, "What clients send as model")
        self._output("CurlCommand", curl_command(base_url, model_id, has_key=has_key), "Asks the model, with curl")
        self._output("OpenAiCommand", openai_command(base_url, model_id, has_key=has_key), "Asks it, with openai")
        return {
            "name": self.name,
            "engine": self.spec.engine,
            "base_url_output": f"{self.spec.slug}BaseUrl",
            "model_id_output": f"{self.spec.slug}ModelId",
        }

    def _output(self, name: str, value: str, description: str) -> None:
        cdk.CfnOutput(self._stack, f"{self.spec.slug}{name}", value=value, description=description)
