"""Attention by Neuron's kernel, as NeuronX Distributed calls it: the same results as by plain matrix products."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tests.training.tiny_runs import KIT
from tests.xla.test_training import HERE, NEEDS_NEURONX_DISTRIBUTED, NEURONX_DISTRIBUTED


@NEEDS_NEURONX_DISTRIBUTED
def test_heads_in_the_kernels_layout_attend_as_plain_ones() -> None:
    """Forwards and backwards; and float32 is not computed in bfloat16, which the kernel does unless it is told."""
    paths = [str(HERE / "stubs"), f"{NEURONX_DISTRIBUTED}/src", str(KIT), str(KIT.parents[1])]
    finished = subprocess.run(
        [sys.executable, "-m", "tests.xla.flash_attention"],
        env={**os.environ, "PJRT_DEVICE": "CPU", "PYTHONPATH": ":".join(paths), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    found = json.loads(finished.stdout.splitlines()[-1])

    assert found["torch.float32"]["mixed_precision"] == [False, False]
    assert found["torch.bfloat16"]["mixed_precision"] == [True, True]
    assert max(found["torch.float32"]["differences"]) < 1e-6
    assert max(found["torch.bfloat16"]["differences"]) < 1e-2
