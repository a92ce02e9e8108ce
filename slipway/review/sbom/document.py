"""The bill of materials as a CycloneDX document."""

from collections.abc import Iterable
from uuid import UUID, uuid5

from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from slipway.review.sbom.parts import Part

_SHA256_DIGITS = 64
_NAMESPACE = UUID("6f7f0f7a-52a0-4d39-9b52-1d0c3f6f8c11")
_TYPES = {"oci": ComponentType.CONTAINER}


def document(environment: str, parts: Iterable[Part]) -> str:
    """Return the document. The same parts give the same one, but for the time in it.

    Args:
        environment: name of the environment.
        parts: what it has; a part that several places have is one component with several properties `slipway:where`.
    """
    places: dict[Part, list[str]] = {}
    for part in parts:
        key = Part(part.kind, part.name, part.version, "", part.hashes, part.qualifiers)
        places.setdefault(key, []).append(part.where)
    bom = Bom(components=[_component(part, where) for part, where in places.items()])
    bom.serial_number = uuid5(_NAMESPACE, repr(sorted(map(repr, places))))
    bom.metadata.component = Component(name=f"slipway environment {environment}", type=ComponentType.PLATFORM)
    return str(JsonV1Dot6(bom).output_as_string(indent=2))


def _component(part: Part, where: Iterable[str]) -> Component:
    namespace, _, name = part.name.rpartition("/")
    purl = PackageURL(part.kind, namespace or None, name, part.version, dict(part.qualifiers))
    return Component(
        name=part.name,
        version=part.version,
        type=_TYPES.get(part.kind, ComponentType.LIBRARY),
        # A part in two variants, with other hashes, is two components.
        bom_ref=str(uuid5(_NAMESPACE, repr(part))),
        purl=purl,
        hashes=[_hash(value) for value in part.hashes],
        properties=[Property(name="slipway:where", value=place) for place in sorted(set(where))],
    )


def _hash(value: str) -> HashType:
    algorithm = HashAlgorithm.SHA_256 if len(value) == _SHA256_DIGITS else HashAlgorithm.SHA_512
    return HashType(alg=algorithm, content=value)
