"""The losses that the transformers library gives converted models on the samples of a training step; prints them.

    losses_of_converted_models.py RUN_JSON STEP MODEL_FOLDER...

It runs in the training environment and computes in one process what the workers computed together.
"""

import json
import sys
from pathlib import Path

import torch
import transformers

from slipway_jobs.run import read_training_run
from slipway_training.data.samples import Samples


def main(run_file: str, step: str, *folders: str) -> None:
    """Print for each model the loss and, to compare two to the last bit, the sum of the logits."""
    torch.set_num_threads(1)
    batches = Samples(read_training_run(Path(run_file)), 0, 1).of_step(int(step))
    found = []
    for folder in folders:
        (name,) = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))["architectures"]
        model = getattr(transformers, name).from_pretrained(folder, attn_implementation="eager").eval()
        with torch.no_grad():
            outputs = [model(**batch) for batch in batches]
        loss = sum(float(output.loss) for output in outputs) / len(outputs)
        found.append({"loss": loss, "logits": sum(float(output[1].double().sum()) for output in outputs)})
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
