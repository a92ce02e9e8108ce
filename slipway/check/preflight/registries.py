"""Whether a container image can be pulled, asked of Amazon ECR or of a public registry."""

import re
from dataclasses import dataclass

import httpx2
from botocore.exceptions import ClientError

from slipway.aws.account import Account

_ECR = re.compile(r"(?P<account>[0-9]{12})\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(\.cn)?")
_MISSING = frozenset({"RepositoryNotFoundException", "ImageNotFoundException"})
_NOT_FOUND = "ImageNotFound"
"""Of the reasons why Amazon ECR answers without an image, the one that says that there is none (`ImageFailureCode`)."""

_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')
_TIMEOUT_SECONDS = 10
_MEDIA_TYPES = ", ".join(
    [
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    ]
)


class RegistryError(Exception):
    """A registry does not say whether it has an image; the message says what it answered."""


@dataclass(frozen=True)
class Image:
    """A container image's name in its parts.

    Attributes:
        registry: host name, for example `ghcr.io`.
        repository: for example `huggingface/text-generation-inference`.
        reference: a tag, or a digest `sha256:...`.
    """

    registry: str
    repository: str
    reference: str

    @property
    def in_ecr(self) -> bool:
        """Whether it is in a private registry of Amazon ECR."""
        return _ECR.fullmatch(self.registry) is not None


def parse_image(name: str) -> Image:
    """Take an image's name to its parts, as Docker reads it (distribution/reference): Docker Hub is the default."""
    rest, at, digest = name.partition("@")
    first, slash, others = rest.partition("/")
    has_host = bool(slash) and ("." in first or ":" in first)
    registry, path = (first, others) if has_host else ("docker.io", rest)
    repository, _, tag = path.partition(":")
    if registry == "docker.io":
        registry = "registry-1.docker.io"
        repository = repository if "/" in repository else f"library/{repository}"
    return Image(registry, repository, digest if at else tag or "latest")


def in_ecr(image: Image, account: Account) -> bool:
    """Ask Amazon ECR whether it has an image.

    Raises:
        ClientError: it refuses to answer; repositories of other accounts do unless their policy allows it.
        RegistryError: it has the image's name, but not its content now, for example of another registry's image.
    """
    where = _ECR.fullmatch(image.registry)
    assert where
    key = "imageDigest" if image.reference.startswith("sha256:") else "imageTag"
    try:
        found = account.client("ecr", where["region"]).batch_get_image(
            registryId=where["account"], repositoryName=image.repository, imageIds=[{key: image.reference}]
        )
    except ClientError as error:
        if error.response["Error"]["Code"] in _MISSING:
            return False
        raise
    others = {failure.get("failureCode", "") for failure in found.get("failures", [])} - {_NOT_FOUND}
    if others:
        raise RegistryError(f"{image.registry} answers {', '.join(sorted(others))}")
    return bool(found.get("images"))


def in_public_registry(image: Image, transport: httpx2.BaseTransport | None = None) -> bool:
    """Ask a registry without a log-in whether it has an image (OCI Distribution Specification 1.1, "Pull").

    Args:
        image: its name.
        transport: how requests go out; the network when none.

    Raises:
        RegistryError: it does not say.
    """
    address = f"https://{image.registry}/v2/{image.repository}/manifests/{image.reference}"
    headers = {"Accept": _MEDIA_TYPES}
    try:
        with httpx2.Client(transport=transport, timeout=_TIMEOUT_SECONDS, follow_redirects=True) as client:
            answer = client.head(address, headers=headers)
            if answer.status_code == httpx2.codes.UNAUTHORIZED:
                token = _token(client, answer.headers.get("www-authenticate", ""))
                answer = client.head(address, headers={**headers, "Authorization": f"Bearer {token}"})
    except (httpx2.HTTPError, ValueError, KeyError) as error:
        raise RegistryError(f"{image.registry} does not answer: {error}") from error
    if answer.status_code == httpx2.codes.NOT_FOUND:
        return False
    if answer.is_success:
        return True
    raise RegistryError(f"{image.registry} answers {answer.status_code} without a log-in")


def _token(client: httpx2.Client, challenge: str) -> str:
    """Fetch the token that a registry gives everybody for its public images."""
    wanted = dict(_CHALLENGE.findall(challenge))
    parameters = {key: value for key, value in wanted.items() if key in {"service", "scope"}}
    given = client.get(wanted["realm"], params=parameters).raise_for_status().json()
    token: str = given.get("token") or given["access_token"]
    return token
