"""assets/jobs/examples/nxd_llama.sh with NeuronX Distributed's own example, which trains on PyTorch/XLA's CPU device.

What slipway-job would start is started here, with a small model and one worker.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.training.own_environment import make_own_environment
from tests.training.tiny_runs import KIT
from tests.xla.test_training import HERE, NEEDS_NEURONX_DISTRIBUTED, NEURONX_DISTRIBUTED

pytestmark = NEEDS_NEURONX_DISTRIBUTED

EXAMPLE = Path(NEURONX_DISTRIBUTED or "/") / "examples" / "training" / "llama"
SCRIPT = EXAMPLE / "tp_zero1_llama_hf_pretrain"
STEPS = 6
# Later arguments win. What takes 32 NeuronCores takes one worker here, and flash attention is a kernel of theirs.
SMALL = {
    "seq_len": 32,
    "tensor_parallel_size": 1,
    "kv_replicator": 1,
    "grad_accum_usteps": 2,
    "warmup_steps": 2,
    "max_steps": STEPS,
    "checkpoint_freq": 2,
    "use_flash_attention": 0,
}
MODEL = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 2,
    "vocab_size": 128,
}
DATA = """
import sys, datasets
rows = [[(7 * row + column) % 100 for column in range(32)] for row in range(50)]
made = {"input_ids": rows, "labels": rows, "attention_mask": [[1] * 32] * 50}
datasets.Dataset.from_dict(made).save_to_disk(sys.argv[1])
"""
# Its own way to know the workers of a node asks the Neuron runtime.
START = """
import runpy, sys
import neuronx_distributed.parallel_layers.utils as layer_utils
from neuronx_distributed.utils import model_utils
layer_utils.get_local_world_size = model_utils.get_local_world_size = lambda: 1
sys.argv = sys.argv[1:]
sys.path.insert(0, ".")
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment as docs/own-code.md makes it, with what the example requires."""
    environment = make_own_environment(tmp_path_factory.mktemp("fsx"), KIT.parents[1] / ".tools" / "xla")
    wanted = ("--requirement", EXAMPLE / "requirements.txt", "requests")
    subprocess.run([environment / "bin" / "pip", "install", "--quiet", *wanted], check=True)
    return environment / "bin" / "python"


def asked_for(folder: Path, python: Path) -> tuple[dict[str, str], str, list[str]]:
    """Return what nxd_llama.sh asks slipway-job for: variables, the compile job's arguments, the script's."""
    program = folder / "slipway-job"
    program.write_text(f"#!{python}\nimport json, sys; print(json.dumps(sys.argv[1:]))\n", encoding="utf-8")
    program.chmod(0o755)
    said = subprocess.run(
        ["bash", KIT / "examples" / "nxd_llama.sh", str(NEURONX_DISTRIBUTED), python, folder / "data"],
        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    words: list[str] = json.loads(said.stdout)
    end = words.index("--")
    options = list(itertools.pairwise(words[:end]))
    variables = dict(value.split("=", 1) for name, value in options if name == "--env")
    [compile_arguments] = [value for name, value in options if name == "--compile"]
    assert words[end - 1] == "tp_zero1_llama_hf_pretrain.py"
    return variables, compile_arguments, words[end + 1 :]


def test_it_trains_saves_and_goes_on(python: Path, tmp_path: Path) -> None:
    model, checkpoints = tmp_path / "model", tmp_path / "checkpoints"
    model.mkdir()
    shipped = json.loads((SCRIPT / "8B_config_llama3" / "config.json").read_text(encoding="utf-8"))
    (model / "config.json").write_text(json.dumps({**shipped, **MODEL}), encoding="utf-8")
    subprocess.run([python, "-c", DATA, tmp_path / "data"], check=True)
    (tmp_path / "start.py").write_text(START, encoding="utf-8")
    variables, compile_arguments, arguments = asked_for(tmp_path, python)
    places = {"model_path": model, "checkpoint_dir": checkpoints, "output_dir": tmp_path / "out"}
    small = [word for name, value in {**SMALL, **places}.items() for word in (f"--{name}", str(value))]
    small += ["--metrics_file", str(tmp_path / "results.json")]

    def steps(*more: str) -> list[int]:
        paths = (str(HERE / "stubs"), f"{NEURONX_DISTRIBUTED}/src", variables["PYTHONPATH"])
        device = {"PJRT_DEVICE": "CPU", "OMP_NUM_THREADS": "1", "PYTHONPATH": ":".join(paths)}
        torchrun = (python, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "1")
        ended = subprocess.run(
            [*torchrun, tmp_path / "start.py", "tp_zero1_llama_hf_pretrain.py", *arguments, *small, *more],
            env={**os.environ, **variables, **device},
            cwd=SCRIPT,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-4000:]
        return [
            int(step) for step in re.findall(r"^LOG .* - \(\d+, (\d+)\) step_loss : \d", ended.stdout, re.MULTILINE)
        ]

    # The compile job's steps leave no checkpoint with the interval of the example.
    assert steps("--checkpoint_freq", "100", *compile_arguments.split()) == [1, 2]
    assert not checkpoints.exists()
    assert steps("--steps_this_run", "4") == [1, 2, 3, 4]
    assert steps() == [5, 6]
    assert {folder.name for folder in checkpoints.iterdir() if folder.is_dir()} == {"step_4", "step_6"}
