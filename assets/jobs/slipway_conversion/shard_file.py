"""One worker's file of a NeuronX Distributed checkpoint, read without executing anything that is in it.

Two forms: a state dict with its tensors, or (saved with xser) one of references to `FILE.tensors/tensor_N.pt`, with
types and shapes in `FILE.info.pt` (sources: trainer/checkpoint.py and torch_xla.utils.serialization).
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, cast
from unittest.mock import patch

import torch

from slipway_conversion.problems import ConversionError

_REFERENCE_MODULE = "torch_xla.utils.serialization"
DERIVED = "rotary_emb.inv_freq"
"""End of the name of a buffer that follows from the configuration; older models saved it. It is not converted."""


class TensorReference:
    """Stands for torch_xla's class of this name, so that its files can be read and written without torch_xla."""

    def __init__(self, tid: int) -> None:
        """Make a reference to `tensor_TID.pt`."""
        self.tid = tid


def load(file: Path) -> Any:
    """Read a file of torch.save; tensors stay in the file until they are used.

    Only tensors, plain containers and `TensorReference` are accepted: nothing else in a pickle is ever called.

    Raises:
        ConversionError: the file is missing, cut off, or holds something else.
    """
    if not file.is_file():
        raise ConversionError(f"{file} is missing: copy the checkpoint again, or use another one")
    allowed: list[Callable[..., Any] | tuple[Callable[..., Any], str]] = [
        (TensorReference, f"{_REFERENCE_MODULE}.TensorReference")
    ]
    try:
        with torch.serialization.safe_globals(allowed):
            return torch.load(file, map_location="cpu", weights_only=True, mmap=True)
    except Exception as error:  # whatever a broken or hostile file makes the reader raise
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        if "Weights only load failed" in reason:
            reason = "it holds something other than tensors, which is not loaded because that could run code"
        raise ConversionError(
            f"{file} cannot be read: {reason}. Copy it again if it is cut off; otherwise use another checkpoint"
        ) from error


class ShardFile:
    """What one worker saved: names, and their tensors on demand."""

    def __init__(self, file: Path) -> None:
        """Read the names.

        Raises:
            ConversionError: the file cannot be read, or is no state dict.
        """
        self.file = file
        state = load(file)
        if isinstance(state, dict) and isinstance(state.get("model"), dict):
            state = state["model"]
        if not isinstance(state, dict):
            raise ConversionError(f"{file} holds a {type(state).__name__}, not a model's state dict")
        self._values: dict[str, Any] = {str(name): value for name, value in state.items()}
        self._information: dict[int, dict[str, Any]] = {}
        information = file.with_name(f"{file.name}.info.pt")
        if information.is_file():
            self._information = load(information)

    @property
    def names(self) -> set[str]:
        """Names of the tensors, without buffers that follow from the configuration."""
        return {name for name in self._values if not name.endswith(DERIVED)}

    def tensor(self, name: str) -> torch.Tensor:
        """Return a tensor; its values are read from the file when they are used.

        Raises:
            ConversionError: it is none, or its own file cannot be read.
        """
        value, file = self._values[name], self.file
        if isinstance(value, TensorReference):
            file = self._tensor_file(name, value)
            value = load(file)
            self._check_information(name, cast("TensorReference", self._values[name]).tid, value, file)
        if not isinstance(value, torch.Tensor) or value.layout != torch.strided or value.device.type != "cpu":
            raise ConversionError(f"{file}: {name} is no dense tensor but {type(value).__name__}")
        if not value.is_floating_point():
            raise ConversionError(f"{file}: {name} has type {value.dtype}; weights are floating-point numbers")
        return value.detach()

    def _tensor_file(self, name: str, reference: TensorReference) -> Path:
        number = getattr(reference, "tid", None)
        if type(number) is not int or number < 0:
            raise ConversionError(
                f"{self.file}: {name} refers to tensor {number!r}; it must be a number. Do not use it"
            )
        file = self.file.with_name(f"{self.file.name}.tensors") / f"tensor_{number}.pt"
        if not file.is_file():
            raise ConversionError(
                f"{file} of {name} is missing: copy the checkpoint again. (With avoid_saving_lower_precision_weights "
                "NeuronX Distributed leaves the model's tensors out: save without it)"
            )
        return file

    def _check_information(self, name: str, number: int, value: Any, file: Path) -> None:
        told = self._information.get(number) if isinstance(self._information, dict) else None
        if isinstance(told, dict) and isinstance(value, torch.Tensor) and told.get("shape") is not None:
            shape, kind = tuple(told["shape"]), told.get("dtype")
            if shape != tuple(value.shape) or kind not in (None, value.dtype):
                raise ConversionError(
                    f"{file} of {name} is {tuple(value.shape)} {value.dtype}, but {self.file.name}.info.pt says "
                    f"{shape} {kind}: the files are of different checkpoints. Copy the checkpoint again"
                )


@contextlib.contextmanager
def named_as_in_torch_xla() -> Iterator[None]:
    """Let `TensorReference` be saved under the name of torch_xla's class, without importing torch_xla."""
    modules = {name: ModuleType(name) for name in ("torch_xla", "torch_xla.utils", _REFERENCE_MODULE)}
    modules[_REFERENCE_MODULE].__dict__["TensorReference"] = TensorReference
    with (
        patch.dict(sys.modules, modules),
        patch.object(TensorReference, "__module__", _REFERENCE_MODULE),
    ):
        yield
