"""Samples for BERT: two segments, the second of which follows the first in the text or is a random one."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from slipway_training.data.manifest import PAIR_HEADER

_SENTENCE_END = re.compile(r"(?<=[.!?]\s)|(?<=[\u3002\uff01\uff1f])|(?<=\n)")
# After a blank or a line's end, which stay with the sentence; Japanese and Chinese have none.
_REMEMBERED = 1000
_SPECIAL = 3  # [CLS] first [SEP] second [SEP]


def pair_samples(
    texts: Iterable[str], tokenizer: Any, sequence_length: int
) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    """Yield the pairs of each document, made as in BERT's own data (Devlin et al., 2018, appendix A.2).

    A document's sentences fill a sample; they are parted at a random sentence, and in half of the samples the second
    part is replaced by sentences of another, earlier document and goes to the next sample instead.

    Yields:
        1, the number of documents that were read, and the rows: PAIR_HEADER numbers and `sequence_length` tokens.
    """
    # Nothing of the recipe's seed: prepared text is shared by runs.
    random = np.random.default_rng(0)
    earlier: deque[list[list[int]]] = deque(maxlen=_REMEMBERED)
    room = sequence_length - _SPECIAL
    for text in texts:
        sentences = _sentences(text, tokenizer, room)
        rows = [_row(pair, tokenizer, sequence_length) for pair in _pairs(sentences, earlier, room, random)]
        if sentences:
            earlier.append(sentences)
        yield 1, np.array(rows, dtype=np.int64).reshape(-1, PAIR_HEADER + sequence_length)


def _sentences(text: str, tokenizer: Any, room: int) -> list[list[int]]:
    """Return the tokens of each sentence; one that is longer than half a sample is cut, so that each pair fits."""
    longest = max(1, room // 2)
    parts = [part for part in _SENTENCE_END.split(text) if part.strip()]
    if not parts:
        return []
    encoded: list[list[int]] = tokenizer(parts, add_special_tokens=False)["input_ids"]
    return [tokens[i : i + longest] for tokens in encoded for i in range(0, len(tokens), longest)]


def _pairs(
    sentences: list[list[int]],
    earlier: deque[list[list[int]]],
    room: int,
    random: np.random.Generator,
) -> Iterator[tuple[list[int], list[int], bool]]:
    start = 0
    while start < len(sentences):
        end, length = start, 0
        while end < len(sentences) and length + len(sentences[end]) <= room:
            length += len(sentences[end])
            end += 1
        parted = int(random.integers(start + 1, max(start + 2, end)))
        first = [token for sentence in sentences[start:parted] for token in sentence]
        # One sentence alone has no next: its pair is a random one.
        is_random = bool(earlier) and (parted >= end or random.random() < 0.5)
        if is_random:
            second = _random_segment(earlier, room - len(first), random)
            start = parted
        else:
            second = [token for sentence in sentences[parted:end] for token in sentence]
            start = end
        if second:
            yield first, second, is_random


def _random_segment(earlier: deque[list[list[int]]], room: int, random: np.random.Generator) -> list[int]:
    document = earlier[int(random.integers(len(earlier)))]
    begin = int(random.integers(len(document)))
    tokens = [token for sentence in document[begin:] for token in sentence]
    return tokens[:room]


def _row(pair: tuple[list[int], list[int], bool], tokenizer: Any, sequence_length: int) -> list[int]:
    first, second, is_random = pair
    tokens = [tokenizer.cls_token_id, *first, tokenizer.sep_token_id, *second, tokenizer.sep_token_id]
    padding = [tokenizer.pad_token_id] * (sequence_length - len(tokens))
    return [len(first) + 2, len(tokens), int(is_random), *tokens, *padding]
