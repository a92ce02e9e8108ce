"""Memory of converting a fully sharded checkpoint, in the hardest form: each tensor in one piece.

    .tools/training/bin/python -m benchmarks.dcp_checkpoint [--layers 22] [--folder DIR]

The model has the layers' sizes of benchmarks.conversion; with all 22 layers it has 1.1 billion parameters, and 13 GB of
disk and 5 GB of memory are needed to make it. More workers make smaller pieces, so that converting needs less.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from benchmarks.conversion import FLOOR, MODEL, bound_mib, measure

MAKE = """
import sys, torch
from pathlib import Path
from torch.distributed.checkpoint.state_dict_saver import save
from slipway_conversion.model_tensors import model_shapes
from slipway_jobs.recipe.architecture import Llama
from slipway_training.checkpoints.layout import CHECKPOINT_FILE, DONE, CheckpointFile
from slipway_training.models.transformers_configuration import transformers_configuration
folder, model = Path(sys.argv[1]), Llama.model_validate_json(sys.argv[2])
folder.mkdir()
shapes = model_shapes(transformers_configuration(model)).shapes
torch.manual_seed(0)
tensors = {name: torch.empty(shape).uniform_(-0.02, 0.02) for name, shape in shapes.items()}
save({"model": tensors}, checkpoint_id=folder / "state", no_dist=True)
description = CheckpointFile(format="dcp", step=1, run="benchmark", model=model)
(folder / CHECKPOINT_FILE).write_text(description.model_dump_json())
(folder / DONE).touch()
"""


def main() -> None:
    """Make a checkpoint, convert it in both precisions, and print the memory against the bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=MODEL["num_hidden_layers"])
    parser.add_argument("--folder", type=Path, help="where to work; left out, the system's temporary folder")
    options = parser.parse_args()
    model = {key: value for key, value in MODEL.items() if key not in ("model_type", "architectures")}
    model |= {"architecture": "llama", "num_hidden_layers": options.layers}
    floor = measure("-c", FLOOR)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        checkpoint = Path(name) / "step_00000001"
        measure("-W", "ignore", "-c", MAKE, str(checkpoint), json.dumps(model))
        for precision in ("float32", "bfloat16"):
            output = Path(name) / precision
            paths = ["--checkpoint", str(checkpoint), "--output", str(output), "--precision", precision]
            used = measure("-m", "slipway_conversion", "to-transformers", *paths)
            over, bound = used.anonymous_mib - floor.anonymous_mib, bound_mib()
            judgement = "within" if over <= bound else "OVER"
            print(
                f"dcp to-transformers, {precision}: {used.seconds:.1f} s, anonymous {over:+.0f} MiB above the libraries"
            )
            print(f"  {judgement} two layers and the largest tensor, {bound:.0f} MiB", flush=True)


if __name__ == "__main__":
    main()
