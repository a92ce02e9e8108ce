"""A recipe's model has the same fields in the transformers library."""

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
    assert {name: getattr(configuration, name) for name in Llama.model_fields if name != "architecture"} == (
        llama.model_dump(exclude={"architecture"})
    )


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
