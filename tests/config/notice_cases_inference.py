"""The notice cases of the endpoint and its models."""

from tests.config.rule_cases import API_KEY, ENDPOINT, JWT, SAFE_PUBLIC, Case
from tests.config.rule_cases_endpoint import COGNITO, ENCRYPTED, claiming
from tests.config.rule_cases_inference import COMPILED, FIRST, MODEL, RECORD, second
from tests.config.rule_cases_scaling import scaling, scheduled

NAMED = {**ENCRYPTED, f"{ENDPOINT}.dns_record": RECORD}
PUBLIC = {**SAFE_PUBLIC, **NAMED, f"{ENDPOINT}.authentication": COGNITO}

INFERENCE_NOTICES = [
    Case(
        "engine-maintained",
        {f"{MODEL}.engine": "tgi"},
        f"{FIRST}.engine",
        "tgi of tanuki-8b: Upstream is archived",
        {f"{MODEL}.engine": "vllm-hf"},
    ),
    Case(
        # The line to write, once for all models.
        "engine-maintained",
        second(engine="tgi") | {"inference.models.2": {"name": "qwen", "route": {"path": "/qwen"}}},
        "inference.models[1].engine",
        "but gets no fixes. Write `engine: vllm-hf` and compile its versions again",
        second(),
    ),
    Case(
        "cores-at-work",
        {f"{MODEL}.compiled": COMPILED, f"{MODEL}.instance_type": "inf2.48xlarge"},
        f"{FIRST}.compiled.tensor_parallel_size",
        "tanuki-8b uses 2 of 24 NeuronCores of inf2.48xlarge; the rest stay idle. Write `instance_type:` inf2.xlarge "
        "or inf2.8xlarge, or compile it for 24.",
        {f"{MODEL}.compiled": COMPILED, f"{MODEL}.instance_type": "inf2.8xlarge"},
    ),
    Case(
        "cores-at-work",
        {f"{MODEL}.compiled": {**COMPILED, "tensor_parallel_size": 1}},
        f"{FIRST}.compiled.tensor_parallel_size",
        "tanuki-8b uses 1 of 2 NeuronCores of inf2.xlarge; the rest stay idle. Compile it for 2.",
        {f"{MODEL}.compiled": COMPILED},
    ),
    Case(
        "host-memory-tight",
        {f"{MODEL}.weights_gib": 14},
        f"{FIRST}.instance_type",
        "the weights of tanuki-8b (14 GiB) take 88% of the 16 GiB of host memory that inf2.xlarge loads them through, "
        "and above 60% the engine may be killed for lack of memory. Write trn1.2xlarge ($1.34 an hour, list price) or "
        "inf2.8xlarge ($1.97 an hour, list price).",
        {f"{MODEL}.weights_gib": 9.5},
    ),
    Case(
        # Seven tenths of the largest host of the engine.
        "host-memory-tight",
        {f"{MODEL}.weights_gib": 540, f"{MODEL}.instance_type": "inf2.48xlarge"},
        f"{FIRST}.instance_type",
        "No host of vllm-hf in us-west-2 has more memory.",
        {f"{MODEL}.weights_gib": 460, f"{MODEL}.instance_type": "inf2.48xlarge"},
    ),
    Case(
        "model-wakes",
        scaling(min_count=0, max_count=2),
        f"{FIRST}.scaling.min_count",
        "tanuki-8b can be left without a task, and nothing wakes it: a metric needs a task to come from",
        scheduled({"min_count": 1, "max_count": 2}, min_count=0, max_count=2),
    ),
    Case(
        "model-wakes",
        scheduled({"min_count": 0, "max_count": 0}),
        f"{FIRST}.scaling.schedules[0].min_count",
        "Write 1 or more, or add a schedule with `min_count: 1` or more.",
        scheduled({"min_count": 0, "max_count": 0}, {"name": "day", "cron": "0 8 * * ? *"}),
    ),
    Case(
        "deployment-without-gap",
        {f"{MODEL}.deployment": "in_place"},
        f"{FIRST}.deployment",
        "each deployment stops the only task",
        {f"{MODEL}.deployment": "in_place", **scaling(min_count=2)},
    ),
    Case(
        "name-covered-by-certificate",
        ENCRYPTED,
        "inference.endpoint.certificate_arn",
        "clients of tanuki-8b refuse the load balancer's own name: no certificate covers it",
        NAMED,
    ),
    Case(
        "name-covered-by-certificate",
        {**ENCRYPTED, f"{MODEL}.route": {"host": "tanuki.example.com"}, **second()},
        "inference.endpoint.certificate_arn",
        "clients of llama refuse the load balancer's own name",
        {**ENCRYPTED, f"{MODEL}.route": {"host": "tanuki.example.com"}},
    ),
    Case(
        "firewall-left-out",
        {**PUBLIC, f"{ENDPOINT}.firewall": None, f"{ENDPOINT}.no_firewall_because": "ours is before it"},
        "inference.endpoint.no_firewall_because",
        "a public endpoint without a firewall, because: ours is before it",
        PUBLIC,
    ),
    Case(
        "token-bound-to-endpoint",
        {**NAMED, f"{ENDPOINT}.authentication": JWT},
        "inference.endpoint.authentication",
        "every token of https://login.example.com/ passes, also one that was given out for something else",
        {**claiming({"name": "aud", "values": ["endpoint"]}), **NAMED},
    ),
    Case(
        "token-bound-to-endpoint",
        {**PUBLIC, f"{ENDPOINT}.authentication": {**JWT, "any_token_because": "the issuer serves nothing else"}},
        "inference.endpoint.authentication",
        "given out for something else, because: the issuer serves nothing else. Add `required_claims:`",
        PUBLIC,
    ),
    Case(
        "key-encrypted-on-its-way",
        {f"{ENDPOINT}.authentication": API_KEY},
        "inference.endpoint.authentication.type",
        "without a certificate the key travels in clear text",
        {**NAMED, f"{ENDPOINT}.authentication": API_KEY},
    ),
]
