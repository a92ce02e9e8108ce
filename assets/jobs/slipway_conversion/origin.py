"""What a converted model was made of: `slipway.json`. Read by the kit too: nothing of PyTorch here."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from slipway_jobs.recipe.section import Section

ORIGIN_FILE = "slipway.json"
"""The file's name."""

Precision = Literal["bfloat16", "float32"]
"""Type of the converted model's weights."""


class Origin(Section):
    """The checkpoint that a model was converted from."""

    run: str | None
    """Name of the run; none for a checkpoint from elsewhere."""

    step: int | None
    """Optimizer steps that were taken; none where it is not known."""

    checkpoint: str
    """The checkpoint's folder."""

    format: Literal["nxd", "dcp"]
    """Format of the checkpoint."""

    precision: str
    """Type of the converted weights."""

    tensor_parallel_size: int | None
    """Workers that shared each layer; none where the format does not tell."""

    pipeline_parallel_size: int | None
    """Stages that the layers were divided into."""

    kv_size_multiplier: int | None
    """How often key and value heads were repeated."""

    attention_order: Literal["trn1", "trn2"] | None
    """Order of the repeated heads."""


def read_origin(model: Path) -> Origin | None:
    """Return what a folder was converted from; none if it is no finished model of ours."""
    try:
        return Origin.model_validate_json((model / ORIGIN_FILE).read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return None
