"""A recipe's model has the same fields in the transformers library."""

import inspect
import json
from typing import Any

import pytest

from slipway_jobs.recipe.architecture import Bert, Llama
from slipway_training.models.transformers_configuration import transformers_configuration

LLAMA_31 = """{"architecture": "llama", "vocab_size": 128256, "hidden_size": 4096, "intermediate_size": 14336,
"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 131072,
"rope_theta": 500000.0, "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
"high_freq_factor": 4.0, "original_max_position_embeddings": 8192}, "bos_token_id": 128000, "eos_token_id": 128001}"""


def test_a_llama_keeps_every_field() -> None:
    llama = Llama.model_validate_json(LLAMA_31)

    configuration = transformers_configuration(llama)

    assert configuration.model_type == "llama"
    assert configuration.architectures == ["LlamaForCausalLM"]
    assert configuration.head_dim == 128
    fields = llama.model_dump(exclude={"architecture", "head_dim", "sliding_window"})
    assert {name: getattr(configuration, name) for name in fields} == fields


@pytest.mark.parametrize(
    ("architecture", "fields", "expected"),
    [
        ("mistral", {}, {"sliding_window": None, "head_dim": 128}),
        ("mistral", {"sliding_window": 8192, "head_dim": 64}, {"sliding_window": 8192, "head_dim": 64}),
        ("qwen2", {}, {"sliding_window": None, "use_sliding_window": False}),
        ("qwen3", {"head_dim": 64}, {"head_dim": 64, "use_sliding_window": False, "attention_bias": False}),
    ],
)
def test_the_family_says_what_the_librarys_defaults_would_decide(
    architecture: str, fields: dict[str, Any], expected: dict[str, Any]
) -> None:
    given = {**json.loads(LLAMA_31), "rope_scaling": None, "architecture": architecture, **fields}
    llama = Llama.model_validate(given)

    configuration = transformers_configuration(llama)

    assert configuration.model_type == architecture
    assert {name: getattr(configuration, name) for name in expected} == expected
    known = {*inspect.signature(type(configuration)).parameters, "bos_token_id", "eos_token_id", "tie_word_embeddings"}
    assert configuration.to_diff_dict().keys() - known == {"architectures", "model_type", "transformers_version"}


def test_a_bert_keeps_every_field() -> None:
    bert = Bert(
        architecture="bert",
        vocab_size=384,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
        hidden_dropout_prob=0.25,
    )

    configuration = transformers_configuration(bert)

    assert configuration.architectures == ["BertForPreTraining"]
    assert {name: getattr(configuration, name) for name in Bert.model_fields if name != "architecture"} == (
        bert.model_dump(exclude={"architecture"})
    )
