import httpx2
import pytest

from slipway.check.preflight.registries import Image, RegistryError, in_public_registry, parse_image

DIGEST = f"sha256:{'a' * 64}"


@pytest.mark.parametrize(
    ("name", "image"),
    [
        ("ghcr.io/huggingface/tgi:3.3.5-neuron", Image("ghcr.io", "huggingface/tgi", "3.3.5-neuron")),
        (f"ghcr.io/huggingface/tgi@{DIGEST}", Image("ghcr.io", "huggingface/tgi", DIGEST)),
        (f"ghcr.io/huggingface/tgi:3.3.5@{DIGEST}", Image("ghcr.io", "huggingface/tgi", DIGEST)),
        ("registry.local:5000/engine:1", Image("registry.local:5000", "engine", "1")),
        ("ubuntu", Image("registry-1.docker.io", "library/ubuntu", "latest")),
        ("mpioperator/mpi-operator:0.8.2", Image("registry-1.docker.io", "mpioperator/mpi-operator", "0.8.2")),
        ("docker.io/vllm/vllm:1", Image("registry-1.docker.io", "vllm/vllm", "1")),
    ],
)
def test_a_name_is_read_as_docker_reads_it(name: str, image: Image) -> None:
    assert parse_image(name) == image


IMAGE = Image("ghcr.io", "huggingface/tgi", "3.3.5-neuron")
CHALLENGE = {"www-authenticate": 'Bearer realm="https://ghcr.io/token",service="ghcr.io",scope="repository:x:pull"'}


def registry(status: int, *, seen: list[httpx2.Request] | None = None) -> httpx2.MockTransport:
    """A registry that gives everybody a token, and answers with a status to who has it."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        if seen is not None:
            seen.append(request)
        if request.url.path == "/token":
            return httpx2.Response(200, json={"token": "everybody"})
        if request.headers.get("authorization") != "Bearer everybody":
            return httpx2.Response(401, headers=CHALLENGE)
        return httpx2.Response(status)

    return httpx2.MockTransport(answer)


def test_an_image_that_is_there() -> None:
    seen: list[httpx2.Request] = []
    assert in_public_registry(IMAGE, registry(200, seen=seen))
    assert [request.url.path for request in seen] == [
        "/v2/huggingface/tgi/manifests/3.3.5-neuron",
        "/token",
        "/v2/huggingface/tgi/manifests/3.3.5-neuron",
    ]
    assert dict(seen[1].url.params) == {"service": "ghcr.io", "scope": "repository:x:pull"}
    assert "application/vnd.oci.image.index.v1+json" in seen[0].headers["accept"]


def test_an_image_that_is_missing() -> None:
    assert not in_public_registry(IMAGE, registry(404))


@pytest.mark.parametrize("status", [401, 403, 429, 500])
def test_a_registry_that_does_not_tell(status: int) -> None:
    with pytest.raises(RegistryError, match=f"ghcr.io answers {status}"):
        in_public_registry(IMAGE, registry(status))


def unreachable(request: httpx2.Request) -> httpx2.Response:
    raise httpx2.ConnectError("no route", request=request)


@pytest.mark.parametrize(
    "transport",
    [
        httpx2.MockTransport(unreachable),
        httpx2.MockTransport(lambda _: httpx2.Response(401, headers={"www-authenticate": "Basic"})),
    ],
)
def test_a_registry_that_cannot_be_asked(transport: httpx2.MockTransport) -> None:
    with pytest.raises(RegistryError, match=r"ghcr\.io does not answer"):
        in_public_registry(IMAGE, transport)
