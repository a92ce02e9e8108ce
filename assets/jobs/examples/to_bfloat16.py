"""Makes a copy of a model in the transformers format whose weights are bfloat16, which is what endpoints compute in.

The model is a folder or a name on the Hugging Face Hub. Memory holds one of its files at a time.
"""

import json
import os
import shutil
import sys
from pathlib import Path

import torch
from huggingface_hub import snapshot_download
from safetensors.torch import load_file, save_file

if len(sys.argv) != 3:
    sys.exit("usage: to_bfloat16.py MODEL FOLDER")
if os.environ.get("RANK", "0") != "0":
    sys.exit(0)  # one worker is enough
target = Path(sys.argv[2])
if target.exists():
    sys.exit(f"{target} is there already: remove it, or name another folder")
source = Path(sys.argv[1])
if not source.is_dir():
    # No other kind of weights: they can hold code that runs when they are loaded.
    wanted = ["*.safetensors", "*.json", "*.model", "*.txt", "*.jinja"]
    source = Path(snapshot_download(sys.argv[1], allow_patterns=wanted, ignore_patterns="*/*"))
if not any(source.glob("*.safetensors")):
    sys.exit(f"{source} has no *.safetensors")

unfinished = target.with_name(f".{target.name}.unfinished")
shutil.rmtree(unfinished, ignore_errors=True)
unfinished.mkdir(parents=True)
total = 0
for file in sorted(path for path in source.iterdir() if path.is_file()):
    if file.suffix == ".safetensors":
        weights = {
            name: weight.to(torch.bfloat16) if weight.is_floating_point() else weight
            for name, weight in load_file(file).items()
        }
        total += sum(weight.nbytes for weight in weights.values())
        save_file(weights, unfinished / file.name, metadata={"format": "pt"})
        print(f"{file.name} is converted", flush=True)
    elif file.suffix not in (".bin", ".pt", ".pth"):
        shutil.copyfile(file, unfinished / file.name)

configuration = json.loads((unfinished / "config.json").read_text(encoding="utf-8"))
# transformers 5 writes `dtype`.
configuration.update({name: "bfloat16" for name in ("torch_dtype", "dtype") if name in configuration})
(unfinished / "config.json").write_text(json.dumps(configuration, indent=2) + "\n", encoding="utf-8")
index = unfinished / "model.safetensors.index.json"
if index.exists():
    content = json.loads(index.read_text(encoding="utf-8"))
    index.write_text(json.dumps({**content, "metadata": {"total_size": total}}, indent=2) + "\n", encoding="utf-8")
unfinished.rename(target)
