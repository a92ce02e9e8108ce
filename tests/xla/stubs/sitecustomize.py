"""Empty modules for Neuron's compiler and runtime, which NeuronX Distributed imports and which run nowhere else.

Python imports this file at its start when its folder is on PYTHONPATH. A call that would reach a NeuronCore does
nothing here: tests use only what NeuronX Distributed computes with PyTorch/XLA, so no flash attention and no `trace`.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence
from typing import Any
from unittest.mock import MagicMock

EMPTY = ("neuronxcc", "torch_neuronx", "libneuronxla", "nki", "neuronx_distributed.trace")


class _Empty(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        # NeuronX Distributed asks which chip it is on (utils/model_utils.py: get_platform_lnc; v2.28.0).
        value = (lambda: "trn1") if name == "get_platform_target" else MagicMock(name=name)
        setattr(self, name, value)
        return value


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        # torch_xla asks whether there is a PJRT plug-in of Neuron's (torch_xla/__init__.py; 2.9.0): there is none.
        if fullname == "libneuronxla.libneuronpjrt_path" or not fullname.startswith(EMPTY):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = _Empty(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing to run."""


sys.meta_path.insert(0, _Finder())
