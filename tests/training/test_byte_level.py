"""The byte-level tokenizer, read by the real transformers and tokenizers libraries; ByT5's own code judges the ids."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from transformers import AutoTokenizer, BertConfig, ByT5Tokenizer, LlamaConfig

from slipway_conversion.model_folder import write_tokenizer
from slipway_training.data.byte_level import byte_level_tokenizer

# ByT5 cannot write "</s>" and the like as bytes either, and also takes the spaces beside it away.
TEXT = st.text().filter(lambda text: "<" not in text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("llama")
    write_tokenizer(folder, "byte-level", LlamaConfig(max_position_embeddings=2048))
    return folder


@pytest.fixture(scope="module")
def published(folder: Path) -> Any:
    """What an engine loads."""
    return AutoTokenizer.from_pretrained(folder)


@given(text=TEXT)
@example(text=bytes(range(128)).decode())
@example(text="".join(map(chr, range(0x80, 0x900))))
@example(text="  two spaces\r\n\ttab 日本語 🦊 e\u0301 ")
def test_ids_are_those_of_byt5_and_of_the_training(folder: Path, published: Any, text: str) -> None:
    expected = ByT5Tokenizer()(text, add_special_tokens=False)["input_ids"]
    assert expected == [byte + 3 for byte in text.encode()]
    assert byte_level_tokenizer()(text, add_special_tokens=False)["input_ids"] == expected
    # Nothing is put around a prompt: after the token that ends a text, a model would begin another one.
    assert published(text)["input_ids"] == expected
    assert Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text).ids == expected
    assert published.decode(expected) == text


def test_each_byte_is_one_token_and_comes_back(published: Any) -> None:
    # Some are in no text: 0xC0, 0xC1 and 0xF5 to 0xFF are not of UTF-8. The decoder knows all of them.
    for byte in range(256):
        token = published.convert_ids_to_tokens(byte + 3)
        assert published.convert_tokens_to_ids(token) == byte + 3
        assert published.decode([byte + 3]) == bytes([byte]).decode(errors="replace")


def test_special_tokens_are_byt5s(published: Any) -> None:
    theirs = ByT5Tokenizer()
    assert len(published) == len(theirs) == 384
    for name in ("pad_token_id", "eos_token_id", "unk_token_id", "bos_token_id"):
        assert getattr(published, name) == getattr(theirs, name), name
    assert published.decode([1, 107, 0], skip_special_tokens=True) == "h"
    assert published.model_max_length == 2048
    assert published.model_input_names == ["input_ids", "attention_mask"]


def test_messages_of_a_chat_are_lines(published: Any) -> None:
    messages = [{"role": "system", "content": "You tell fables."}, {"role": "user", "content": "A fox"}]
    assert published.apply_chat_template(messages, tokenize=False, add_generation_prompt=True) == (
        "You tell fables.\nA fox"
    )


def test_for_bert_a_text_is_between_its_tokens(tmp_path: Path) -> None:
    write_tokenizer(tmp_path, "byte-level", BertConfig(max_position_embeddings=512))
    published = AutoTokenizer.from_pretrained(tmp_path)
    begin, part = published.cls_token_id, published.sep_token_id
    assert (begin, part, published.mask_token_id, published.pad_token_id) == (260, 259, 261, 0)
    encoded = published("a", "b")
    assert encoded["input_ids"] == [begin, 100, part, 101, part]
    assert encoded["token_type_ids"] == [0, 0, 0, 1, 1]
    assert published("a <extra_id_2>")["input_ids"] == [begin, 100, 35, 261, part]
