"""The tokenizer whose tokens are bytes: nothing to train or to download, and every text can be written with it.

Its ids are those of ByT5 (transformers: `ByT5Tokenizer`), which has Python code alone: engines read `tokenizer.json`.
"""

from __future__ import annotations

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast
from transformers.models.gpt2.tokenization_gpt2 import bytes_to_unicode

_SPECIAL = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
_UNUSED = [f"<extra_id_{number}>" for number in range(125)]
# Three of them are what it lacks for BERT.
_BERT = {"sep_token": _UNUSED[0], "cls_token": _UNUSED[1], "mask_token": _UNUSED[2]}

CHAT_TEMPLATE = (
    "{% for message in messages %}{{ message['content'] }}{% if not loop.last %}{{ '\\n' }}{% endif %}{% endfor %}"
)
"""The messages' texts, one below the other: a model that was trained on plain text goes on after them."""


def byte_level_tokenizer(*, encoder: bool = False) -> PreTrainedTokenizerFast:
    """Return the tokenizer.

    Args:
        encoder: whether it is for BERT, which needs three more special tokens, and has them around a text.
    """
    # The letters that GPT-2 writes bytes with, as `tokenizer.json` has them.
    letters = bytes_to_unicode()
    tokens = [*_SPECIAL.values(), *(letters[byte] for byte in range(256)), *_UNUSED]
    inner = Tokenizer(models.BPE(vocab={token: number for number, token in enumerate(tokens)}, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    inner.decoder = decoders.ByteLevel()
    if encoder:
        begin, part = _BERT["cls_token"], _BERT["sep_token"]
        inner.post_processor = processors.TemplateProcessing(
            single=f"{begin} $A {part}",
            pair=f"{begin} $A {part} $B:1 {part}:1",
            special_tokens=[(token, tokens.index(token)) for token in (begin, part)],
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        clean_up_tokenization_spaces=False,
        model_input_names=["input_ids", *(["token_type_ids"] if encoder else []), "attention_mask"],
        additional_special_tokens=[token for token in _UNUSED if not (encoder and token in _BERT.values())],
        **_SPECIAL,
        **(_BERT if encoder else {"chat_template": CHAT_TEMPLATE}),
    )
