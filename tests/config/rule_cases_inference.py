"""The rule cases of the endpoint's models: names, engines, images, hosts, routes."""

from typing import Any

from tests.config.rule_cases import ENDPOINT, QUEUE, RESERVATION, RESOURCE, Case

MODELS = "inference.models"
MODEL = f"{MODELS}.0"
FIRST = "inference.models[0]"
SECOND = "inference.models[1]"
ECR_IMAGE = "111122223333.dkr.ecr.us-west-2.amazonaws.com/engine:0.4.5"
COMPILED = {"batch_size": 4, "sequence_length": 4096, "tensor_parallel_size": 2}
RECORD = {"name": "llm.example.com", "zone_name": "example.com", "zone_id": "Z0123456789ABCDEFGHIJ"}
RESERVED = {"id": RESERVATION, "availability_zone_id": "usw2-az4", "capacity_type": "on_demand"}
BLOCK = {"id": RESERVATION, "availability_zone_id": "sae1-az1", "capacity_type": "capacity_block"}
SAO_PAULO: dict[str, Any] = {
    "region": "sa-east-1",
    "network.training_availability_zone_id": "sae1-az1",
    "network.other_availability_zone_ids": ["sae1-az3"],
    f"{RESOURCE}.instance_type": "c6i.4xlarge",
}
TRAINIUM2: dict[str, Any] = {
    **SAO_PAULO,
    f"{MODEL}.engine": "vllm-neuron",
    f"{MODEL}.compiled": {**COMPILED, "tensor_parallel_size": 4},
    f"{MODEL}.instance_type": "trn2.3xlarge",
}


def second(name: str = "llama", **keys: Any) -> dict[str, Any]:
    """A second model beside the first one of the minimal environment, with a route unless told otherwise."""
    return {f"{MODELS}.1": {"name": name, "engine": "vllm-hf", "route": {"path": "/second"}, **keys}}


def several(count: int, **keys: Any) -> list[dict[str, Any]]:
    """Models that are alike but for their names and routes."""
    return [{"name": f"m{n}", "engine": "vllm-hf", "route": {"path": f"/m{n}"}, **keys} for n in range(count)]


INFERENCE = [
    Case(
        "model-names-distinct",
        second("tanuki-8b"),
        f"{SECOND}.name",
        "tanuki-8b appears twice",
        second("tanuki-8c"),
    ),
    Case(
        "model-names-distinct",
        second("tanuki.8b"),
        f"{SECOND}.name",
        "tanuki.8b and tanuki-8b are both Tanuki8b in the stack",
        second("tanuki8b-2"),
    ),
    Case(
        "model-names-distinct",
        {f"{MODEL}.canary": True, **second("tanuki-8b-candidate")},
        f"{SECOND}.name",
        "tanuki-8b-candidate and the canary of tanuki-8b are both Tanuki8bCandidate in the stack",
        second("tanuki-8b-candidate"),
    ),
    Case(
        "services-fit-stack",
        {MODELS: several(7, canary=True)},
        "inference.models",
        "7 models and 7 canaries are 14 services, and the stack has room for 12",
        {MODELS: several(6, canary=True)},
    ),
    Case(
        "host-driver-fits-engine",
        {f"{MODEL}.host_image": {"ami_id": "ami-0123456789abcdef0", "neuron_driver": "2.31.7.0"}},
        f"{FIRST}.host_image.neuron_driver",
        "Neuron driver 2.31.7.0 with runtime library 2.28.23.0: nrt_init() fails, that library needs one below 2.29",
        {f"{MODEL}.host_image": {"ami_id": "ami-0123456789abcdef0", "neuron_driver": "2.28.0.0"}},
    ),
    Case(
        "canary-rolled-out",
        {f"{MODEL}.canary": True, f"{MODEL}.prefix": "imported/tanuki"},
        f"{FIRST}.canary",
        "there is one folder, imported/tanuki, and no other version to try",
        {f"{MODEL}.canary": True},
    ),
    Case(
        "engine-known",
        {f"{MODEL}.engine": "vllm"},
        f"{FIRST}.engine",
        "Slipway does not know the inference engine 'vllm'. Did you mean 'vllm-hf'?",
        {f"{MODEL}.engine": "tgi"},
    ),
    Case(
        "image-pinned",
        {f"{MODEL}.image": "ghcr.io/example/tgi:latest"},
        f"{FIRST}.image",
        "the tag `latest` means another image every week",
        {f"{MODEL}.image": "ghcr.io/example/tgi:latest-3.3.5"},
    ),
    Case(
        "mirrored-image-elsewhere",
        {f"{MODEL}.image": ECR_IMAGE, f"{MODEL}.mirror_image": True},
        f"{FIRST}.mirror_image",
        "the image is in Amazon ECR already (111122223333.dkr.ecr.us-west-2.amazonaws.com)",
        {f"{MODEL}.image": "public.ecr.aws/example/engine:0.4.5", f"{MODEL}.mirror_image": True},
    ),
    Case(
        "engine-starts",
        {f"{MODEL}.engine": "vllm-aws"},
        f"{FIRST}.compiled",
        "vllm-aws reads it from no file of the model: it must be an argument",
        {f"{MODEL}.engine": "vllm-aws", f"{MODEL}.compiled": COMPILED},
    ),
    Case(
        "engine-starts",
        {f"{MODEL}.compiled": {**COMPILED, "tensor_parallel_size": 4}},
        f"{FIRST}.compiled.tensor_parallel_size",
        "the model needs 4 NeuronCores, a host has 2",
        {f"{MODEL}.compiled": {**COMPILED, "tensor_parallel_size": 4}, f"{MODEL}.instance_type": "inf2.24xlarge"},
    ),
    Case(
        "engine-starts",
        {f"{MODEL}.engine": "tgi", f"{MODEL}.compiled": COMPILED, f"{MODEL}.limits": {"max_batch_size": 5}},
        f"{FIRST}.limits.max_batch_size",
        "must be at most the compiled batch_size (got 5, compiled is 4). Write 4 or less, or leave it out.",
        {f"{MODEL}.engine": "tgi", f"{MODEL}.compiled": COMPILED, f"{MODEL}.limits": {"max_batch_size": 3}},
    ),
    Case(
        "engine-starts",
        {f"{MODEL}.limits": {"max_input_tokens": 1000}},
        f"{FIRST}.limits.max_input_tokens",
        "vllm-hf has no such limit (got 1000)",
        {f"{MODEL}.engine": "tgi", f"{MODEL}.limits": {"max_input_tokens": 1000}},
    ),
    Case(
        "engine-starts",
        {f"{MODEL}.engine": "tgi", f"{MODEL}.limits": {"max_input_tokens": 1000, "max_total_tokens": 1000}},
        f"{FIRST}.limits.max_input_tokens",
        "must be below max_total_tokens (got 1000, max_total_tokens is 1000)",
        {f"{MODEL}.engine": "tgi", f"{MODEL}.limits": {"max_input_tokens": 999, "max_total_tokens": 1000}},
    ),
    Case(
        "host-type-known",
        {f"{MODEL}.instance_type": "inf2.2xlarge"},
        f"{FIRST}.instance_type",
        "Slipway does not know the instance type 'inf2.2xlarge'. Write inf2.xlarge, inf2.8xlarge,",
        {f"{MODEL}.instance_type": "inf2.8xlarge"},
    ),
    Case(
        "engine-on-host",
        {f"{MODEL}.instance_type": "m6i.2xlarge"},
        f"{FIRST}.instance_type",
        "vllm-hf does not run on m6i.2xlarge",
        {f"{MODEL}.instance_type": "inf2.48xlarge"},
    ),
    Case(
        "weights-pass-through-host",
        {f"{MODEL}.weights_gib": 17},
        f"{FIRST}.instance_type",
        "the weights of tanuki-8b (17 GiB) take 106% of the 16 GiB of host memory that inf2.xlarge loads them through, "
        "and do not fit. Write trn1.2xlarge ($1.34 an hour, list price) or inf2.8xlarge",
        {f"{MODEL}.weights_gib": 17, f"{MODEL}.instance_type": "inf2.8xlarge"},
    ),
    Case(
        "host-type-offered",
        {
            "region": "us-east-2",
            "network.training_availability_zone_id": "use2-az3",
            "network.other_availability_zone_ids": ["use2-az1"],
            f"{MODEL}.instance_type": "trn2.3xlarge",
        },
        f"{FIRST}.instance_type",
        "trn2.3xlarge is not offered in use2-az3 or use2-az1",
        # trn1 is offered in the second of the two zones only, which is enough.
        {
            "region": "us-east-2",
            "network.training_availability_zone_id": "use2-az1",
            "network.other_availability_zone_ids": ["use2-az3"],
            "training.queues.0.compute_resources.0.instance_type": "trn2.48xlarge",
            f"{MODEL}.instance_type": "trn1.2xlarge",
        },
        also=frozenset({"engine-on-host"}),
    ),
    Case(
        "host-type-offered",
        # The other zone offers it, and is not the reservation's.
        {**SAO_PAULO, f"{MODEL}.capacity_reservation": {**RESERVED, "availability_zone_id": "sae1-az1"}},
        f"{FIRST}.instance_type",
        "inf2.xlarge is not offered in sae1-az1",
        {**SAO_PAULO, f"{MODEL}.capacity_reservation": {**RESERVED, "availability_zone_id": "sae1-az3"}},
    ),
    Case(
        "reserved-hosts-in-zone",
        {**TRAINIUM2, f"{MODEL}.capacity_reservation": {**BLOCK, "availability_zone_id": "sae1-az2"}},
        f"{FIRST}.capacity_reservation.availability_zone_id",
        "sae1-az2 is not a zone of the environment. Write sae1-az1 or sae1-az3, or add it",
        {**TRAINIUM2, f"{MODEL}.capacity_reservation": BLOCK},
    ),
    Case(
        "reserved-hosts-sold",
        {f"{MODEL}.capacity_reservation": RESERVED | {"capacity_type": "capacity_block"}},
        f"{FIRST}.instance_type",
        "inf2.xlarge is not sold as capacity_block",
        {f"{MODEL}.capacity_reservation": RESERVED},
    ),
    Case(
        "reservation-of-hosts-their-own",
        {f"{MODEL}.capacity_reservation": RESERVED, f"{QUEUE}.capacity_reservation_id": RESERVATION},
        f"{FIRST}.capacity_reservation.id",
        f"queue trn1 uses {RESERVATION} already",
        {f"{MODEL}.capacity_reservation": RESERVED},
    ),
    Case(
        "warm-pool-saves",
        {**TRAINIUM2, f"{MODEL}.capacity_reservation": BLOCK, f"{MODEL}.scaling": {"warm_pool_count": 1}},
        f"{FIRST}.scaling.warm_pool_count",
        "a Capacity Block is paid whether its hosts run or not, so hosts that wait stopped save nothing",
        {f"{MODEL}.capacity_reservation": RESERVED, f"{MODEL}.scaling": {"warm_pool_count": 1}},
    ),
]

ROUTES = [
    Case(
        "route-of-one-kind",
        {f"{MODEL}.route": {"path": "/tanuki", "host": "tanuki.example.com"}},
        f"{FIRST}.route",
        "takes a path or a host name (got /tanuki and tanuki.example.com)",
        {f"{MODEL}.route": {"host": "tanuki.example.com"}},
    ),
    Case(
        "models-told-apart",
        second(route={}),
        f"{SECOND}.route",
        "requests for llama and for tanuki-8b look alike: neither has a route. Add `route: {path: /llama}`",
        second(),
    ),
    Case(
        "routes-distinct",
        {f"{MODEL}.route": {"path": "/second"}, **second()},
        f"{SECOND}.route.path",
        "/second leads to tanuki-8b already",
        {f"{MODEL}.route": {"path": "/first"}, **second()},
    ),
    Case(
        "routes-distinct",
        {f"{MODEL}.route": {"host": "llm.example.com"}, **second(route={"host": "llm.example.com"})},
        f"{SECOND}.route.host",
        "llm.example.com leads to tanuki-8b already",
        {f"{MODEL}.route": {"host": "llm.example.com"}, **second(route={"host": "llama.example.com"})},
    ),
    Case(
        "route-path-free",
        second(route={"path": "/v1"}),
        f"{SECOND}.route.path",
        "engines answer at /v1 themselves. Write another folder, for example `/v1-model`.",
        second(route={"path": "/v1-llama"}),
    ),
    Case(
        # Any engine's: which one stands behind the path can change.
        "route-path-free",
        second(route={"path": "/invocations"}),
        f"{SECOND}.route.path",
        "engines answer at /invocations themselves",
        second(route={"path": "/invocation"}),
    ),
    Case(
        "route-host-beside-default",
        {f"{ENDPOINT}.dns_record": RECORD, **second(route={"host": "llm.example.com"})},
        f"{SECOND}.route.host",
        "all requests to the endpoint's own name would go to llama, and none to tanuki-8b",
        {
            f"{ENDPOINT}.dns_record": RECORD,
            f"{MODEL}.route": {"host": "tanuki.example.com"},
            **second(route={"host": "llm.example.com"}),
        },
    ),
]
