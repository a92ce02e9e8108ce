"""The exporters: for each Neuron release in an engine's image, the optimum-neuron that compiles for it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ruamel.yaml import YAML

from slipway_jobs.environment import Service
from slipway_jobs.recipe.section import Section

_FILE = Path(__file__).with_name("exporters.yaml")


class Exporter(Section):
    """One optimum-neuron with everything it needs, pinned."""

    release: str
    """Neuron SDK release."""

    version: str
    """Version of optimum-neuron."""

    compiler: str
    """Version of neuronx-cc."""

    python_versions: list[str]
    """Python versions that all its wheels exist for."""

    packages: Mapping[str, str]
    """pip packages and their exact versions. PyPI has placeholders of the Neuron packages' names: never unpinned."""

    python_sources: Mapping[str, str]
    """Package indexes by the pattern of the names that they alone hold; all other names come from PyPI alone."""

    cores_option: str
    """Option of `optimum-cli export neuron` that takes the number of cores."""

    options: list[str]
    """Further options that this version needs."""

    model_types: list[str]
    """`model_type` of the models that it compiles for text generation."""

    target: str | None
    """The chip that `neuron_config.json` names afterwards; none where it names none."""

    source: str
    """Where this was read."""

    @property
    def name(self) -> str:
        """Name of its environment's folder; another pin is another folder."""
        pins = " ".join((*self.requirements, *self.python_sources, *self.python_sources.values()))
        return f"optimum-neuron-{self.version}-{hashlib.sha256(pins.encode()).hexdigest()[:12]}"

    @property
    def requirements(self) -> list[str]:
        """The packages as pip takes them."""
        return [f"{name}=={version}" for name, version in self.packages.items()]


@cache
def exporters() -> Mapping[str, Exporter]:
    """Return the exporters by Neuron release."""
    content = YAML(typ="safe", pure=True).load(_FILE)
    return {
        release: Exporter.model_validate({"release": release, "source": group["source"], **row})
        for group in content["groups"]
        for release, row in group["rows"].items()
    }


def without_exporter(service: Service) -> str | None:
    """Say why no exporter compiles for the engine of a service, or return None if one does."""
    if service.engine_release is None:
        return (
            f"the Neuron release in the image of engine {service.engine} is not known, and an engine loads only what "
            "its own release compiled: take the engine's own image (leave `image` of the model out, or copy it under "
            "its tag), or leave publish.export out"
        )
    if service.engine_release not in exporters():
        return (
            f"engine {service.engine} has Neuron SDK {service.engine_release}, and there is an exporter for "
            f"{' and '.join(exporters())} only: leave publish.export out and compile the model by hand"
        )
    return None
