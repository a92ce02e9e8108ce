"""Rules about the HTTP proxy: a change that breaks each, and a near one that is allowed."""

from tests.config.rule_cases import ON_KUBERNETES, Case, Changes


def proxy(url: str = "http://proxy.example.internal:3128", *bypass: str) -> Changes:
    """Return the section with this address and what bypasses it."""
    return {"network.proxy": {"url": url, "bypass": list(bypass)}}


PROXY = [
    Case(
        "proxy-without-credentials",
        proxy("http://user@10.80.0.10:3128"),
        "network.proxy.url",
        "templates, user data and nodes would show them. Write http://HOST:PORT",
        proxy("http://10.80.0.10:3128"),
    ),
    Case("proxy-address-valid", proxy("http://10.80.0.10:65536"), "network.proxy.url", "65536 is not a port", proxy()),
    Case(
        "proxy-address-valid",
        proxy("http://10.80.0.256:3128"),
        "network.proxy.url",
        "10.80.0.256 is not an IPv4 address. Write four numbers",
        proxy("http://10.80.0.255:65535"),
    ),
    Case(
        "proxy-bypass-valid",
        proxy("http://10.80.0.10:3128", "registry", "10.80.1.0/16"),
        "network.proxy.bypass[1]",
        "10.80.1.0/16 names a host inside a range. Write 10.80.0.0/16.",
        proxy("http://10.80.0.10:3128", "registry", "10.80.0.0/16"),
    ),
    Case(
        "proxy-bypass-valid",
        proxy("http://10.80.0.10:3128", "10.80.0.300"),
        "network.proxy.bypass[0]",
        "10.80.0.300 is not an IPv4 address",
        proxy("http://10.80.0.10:3128", "10.80.0.30", ".example.internal", "host.example.internal"),
    ),
    Case(
        "proxy-without-kubernetes",
        {**ON_KUBERNETES, **proxy()},
        "network.proxy",
        "nodes and pods of Kubernetes do not use it",
        proxy(),
    ),
]
