"""BERT's checkpoints of data parallelism have the names of the transformers library."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import BertConfig, BertForPreTraining

from slipway_conversion.nxd_split import ToldSplit
from slipway_conversion.problems import ConversionError
from slipway_conversion.to_transformers import Conversion, to_transformers
from tests.training.conversion.sharder import checkpoint_name
from tests.training.conversion.tiny import loaded

CONFIGURATION = BertConfig(
    vocab_size=384,
    hidden_size=16,
    intermediate_size=24,
    num_hidden_layers=2,
    num_attention_heads=4,
    max_position_embeddings=32,
    architectures=["BertForPreTraining"],
)


def _step(folder: Path, state: dict[str, torch.Tensor]) -> Path:
    (folder / "model").mkdir(parents=True)
    torch.save(state, folder / "model" / checkpoint_name(0, 0))
    (folder / "done").touch()
    return folder


def _convert(step: Path, output: Path) -> None:
    to_transformers(Conversion(step, output, CONFIGURATION, ToldSplit(), tokenizer="byte-level"), lambda _: None)


@pytest.fixture(scope="module")
def bert() -> BertForPreTraining:
    torch.manual_seed(0)
    model: BertForPreTraining = BertForPreTraining(CONFIGURATION).eval()
    return model


@torch.no_grad()
def test_both_heads_give_the_same(bert: BertForPreTraining, tmp_path: Path) -> None:
    _convert(_step(tmp_path / "step", bert.state_dict()), tmp_path / "model")
    names = set(loaded(tmp_path / "model"))
    assert not names & {"cls.predictions.decoder.weight", "cls.predictions.decoder.bias"}
    copy = BertForPreTraining(CONFIGURATION).eval()  # its own memory: kernels differ by how weights are aligned
    copy.load_state_dict(BertForPreTraining.from_pretrained(tmp_path / "model").state_dict())
    tokens = torch.arange(16).reshape(2, 8)
    ours, theirs = copy(input_ids=tokens), bert(input_ids=tokens)
    assert torch.equal(ours.prediction_logits, theirs.prediction_logits)
    assert torch.equal(ours.seq_relationship_logits, theirs.seq_relationship_logits)
    assert not (tmp_path / "model" / "generation_config.json").exists()
    assert (tmp_path / "model" / "tokenizer_config.json").is_file()


def test_a_decoder_that_is_not_the_embedding_is_refused(bert: BertForPreTraining, tmp_path: Path) -> None:
    state = {name: value.clone() for name, value in bert.state_dict().items()}
    state["cls.predictions.decoder.weight"] += 1
    with pytest.raises(ConversionError, match=r"is not equal to bert.embeddings.word_embeddings.weight"):
        _convert(_step(tmp_path / "step", state), tmp_path / "model")


def test_a_missing_head_is_refused(bert: BertForPreTraining, tmp_path: Path) -> None:
    state = {name: value for name, value in bert.state_dict().items() if "seq_relationship" not in name}
    with pytest.raises(ConversionError, match=r"2 tensors of the model are in no file: cls.seq_relationship"):
        _convert(_step(tmp_path / "step", state), tmp_path / "model")
