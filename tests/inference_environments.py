"""Environment files that together hold every pair of choices about inference that the spec allows.

Choices are about the endpoint or about a model. A covering array of each (covertable) pairs the choices among
themselves; models are then spread over the endpoints until each choice of a model has met each one of an endpoint.
Several models share an endpoint, so that few syntheses are enough.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product

from slipway import facts
from tests.covering_array import Choices, Row, Values, covering, keys_of, written

Pair = frozenset[tuple[str, str]]
"""Two choices with their values."""

Field = tuple[str | int, ...]
"""Path of a field in an environment file."""

_ENDPOINT = ("inference", "endpoint")
_MODEL = ("inference", "models", 0)
_REGION = "us-west-2"
_ARN_END = f"{_REGION}:111122223333"
_JWT = {
    "type": "jwt",
    "issuer": "https://login.example.com/",
    "jwks_endpoint": "https://login.example.com/keys",
    "required_claims": [{"name": "scope", "values": ["llm/ask"], "format": "space-separated-values"}],
}
CERTIFICATE_ARN = f"arn:aws:acm:{_ARN_END}:certificate/12345678-1234-1234-1234-123456789012"
"""The certificate of every endpoint that has one."""

_CERTIFICATE = {"certificate_arn": CERTIFICATE_ARN}
_RECORD = {"dns_record": {"name": "llm.example.com", "zone_name": "example.com", "zone_id": "Z0123456789ABCDEFGHIJ"}}
_ECR_IMAGE = f"111122223333.dkr.ecr.{_REGION}.amazonaws.com/engine:1.2.3"
_NIGHT = {"name": "night", "cron": "0 20 ? * * *", "time_zone": "Asia/Tokyo", "min_count": 0, "max_count": 0}
_DAY = {**_NIGHT, "name": "day", "cron": "0 8 ? * MON-FRI *", "min_count": 1, "max_count": 3}

ENDPOINT_CHOICES: Choices = {
    "exposure": {name: {"exposure": name} for name in ("internal", "public")},
    "authentication": {
        "none": {},
        "api_key": {"authentication": {"type": "api_key"}},
        "jwt": {"authentication": _JWT},
        "cognito": {"authentication": {"type": "cognito"}},
    },
    "tls": {"plain": {}, "certificate": _CERTIFICATE, "named": {**_CERTIFICATE, **_RECORD}},
    "firewall": {
        "none": {},
        "excused": {"no_firewall_because": "a firewall of our own is before it"},
        "rate": {"firewall": {"requests_per_five_minutes": 500}},
    },
}
"""What there is to choose about the endpoint."""

_HERE = {row.family for row in facts.instance_types().values() if facts.offered_zone_ids(row.name, _REGION)}

MODEL_CHOICES: Choices = {
    "engine": {
        name: {"engine": name} for name, row in facts.inference_engines().items() if _HERE & set(row.instance_families)
    },
    "instance_type": {
        row.name: {"instance_type": row.name}
        for row in facts.instance_types().values()
        if row.neuron_devices and row.family in _HERE
    },
    "source": {
        "mountpoint": {},
        "sync": {"source": {"type": "sync", "volume_gib": 100}},
        "lustre": {"source": {"type": "lustre"}},
    },
    "versions": {
        "rolled_out": {},
        "canary": {"canary": True},
        "prefix": {"prefix": "imported/model"},
        "prefix_and_canary": {"prefix": "imported/model", "canary": True},
    },
    "compiled": {
        "unsaid": {},
        "said": {"compiled": {"batch_size": 4, "sequence_length": 4096, "tensor_parallel_size": 2}},
    },
    "image": {
        "of_engine": {},
        "mirrored": {"mirror_image": True},
        "in_ecr": {"image": _ECR_IMAGE},
        "in_ecr_and_mirrored": {"image": _ECR_IMAGE, "mirror_image": True},
    },
    "route": {"path": {"route": {"path": "/NAME"}}, "host": {"route": {"host": "NAME.example.com"}}, "none": {}},
    "scaling": {
        "fixed": {"scaling": {"min_count": 1}},
        "queue_size": {"scaling": {"min_count": 1, "max_count": 3}},
        "requests": {"scaling": {"min_count": 1, "max_count": 3, "metric": "requests_per_target", "target": 20}},
        "office_hours": {
            "scaling": {"min_count": 1, "max_count": 2, "schedules": [_NIGHT, _DAY], "warm_pool_count": 1}
        },
        "no_spare_host": {"scaling": {"min_count": 1, "max_count": 2, "max_hosts": 2}},
    },
    "deployment": {name: {"deployment": name} for name in ("surge", "in_place")},
}
"""What there is to choose about a model in this Region. `NAME` stands for the model's name."""

CHOICES: Choices = {**ENDPOINT_CHOICES, **MODEL_CHOICES}
"""Every choice."""


@dataclass(frozen=True)
class Conflict:
    """Values that the spec refuses: those of one choice, or two choices that do not go together.

    It says what the rules say a second time, on purpose and in other words.
    """

    choices: tuple[str, ...]
    """The choices."""

    meets: Callable[..., bool]
    """Whether these values of them, in that order, are refused."""

    field: Field
    """Where the message must be."""


def _runs_on(engine: str, instance_type: str) -> bool:
    return instance_type.partition(".")[0] in facts.inference_engine(engine).instance_families


CONFLICTS = (
    Conflict(("exposure", "authentication"), lambda *values: values == ("public", "none"), (*_ENDPOINT, "exposure")),
    Conflict(("exposure", "tls"), lambda *values: values == ("public", "plain"), (*_ENDPOINT, "exposure")),
    Conflict(("exposure", "firewall"), lambda *values: values == ("public", "none"), (*_ENDPOINT, "exposure")),
    Conflict(
        ("authentication", "tls"),
        lambda how, tls: how in {"jwt", "cognito"} and tls == "plain",
        (*_ENDPOINT, "authentication", "type"),
    ),
    Conflict(("engine", "instance_type"), lambda *values: not _runs_on(*values), (*_MODEL, "instance_type")),
    Conflict(
        ("engine", "compiled"),
        lambda engine, compiled: compiled == "unsaid" and facts.inference_engine(engine).needs_compiled,
        (*_MODEL, "compiled"),
    ),
    Conflict(("versions",), lambda versions: versions == "prefix_and_canary", (*_MODEL, "canary")),
    Conflict(("image",), lambda image: image == "in_ecr_and_mirrored", (*_MODEL, "mirror_image")),
    Conflict(
        ("scaling", "deployment"),
        lambda *values: values == ("no_spare_host", "surge"),
        (*_MODEL, "scaling", "max_hosts"),
    ),
)
"""All of them."""


def refused_fields(row: Row) -> set[Field]:
    """Return the fields that the spec must refuse in a row with a value for every choice; nothing where all go."""
    return {conflict.field for conflict in CONFLICTS if conflict.meets(*(row[choice] for choice in conflict.choices))}


def environment_of(endpoint: Row, models: Sequence[Row]) -> str:
    """Return the environment file with an endpoint and the models behind it.

    Args:
        endpoint: A value for each choice about the endpoint; one left out takes the spec's default.
        models: The same for each model.
    """
    values = {
        "name": "pairs",
        "region": _REGION,
        "network": {"training_availability_zone_id": "usw2-az4", "other_availability_zone_ids": ["usw2-az1"]},
        "storage": {"lustre": {"capacity_gib": 1200, "throughput_mb_s_per_tib": 125}},
        "training": {
            "cluster_name": "pairs",
            "queues": [{"name": "cpu", "compute_resources": [{"name": "m6i", "instance_type": "m6i.large"}]}],
        },
        "inference": {
            "models": [_model(f"model-{number}", row) for number, row in enumerate(models)],
            "endpoint": keys_of(ENDPOINT_CHOICES, endpoint),
        },
    }
    return written(values)


@cache
def endpoints_with_models() -> Sequence[tuple[Row, Sequence[Row]]]:
    """Return endpoints, each with the models behind it, so that every value of a model meets every one of an endpoint.

    Each model is placed where it brings most pairs together that have not met before.
    """
    models = covering(MODEL_CHOICES, CONFLICTS)
    spread: list[tuple[Row, list[Row]]] = [(endpoint, []) for endpoint in covering(ENDPOINT_CHOICES, CONFLICTS)]
    missing = {pair for endpoint, _ in spread for model in models for pair in _meetings(endpoint, model)}
    unplaced = list(models)
    while missing or unplaced:
        endpoint, behind, model = max(
            (
                (endpoint, behind, model)
                for endpoint, behind in spread
                for model in unplaced or models
                # Requests without a route of their own lead to one model.
                if model["route"] != "none" or all(other["route"] != "none" for other in behind)
            ),
            key=lambda place: (len(missing & _meetings(place[0], place[2])), -len(place[1])),
        )
        behind.append(model)
        missing -= _meetings(endpoint, model)
        if unplaced:
            unplaced.remove(model)
    return spread


def allowed_environments() -> list[tuple[str, str]]:
    """Return environment files in which every pair of choices occurs that the spec allows.

    Returns:
        An id of each environment (its endpoint in words), and its text.
    """
    return [
        ("-".join(endpoint.values()), environment_of(endpoint, models)) for endpoint, models in endpoints_with_models()
    ]


def pairs_of(row: Row) -> set[Pair]:
    """Return all pairs of two choices in a row."""
    return {frozenset(pair) for pair in combinations(row.items(), 2)}


def _meetings(endpoint: Row, model: Row) -> set[Pair]:
    return {frozenset(pair) for pair in product(endpoint.items(), model.items())}


def _model(name: str, row: Row) -> Values:
    """Return a model's entry in the file."""
    keys = keys_of(MODEL_CHOICES, row)
    if "route" in keys:
        keys["route"] = {kind: value.replace("NAME", name) for kind, value in keys["route"].items()}
    return {"name": name, **keys}
