"""The settings of an inference engine: the values that fill the templates of its row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from string import Formatter
from typing import Annotated

from pydantic import AfterValidator


@dataclass(frozen=True, kw_only=True)
class CompiledShape:
    """What a model was compiled for; nothing changes it afterwards.

    Attributes:
        batch_size: Requests that one server answers at a time.
        sequence_length: Tokens of prompt and answer together.
        tensor_parallel_size: NeuronCores that the model is split over.
    """

    batch_size: int
    sequence_length: int
    tensor_parallel_size: int


@dataclass(frozen=True, kw_only=True)
class EngineSettings:
    """What the templates of an engine's row are filled with.

    Attributes:
        model_directory: Absolute path of the model in the container, the same for every version.
        model_name: The name that clients know the model by.
        keep_alive_seconds: How long the server keeps a connection without a request open: longer than the load
            balancer does, or that one sends a request into a closed connection now and then.
        compiled: What the model was compiled for, where it is known.
        limits: Less than that, by name.
    """

    model_directory: str
    model_name: str
    keep_alive_seconds: int
    compiled: CompiledShape | None = None
    limits: Mapping[str, int] = field(default_factory=dict)

    def values(self, port: int) -> dict[str, str | int]:
        """Return the value of every field that has one, by its name in templates."""
        return {
            "model_directory": self.model_directory,
            "model_name": self.model_name,
            "keep_alive_seconds": self.keep_alive_seconds,
            "port": port,
            **({} if self.compiled is None else asdict(self.compiled)),
            **self.limits,
        }


_TEMPLATE_FIELDS = frozenset(
    EngineSettings(
        model_directory="",
        model_name="",
        keep_alive_seconds=0,
        compiled=CompiledShape(batch_size=0, sequence_length=0, tensor_parallel_size=0),
        limits=dict.fromkeys(("max_batch_size", "max_input_tokens", "max_total_tokens"), 0),
    ).values(0)
)


def template_fields(template: str) -> set[str]:
    """Return the names of a template's fields; two braces stand for one that is not a field."""
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}


def _with_known_fields(template: str) -> str:
    if unknown := template_fields(template) - _TEMPLATE_FIELDS:
        raise ValueError(f"{template!r} has unknown fields {sorted(unknown)}; known are {sorted(_TEMPLATE_FIELDS)}")
    return template


Template = Annotated[str, AfterValidator(_with_known_fields)]
