"""Hypothesis strategies for the `inference` section: several models behind one endpoint."""

from hypothesis import strategies as st

from slipway import facts
from slipway.facts import InstanceType
from tests.config.strategies_training import Values, offered, with_some

# The private subnets of these environments have 251 addresses at least.
_MOST_MODELS = 3
_MOST_TASKS = 6
_NAMES = ("tanuki-8b", "tanuki.70b", "llama", "qwen-2.5-32b")
_CRONS = {
    "night": ["0 20 ? * MON-FRI *", "0/30 18,23 * * ? *"],
    "day": ["0 8 ? JAN-MAR 2#1 *", "15 7 * * ? 2026-2030"],
    "week-end": ["0 0 ? * 7L *", "59 23 LW 1/3 ? *"],
}


@st.composite
def inferences(draw: st.DrawFn, region: str, zones: list[str]) -> Values | None:
    """Draw the `inference` section; none where the zones offer no host for any engine."""
    hosts = [
        (engine, row)
        for engine, contract in facts.inference_engines().items()
        for row in {row.name: row for zone in zones for row in offered(zone, region)}.values()
        if row.family in contract.instance_families
    ]
    if not hosts:
        return None
    names = draw(st.lists(st.sampled_from(_NAMES), min_size=1, max_size=_MOST_MODELS, unique=True))
    routeless = draw(st.sampled_from([None, *names]))
    models = [draw(_models(name, hosts, has_route=name != routeless)) for name in names]
    return draw(with_some({"endpoint": draw(_endpoints(region))}, {"models": models}))


def endpoint_addresses(inference: Values | None) -> int:
    """Return how many addresses the load balancer, hosts and tasks take at most."""
    hosts = 0
    for model in (inference or {"models": []})["models"]:
        scaling = model.get("scaling", {})
        counts = [scaling.get("max_count", scaling.get("min_count", 1))]
        counts += [schedule["max_count"] for schedule in scaling.get("schedules", ())]
        # One during a deployment, one for a canary.
        hosts += scaling.get("max_hosts", max(counts) + 1) + 1
    return 8 + 2 * hosts


@st.composite
def _models(draw: st.DrawFn, name: str, hosts: list[tuple[str, InstanceType]], *, has_route: bool) -> Values:
    engine, host = draw(st.sampled_from(hosts))
    contract = facts.inference_engine(engine)
    deployment = draw(st.sampled_from(["surge", "in_place"]))
    model: Values = {"name": name, "engine": engine, "instance_type": host.name, "deployment": deployment}
    compiled = {
        "batch_size": draw(st.integers(2, 64)),
        "sequence_length": draw(st.sampled_from([512, 4096, 131072])),
        "tensor_parallel_size": draw(st.integers(1, host.logical_neuron_cores)),
    }
    if contract.needs_compiled or draw(st.booleans()):
        model |= {"compiled": compiled, "limits": draw(_limits(engine, compiled))}
    if has_route:
        folder = {"path": f"/{name.replace('.', '-')}"}
        model["route"] = draw(
            st.sampled_from([folder, {"host": f"{name}.llm.example.com"}, {"host": f"{name}.xn--p1ai"}])
        )
    model |= draw(st.sampled_from([{}, {"canary": True}, {"canary": False}, {"prefix": f"imported/{name}"}]))
    registries = [
        "111122223333.dkr.ecr.us-west-2.amazonaws.com",
        "public.ecr.aws/example",
        "Mirror.Example.com:5000/a__b",
    ]
    image = draw(st.sampled_from(registries))
    in_ecr = ".ecr." in image.partition("/")[0] and "dkr" in image
    optional = {
        "image": f"{image}/engine:1.2.3",
        "source": draw(_sources()),
        "weights_gib": draw(st.sampled_from([0.5, 7, host.memory_gib])),
        "scaling": draw(_scalings(spare=int(deployment == "surge"))),
    }
    model = draw(with_some(optional, model))
    mirrors = st.just(False) if "image" in model and in_ecr else st.booleans()
    return draw(with_some({"mirror_image": draw(mirrors)}, model))


@st.composite
def _limits(draw: st.DrawFn, engine: str, compiled: Values) -> Values:
    """Draw limits that the engine's own start-up checks let pass."""
    limits: Values = {}
    for name, limit in facts.inference_engine(engine).limits.items():
        most = compiled[limit.compiled]
        # A prompt takes half at most, so that a smaller total still leaves room for an answer.
        least, most = {
            "equal to": (most, most),
            "at most": ((most + 1) // 2 + 1, most),
            "below": (1, most // 2),
        }[limit.comparison]
        limits[name] = draw(st.integers(least, most))
    return draw(with_some(limits, {})) if limits else {}


def _sources() -> st.SearchStrategy[Values]:
    sync = {"type": "sync", "volume_gib": 200}
    return st.sampled_from(
        [{"type": "mountpoint"}, {"type": "lustre"}, sync, {**sync, "volume_gib": 20, "throughput_mib_s": 125}]
    )


@st.composite
def _scalings(draw: st.DrawFn, *, spare: int) -> Values:
    least = draw(st.integers(0, _MOST_TASKS))
    most = draw(st.integers(least, _MOST_TASKS))
    schedules = [draw(_schedules(name)) for name in draw(st.lists(st.sampled_from(sorted(_CRONS)), unique=True))]
    limit = max([most, *(schedule["max_count"] for schedule in schedules)])
    scaling: Values = {"min_count": least, "max_count": most, "schedules": schedules}
    following = {
        "metric": draw(st.sampled_from(["queue_size", "requests_per_target"])),
        "target": draw(st.sampled_from([0.5, 1.5, 20, 1000.25])),
        "scale_out_cooldown_seconds": draw(st.integers(0, 3600)),
        "scale_in_cooldown_seconds": draw(st.integers(0, 7200)),
    }
    if most > least or any(schedule["max_count"] > schedule["min_count"] for schedule in schedules):
        scaling = draw(with_some(following, scaling))
    hosts = max(limit + spare, 1)
    optional = {"warm_pool_count": draw(st.integers(0, hosts)), "max_hosts": draw(st.integers(hosts, hosts + 2))}
    return draw(with_some(optional, scaling))


@st.composite
def _schedules(draw: st.DrawFn, name: str) -> Values:
    least = draw(st.integers(0, _MOST_TASKS))
    required = {
        "name": name,
        "cron": draw(st.sampled_from(_CRONS[name])),
        "min_count": least,
        "max_count": draw(st.integers(least, _MOST_TASKS)),
    }
    zones = ["UTC", "Asia/Tokyo", "America/Argentina/Buenos_Aires", "Etc/GMT+9"]
    return draw(with_some({"time_zone": draw(st.sampled_from(zones))}, required))


@st.composite
def _endpoints(draw: st.DrawFn, region: str) -> Values:
    certificate = f"arn:aws:acm:{region}:111122223333:certificate/12345678-1234-1234-1234-123456789012"
    exposure = draw(st.sampled_from(["internal", "public"]))
    values: Values = {"exposure": exposure, "idle_timeout_seconds": draw(st.integers(120, 4000))}
    authentication = draw(_authentications(region) if exposure == "public" else st.none() | _authentications(region))
    if authentication:
        values["authentication"] = authentication
    tokens = authentication is not None and authentication["type"] in {"jwt", "cognito"}
    if exposure == "public" or tokens or draw(st.booleans()):
        values["certificate_arn"] = certificate
    ranges = ["10.0.0.0/8", "192.168.1.0/24", "203.0.113.7/32", *(["0.0.0.0/0"] if authentication else [])]
    allowed = draw(st.lists(st.sampled_from(ranges), unique=True))
    firewall = draw(with_some({"requests_per_five_minutes": draw(st.integers(10, 2_000_000))}, {}))
    if exposure == "public":
        values |= draw(st.sampled_from([{"firewall": firewall}, {"no_firewall_because": "a demo"}]))
    optional = {
        "allowed_cidrs": [*allowed, "198.51.100.0/24"] if exposure == "public" else allowed,
        "dns_record": {"name": "llm.example.com", "zone_name": "example.com", "zone_id": "Z0123456789ABCDEFGHIJ"},
        **({"firewall": firewall} if exposure == "internal" else {}),
        "deletion_protection": draw(st.booleans()),
    }
    return draw(with_some(optional, values))


def _authentications(region: str) -> st.SearchStrategy[Values]:
    jwt = {"type": "jwt", "issuer": "https://login.example.com/", "jwks_endpoint": "https://login.example.com/keys"}
    claims = [
        {"name": "aud", "values": ["endpoint", "batch"], "format": "string-array"},
        {"name": "scope", "values": ["llm/ask"], "format": "space-separated-values"},
        {"name": "tenant", "values": ["research"]},
    ]
    arn = f"arn:aws:secretsmanager:{region}:111122223333:secret:endpoint-key-AbCdEf"
    choices: list[Values] = [
        {**jwt, "any_token_because": "the issuer serves nothing else"},
        {**jwt, "required_claims": claims},
        {"type": "cognito"},
        {"type": "cognito", "token_minutes": 5},
        {"type": "api_key"},
        {"type": "api_key", "secret_arn": arn},
    ]
    return st.sampled_from(choices)
