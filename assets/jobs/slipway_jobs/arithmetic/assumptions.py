"""The tunable table behind the estimates: assumptions.yaml."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator
from ruamel.yaml import YAML
from typing_extensions import Self

from slipway_jobs.recipe.section import Section

_Positive = Annotated[float, Field(gt=0)]


class Range(Section):
    """An estimate: the true value is expected between the two."""

    low: float
    """Lower end."""

    high: float
    """Upper end."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.low > self.high:
            raise ValueError(f"low {self.low} is more than high {self.high}")
        return self

    def __add__(self, other: Range) -> Range:
        return Range(low=self.low + other.low, high=self.high + other.high)

    def __mul__(self, factor: float) -> Range:
        return Range(low=self.low * factor, high=self.high * factor)


class Accelerator(Section):
    """The chips of one instance family."""

    family: str
    """For example `trn1`."""

    teraflops_per_device: _Positive
    """Dense bfloat16 operations of a chip, in 10^12 a second."""

    utilization: Range
    """Share of them that a model's own operations get (MFU)."""

    gigabits_per_efa_interface: _Positive
    """What an EFA interface sends, and receives, in a second, in 10^9 bits."""

    as_of: str
    """When the row was written, YYYY-MM-DD."""

    source: str
    """Where it comes from."""


class Assumptions(Section):
    """The whole table."""

    accelerators: tuple[Accelerator, ...]
    """By instance family."""

    device_reserve_gib: Range
    """Device memory of a worker that is not the model's."""

    process_gib: Range
    """Host memory of a training process."""

    compiler_process_gib: Range
    """Host memory of one neuronx-cc process."""

    compiler_processes: int
    """neuronx-cc processes at once."""

    host_copy_gb_s: Range
    """GB a second that a worker copies from its device to host memory."""

    lustre_share: Range
    """Share of the throughput of /fsx that a checkpoint gets."""

    def accelerator(self, instance_type: str) -> Accelerator | None:
        """Return the row of an instance type, none where there is none."""
        family = instance_type.partition(".")[0]
        return next((row for row in self.accelerators if row.family == family), None)


@cache
def assumptions() -> Assumptions:
    """Read the table that lies beside this file."""
    values = YAML(typ="safe", pure=True).load(Path(__file__).with_suffix(".yaml"))
    return Assumptions.model_validate_json(json.dumps(values))
