"""The loss that the transformers library gives a converted model on the samples of one training step; prints it.

    loss_of_converted_model.py RUN_JSON MODEL_FOLDER STEP

It runs in the training environment and computes in one process what the workers computed together.
"""

import json
import sys
from pathlib import Path

import torch
import transformers

from slipway_jobs.run import read_run
from slipway_training.data.samples import Samples


def main(run_file: str, folder: str, step: str) -> None:
    """Print the loss and, so that two models can be compared to the last bit, the sum of the logits."""
    torch.set_num_threads(1)
    (name,) = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))["architectures"]
    model = getattr(transformers, name).from_pretrained(folder, attn_implementation="eager").eval()
    losses, logits = [], 0.0
    for batch in Samples(read_run(Path(run_file)), 0, 1).of_step(int(step)):
        with torch.no_grad():
            output = model(**batch)
        losses.append(float(output.loss))
        logits += float(output[1].double().sum())
    print(json.dumps({"loss": sum(losses) / len(losses), "logits": logits}))


if __name__ == "__main__":
    main(*sys.argv[1:])
