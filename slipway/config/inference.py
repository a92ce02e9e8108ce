"""The `inference` section: OpenAI-compatible endpoints on Inferentia2 hosts in Amazon ECS."""

import re
from typing import Annotated, Literal

from pydantic import Field

from slipway.config.endpoint import Claim, Endpoint
from slipway.config.queues import AmiId, CapacityReservationId
from slipway.config.scaling import Scaling
from slipway.config.section import HOST_NAME_PATTERN, AvailabilityZoneId, Form, Section

MOST_SERVICES = 12
"""Models and canaries of one endpoint. CloudFormation takes a million bytes and 500 resources in a stack, and each of
them needs about 60,000 and 26."""


# distribution/reference, regexp.go of 00a09fa: only a registry's host and a tag may have capitals. A registry is told
# from a folder by a dot or a port.
_IMAGE_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?"
_IMAGE_HOST = rf"({_IMAGE_LABEL}(\.{_IMAGE_LABEL})+(:[0-9]+)?|{_IMAGE_LABEL}:[0-9]+)"
_IMAGE_FOLDER = r"[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*"
_IMAGE_PATTERN = (
    rf"({_IMAGE_HOST}/)?{_IMAGE_FOLDER}(/{_IMAGE_FOLDER})*"
    r"(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}|@sha256:[0-9a-f]{64})"
)


class Mountpoint(Section):
    """Hosts mount the model's folder of the bucket read-only (Mountpoint for Amazon S3); nothing is copied."""

    type: Literal["mountpoint"]
    """Always `mountpoint`."""


class Sync(Section):
    """Hosts copy the model to a gp3 volume of their own, and serve the copy once it is complete and checked."""

    type: Literal["sync"]
    """Always `sync`."""

    volume_gib: Annotated[int, Field(ge=20, le=16384)]
    """Size of that volume in GiB; at least the model's size."""

    throughput_mib_s: Annotated[int, Field(ge=125, le=1000)] = 500
    """Its throughput in MiB/s, which bounds copy and load: gp3's 125 would take two minutes for 16 GB."""


class LustreSource(Section):
    """Hosts mount the training file system read-only; it fetches the model from the bucket when it is first read."""

    type: Literal["lustre"]
    """Always `lustre`."""


class Compiled(Section):
    """What the model was compiled for: the values of its `neuron_config.json`. They never change after that."""

    batch_size: Annotated[int, Field(ge=1, le=1024)]
    """Requests that one task answers at a time."""

    sequence_length: Annotated[int, Field(ge=128, le=1_048_576)]
    """Tokens of prompt and answer together."""

    tensor_parallel_size: Annotated[int, Field(ge=1, le=128)]
    """NeuronCores that it is split over."""


class Limits(Section):
    """Less than what the model was compiled for, for engines that allow it; left out, the compiled values hold."""

    max_batch_size: Annotated[int, Field(ge=1, le=1024)] | None = None
    """Requests that one task answers at a time."""

    max_input_tokens: Annotated[int, Field(ge=1, le=1_048_576)] | None = None
    """Tokens of a prompt."""

    max_total_tokens: Annotated[int, Field(ge=1, le=1_048_576)] | None = None
    """Tokens of prompt and answer together."""


class Route(Section):
    """How clients choose a model: by a path or by a host name."""

    path: Annotated[str, Form(r"/[a-z0-9][a-z0-9-]{0,62}", "one folder, such as /tanuki", "/tanuki")] | None = None
    """Clients use `https://ENDPOINT/tanuki/v1` as their base URL; the load balancer takes the folder off."""

    host: (
        Annotated[
            str,
            Form(
                HOST_NAME_PATTERN,
                "a host name in lower case of at most 128 characters",
                "tanuki.llm.example.com",
                longest=128,
            ),
        ]
        | None
    ) = None
    """Clients use `https://tanuki.llm.example.com/v1`. A name in the zone of the endpoint's `dns_record` gets a record;
    any other must be led to the load balancer by you. The certificate must cover it."""


class HostImage(Section):
    """Another release of the ECS-optimized Amazon Linux 2023 image for Neuron, or a copy of one. Its driver stays."""

    ami_id: AmiId
    """Its id in the environment's Region."""

    neuron_driver: Annotated[str, Form(r"[0-9]+(\.[0-9]+){1,3}", "a version", "2.28.0.0")]
    """Version of the Neuron driver in it: `modinfo --field version neuron` says it on a host. It is compared with the
    runtime library of the engine's image at synth, and each host compares the one it loads."""


class HostReservation(Section):
    """Where all hosts of a model start; when it is used up or over, there are no others."""

    id: CapacityReservationId
    """An On-Demand Capacity Reservation or a Capacity Block (`cr-` and 17 hexadecimal digits)."""

    availability_zone_id: AvailabilityZoneId
    """Its zone, one of the environment's."""

    capacity_type: Literal["on_demand", "capacity_block"]
    """What it is."""


class ServedModel(Section):
    """One model: its engine, its hosts, and how many of them."""

    name: Annotated[
        str,
        Form(
            r"[a-z]([a-z0-9.-]{0,61}[a-z0-9])?",
            "a lower-case letter, then lower-case letters, digits, `.` and `-`, 63 at most, the last no `.` or `-`",
            "tanuki-8b",
        ),
    ]
    """The model's name. Its versions are folders below it in the model bucket: `slipway roll-out` says which is served,
    none before that."""

    prefix: (
        Annotated[
            str,
            Form(
                r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*",
                "folder names of letters, digits, `.`, `_` and `-`, joined by single slashes",
                "tanuki-8b/v1",
            ),
        ]
        | None
    ) = None
    """Serve this folder of the model bucket instead, for example `imported/tanuki`; nothing is rolled out then. It must
    be there before the deployment."""

    engine: str = "tgi"
    """Inference engine."""

    image: (
        Annotated[
            str,
            Form(
                _IMAGE_PATTERN,
                "a container image in lower case with a tag or digest",
                "111122223333.dkr.ecr.us-west-2.amazonaws.com/tgi:3.3.5-neuron",
            ),
        ]
        | None
    ) = None
    """Container image with a tag or digest, instead of the engine's own, for example a copy in Amazon ECR."""

    mirror_image: bool = False
    """Keep a copy of the image in an Amazon ECR repository of the stack, and run that one. The output
    `<Model>MirrorCommand` makes the copy: before it has run, no task starts."""

    host_image: HostImage | None = None
    """Machine image of the hosts. Left out, it is the pinned release of Amazon's ECS-optimized image that has a driver
    for the engine (`slipway/facts/data/machine_images.yaml`)."""

    instance_type: str = "inf2.xlarge"
    """EC2 instance type of the hosts. One task runs on each and has all of its Neuron devices."""

    capacity_reservation: HostReservation | None = None
    """Capacity that is reserved for the hosts: Trainium2 is seldom to be had otherwise."""

    weights_gib: Annotated[float, Field(gt=0, le=4096)] | None = None
    """Size of the model's weights in GiB, if you know it: two bytes for each parameter in bfloat16, so about 15 for
    8 billion. With it synth tells when they fill too much of a host's memory, through which they are loaded."""

    source: Annotated[Mountpoint | Sync | LustreSource, Field(discriminator="type")] = Mountpoint(type="mountpoint")
    """How the model gets to a host."""

    compiled: Compiled | None = None
    """What the model was compiled for. With it mistakes show at synth; engines that read it from no file need it."""

    limits: Limits = Limits()
    """Less than what the model was compiled for."""

    route: Route = Route()
    """How clients choose this model; one model may do without."""

    required_claims: Annotated[tuple[Claim, ...], Field(max_length=10)] = ()
    """Claims that a token needs for this model, with `authentication: jwt`: beside the endpoint's, or in place of one
    with the same name. Without it a token for another model opens this one, too."""

    scaling: Scaling = Scaling()
    """How many tasks, and when."""

    deployment: Literal["surge", "in_place"] = "surge"
    """`surge`: a new task starts on one more host before an old one stops. `in_place`: the old one stops first, and
    with one task clients get 503 until the model is loaded."""

    canary: bool = False
    """Prepare a second service of one task, to which `slipway roll-out --canary` sends a part of the requests. It takes
    no host before that. Not with `prefix`."""

    @property
    def slug(self) -> str:
        """The name in PascalCase, for ids that take letters and digits only: `tanuki-8b` is `Tanuki8b`."""
        return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^a-z0-9]+", self.name))

    @property
    def host_limit(self) -> int:
        """Most hosts of its service, the canary's aside."""
        spare = 1 if self.deployment == "surge" else 0
        return self.scaling.max_hosts or max(self.scaling.task_limit + spare, 1)


class Inference(Section):
    """The endpoint and the models behind it."""

    models: Annotated[tuple[ServedModel, ...], Field(min_length=1, max_length=MOST_SERVICES)]
    """The models, each with hosts of its own. Together with canaries at most 12: a CloudFormation stack has no more
    room."""

    endpoint: Endpoint = Endpoint()
    """Who may reach them, and how."""
