"""The lines of docs/endpoint.md that make a model importable."""

from __future__ import annotations

import re
from pathlib import Path

import torch
from transformers import AutoTokenizer, ByT5Tokenizer, LlamaForCausalLM

from slipway_jobs.publishing.model_folder import read_model_folder
from slipway_training.models.transformers_configuration import transformers_configuration
from tests.training.tiny_runs import LLAMA, make_run

PAGE = Path(__file__).parents[3] / "docs" / "endpoint.md"


def test_a_model_in_float16_becomes_one_that_can_be_imported(tmp_path: Path) -> None:
    model = LlamaForCausalLM(transformers_configuration(make_run(tmp_path / "run", LLAMA).recipe.model))
    model.to(torch.float16).save_pretrained(tmp_path / "given")
    ByT5Tokenizer().save_pretrained(tmp_path / "given")
    assert read_model_folder(tmp_path / "given").model.configuration.precision == "float16"

    [lines] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    made = str(tmp_path / "made")
    exec(lines.replace("OWNER/NAME", str(tmp_path / "given")).replace("/fsx/data/my-model", made), {})

    assert read_model_folder(Path(made)).model.configuration.precision == "bfloat16"
    assert len(AutoTokenizer.from_pretrained(made)) == len(ByT5Tokenizer())
