"""The parts of a bill of materials, and those that lock files list."""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_LOCKED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[a-z,-]+\])?==([^\s;\\]+)(.*(?:\n .*)*)", re.MULTILINE)
_SHA256 = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True)
class Part:
    """One piece of software in one version."""

    kind: str
    """Its type as a package URL has it (https://github.com/package-url/purl-spec): `pypi`, `npm`, `oci`, `generic`."""

    name: str
    version: str
    where: str
    """What has or installs it, for people: `slipway` for the tool itself."""

    hashes: tuple[str, ...] = ()
    """SHA-256 of each of its files in hexadecimal; SHA-512 of an npm package."""

    qualifiers: tuple[tuple[str, str], ...] = ()
    """Further parts of the package URL, for example the repository of an image."""


def python_parts(lock: Path, where: str) -> Iterator[Part]:
    """Yield what pip installs from a lock with hashes."""
    for name, version, rest in _LOCKED.findall(lock.read_text("utf-8")):
        yield Part("pypi", re.sub(r"[-_.]+", "-", name).lower(), version, where, tuple(_SHA256.findall(rest)))


def npm_parts(lock: Path, where: str) -> Iterator[Part]:
    """Yield what `npm ci` installs from a `package-lock.json`."""
    for path, entry in json.loads(lock.read_text("utf-8"))["packages"].items():
        if path:
            name = path.rpartition("node_modules/")[2]
            algorithm, _, value = entry["integrity"].partition("-")
            hashes = (base64.b64decode(value).hex(),) if algorithm == "sha512" else ()
            yield Part("npm", name, entry["version"], where, hashes)


def image_part(image: str, where: str) -> Part:
    """Return a container image by its reference, `REPOSITORY:TAG` or `REPOSITORY@DIGEST`, also with both."""
    reference, _, digest = image.partition("@")
    repository, _, tag = reference.rpartition(":") if ":" in reference.rpartition("/")[2] else (reference, "", "")
    qualifiers = {"repository_url": repository, "tag": tag}
    name = repository.rpartition("/")[2]
    return Part("oci", name, digest or tag, where, qualifiers=tuple((k, v) for k, v in qualifiers.items() if v))


def generic_parts(versions: Mapping[str, str], where: str) -> Iterator[Part]:
    """Yield software by name and version that no package registry of a known type has."""
    for name, version in versions.items():
        yield Part("generic", name, version, where)
