"""The rule cases of the endpoint."""

from tests.spec.rule_cases import API_KEY, CERTIFICATE, ENDPOINT, JWT, SAFE_PUBLIC, SECRET, Case

INFERENCE = [
    Case(
        "engine-known",
        {"inference.engine": "tgii"},
        "inference.engine",
        "Did you mean 'tgi'?",
        {"inference.engine": "vllm"},
    ),
    Case(
        "image-pinned",
        {"inference.image": "ghcr.io/example/tgi:latest"},
        "inference.image",
        "the tag `latest` means another image every week",
        {"inference.image": "ghcr.io/example/tgi:latest-3.3.5"},
    ),
    Case(
        "host-type-known",
        {"inference.instance_type": "inf2.2xlarge"},
        "inference.instance_type",
        "there are no facts about an instance type 'inf2.2xlarge'",
        {"inference.instance_type": "inf2.8xlarge"},
    ),
    Case(
        "engine-on-host",
        {"inference.instance_type": "m6i.2xlarge"},
        "inference.instance_type",
        "tgi does not run on m6i.2xlarge",
        {"inference.instance_type": "inf2.48xlarge"},
    ),
    Case(
        "host-type-offered",
        {
            "region": "us-east-2",
            "network.training_availability_zone_id": "use2-az3",
            "network.other_availability_zone_ids": ["use2-az1"],
            "inference.instance_type": "trn2.3xlarge",
        },
        "inference.instance_type",
        "trn2.3xlarge is not offered in use2-az3 or use2-az1",
        # trn1 is offered in the second of the two zones only, which is enough.
        {
            "region": "us-east-2",
            "network.training_availability_zone_id": "use2-az1",
            "network.other_availability_zone_ids": ["use2-az3"],
            "training.queues.0.compute_resources.0.instance_type": "trn2.48xlarge",
            "inference.instance_type": "trn1.2xlarge",
        },
        also=frozenset({"engine-on-host"}),
    ),
    Case(
        "desired-count-within-maximum",
        {"inference.desired_count": 2, "inference.model": {"prefix": "m/v1"}},
        "inference.desired_count",
        "is larger than max_count (got 2, max_count is 1)",
        {"inference.desired_count": 1, "inference.model": {"prefix": "m/v1"}},
    ),
    Case(
        "serving-needs-model",
        {"inference.desired_count": 1},
        "inference.desired_count",
        "there is no model for 1 tasks to serve",
        {"inference.desired_count": 1, "inference.model": {"name": "tanuki-8b"}},
    ),
    Case(
        "model-named-once",
        {"inference.model": {"name": "tanuki-8b", "prefix": "tanuki-8b/v1"}},
        "inference.model",
        "takes a name or a prefix (both is there)",
        {"inference.model": {"name": "tanuki-8b"}},
    ),
    Case(
        "model-named-once",
        {"inference.model": {}},
        "inference.model",
        "takes a name or a prefix (neither is there)",
        {"inference.model": {"prefix": "tanuki-8b/v1"}},
    ),
]

OTHER_CERTIFICATE = CERTIFICATE.replace("us-west-2", "us-east-1")
OTHER_SECRET = SECRET.replace("us-west-2", "us-east-1")

ENDPOINT_CASES = [
    Case(
        "public-endpoint-encrypted",
        {f"{ENDPOINT}.exposure": "public", f"{ENDPOINT}.authentication": API_KEY},
        "inference.endpoint.exposure",
        "a public endpoint needs TLS",
        {**SAFE_PUBLIC, f"{ENDPOINT}.authentication": API_KEY},
    ),
    Case(
        "public-endpoint-authenticated",
        SAFE_PUBLIC,
        "inference.endpoint.exposure",
        "a public endpoint needs authentication",
        {**SAFE_PUBLIC, f"{ENDPOINT}.authentication": JWT},
    ),
    Case(
        "jwt-over-https",
        {f"{ENDPOINT}.authentication": JWT},
        "inference.endpoint.authentication.type",
        "the load balancer checks tokens on HTTPS only",
        {f"{ENDPOINT}.authentication": API_KEY},
    ),
    Case(
        "certificate-in-region",
        {f"{ENDPOINT}.certificate_arn": OTHER_CERTIFICATE},
        "inference.endpoint.certificate_arn",
        "the ARN is of us-east-1, the environment in 'us-west-2'",
        {f"{ENDPOINT}.certificate_arn": CERTIFICATE},
    ),
    Case(
        "secret-in-region",
        {f"{ENDPOINT}.authentication": {**API_KEY, "secret_arn": OTHER_SECRET}},
        "inference.endpoint.authentication.secret_arn",
        "the ARN is of us-east-1, the environment in 'us-west-2'",
        {f"{ENDPOINT}.authentication": API_KEY},
    ),
    Case(
        "allowed-ranges-valid",
        {f"{ENDPOINT}.allowed_cidrs": ["10.0.0.0/8", "192.168.1.1/24"]},
        "inference.endpoint.allowed_cidrs[1]",
        "names a host inside a range. Write 192.168.1.0/24.",
        {f"{ENDPOINT}.allowed_cidrs": ["10.0.0.0/8", "192.168.1.1/32"]},
    ),
    Case(
        "everyone-only-authenticated",
        {f"{ENDPOINT}.allowed_cidrs": ["0.0.0.0/1", "128.0.0.0/1"]},
        "inference.endpoint.allowed_cidrs",
        "everyone may connect without authentication",
        {f"{ENDPOINT}.allowed_cidrs": ["0.0.0.0/0"], f"{ENDPOINT}.authentication": API_KEY},
    ),
]
