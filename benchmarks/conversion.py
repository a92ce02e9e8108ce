"""Memory and time of converting a checkpoint of about a billion parameters, in processes of their own.

    .tools/training/bin/python -m benchmarks.conversion [--tensor-parallel-size 8] [--folder DIR]

Needs about 13 GB of disk for a while. `anonymous` is memory that the kernel cannot take back (RssAnon): the bound is on
it, because it is what ends a job. `resident` (VmHWM) counts mapped pages of files too, which the kernel drops when
memory is short. The bound: what a process takes that only imports the libraries, two layers and the largest tensor.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).parent.parent
KIT = PROJECT / "assets" / "jobs"
MIB = 1024**2

MODEL = {
    "vocab_size": 32000,
    "hidden_size": 2048,
    "intermediate_size": 5632,
    "num_hidden_layers": 22,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "max_position_embeddings": 2048,
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
}
"""TinyLlama's: 1.1 billion parameters."""

FLOOR = "import torch, transformers; from transformers import LlamaForCausalLM, BertForPreTraining"

MAKE = """
import sys, torch
from pathlib import Path
from transformers import LlamaConfig
from slipway_conversion.model_folder import read_configuration
from slipway_conversion.model_tensors import expected_shapes
from slipway_conversion.safetensors_folder import PlannedTensor, SafetensorsFolder
folder = Path(sys.argv[1])
shapes = expected_shapes(read_configuration(folder / "config.json"))
planned = [PlannedTensor(name, shape, torch.float32) for name, shape in shapes.items()]
torch.manual_seed(0)
with SafetensorsFolder(folder, planned) as writer:
    for tensor in planned:
        writer.write(tensor.name, torch.randn(tensor.shape) * 0.02)
"""


@dataclass(frozen=True)
class Usage:
    """One process from start to end."""

    seconds: float
    """Wall time."""

    anonymous_mib: float
    """Highest RssAnon seen, looked at every 5 ms."""

    resident_mib: float
    """VmHWM: the kernel's own peak of anonymous memory and mapped files."""


def measure(*arguments: str) -> Usage:
    """Run Python and watch the memory of the process.

    Raises:
        SystemExit: the process failed; its message was shown.
    """
    variables = {**os.environ, "PYTHONPATH": str(KIT), "OMP_NUM_THREADS": "1"}
    start = time.perf_counter()
    with subprocess.Popen([sys.executable, *arguments], env=variables, stdout=subprocess.DEVNULL) as process:
        anonymous = resident = 0.0
        while process.poll() is None:
            status = _status(process.pid)
            anonymous = max(anonymous, status.get("RssAnon", 0))
            resident = max(resident, status.get("VmHWM", 0))
            time.sleep(0.005)
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)[:200]} ended with {process.returncode}")
    return Usage(time.perf_counter() - start, anonymous, resident)


def _status(pid: int) -> dict[str, float]:
    """Return the memory lines of /proc/PID/status in MiB."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return {}
    pairs = (line.split(":") for line in lines if line.startswith(("RssAnon", "VmHWM")))
    return {name: int(value.split()[0]) / 1024 for name, value in pairs}


def bound_mib() -> float:
    """Return two layers and the largest tensor, in float32."""
    hidden, intermediate, heads = MODEL["hidden_size"], MODEL["intermediate_size"], MODEL["num_attention_heads"]
    assert isinstance(hidden, int)
    assert isinstance(intermediate, int)
    assert isinstance(heads, int)
    keys = hidden // heads * int(str(MODEL["num_key_value_heads"]))
    layer = 2 * hidden * hidden + 2 * hidden * keys + 3 * hidden * intermediate + 2 * hidden
    return (2 * layer + int(str(MODEL["vocab_size"])) * hidden) * 4 / MIB


def main() -> None:
    """Make a model, take it to checkpoints and back, and print each process's memory against the bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensor-parallel-size", type=int, default=8)
    parser.add_argument("--folder", type=Path, help="where to work; left out, the system's temporary folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        (folder / "model").mkdir()
        (folder / "model" / "config.json").write_text(json.dumps(MODEL), encoding="utf-8")
        measure("-c", MAKE, str(folder / "model"))
        floor = measure("-c", FLOOR)
        bound = bound_mib()
        print(f"two layers and the largest tensor: {bound:.0f} MiB; the model: {_size_mib(folder / 'model'):.0f} MiB")
        _show("libraries only", floor, floor)
        ranks, multiplier = options.tensor_parallel_size, max(1, options.tensor_parallel_size // 4)
        for form in ("plain", "xser"):
            split = ["--tensor-parallel-size", str(ranks), "--kv-size-multiplier", str(multiplier), "--fuse-qkv"]
            split += ["--xser"] if form == "xser" else []
            step, output = folder / "step", folder / "output"
            command = ["-m", "slipway_conversion"]
            paths = ["--model", str(folder / "model"), "--output", str(step)]
            _show(f"from-transformers, {form}", measure(*command, "from-transformers", *paths, *split), floor)
            paths = ["--checkpoint", str(step), "--output", str(output)]
            for precision in ("float32", "bfloat16"):
                used = measure(*command, "to-transformers", *paths, "--precision", precision)
                _show(f"to-transformers, {form}, {precision}", used, floor)
                subprocess.run(["rm", "-r", str(output)], check=True)
            subprocess.run(["rm", "-r", str(step)], check=True)


def _size_mib(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.iterdir()) / MIB


def _show(title: str, used: Usage, floor: Usage) -> None:
    """Print one process's memory and time.

    Raises:
        SystemExit: it took more memory than the bound.
    """
    over, bound = used.anonymous_mib - floor.anonymous_mib, bound_mib()
    print(
        f"{title:38} {used.seconds:6.1f} s  anonymous {used.anonymous_mib:6.0f} MiB ({over:+6.0f}, "
        f"{'within' if over <= bound else 'OVER'} {bound:.0f})  resident {used.resident_mib:6.0f} MiB",
        flush=True,
    )
    if over > bound:
        raise SystemExit(f"{title}: more memory than two layers and the largest tensor")


if __name__ == "__main__":
    main()
