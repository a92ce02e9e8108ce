"""Samples for a decoder: documents joined, with a token between them, and cut into pieces of the same length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

_TEXTS = 64


def text_samples(
    texts: Iterable[str], tokenizer: Any, sequence_length: int
) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    """Yield samples of exactly `sequence_length` tokens; each array has the rows that some documents completed.

    A document begins with the tokenizer's token for it, where it has one, and ends with its end-of-text token. What is
    left at the end is too short and dropped.

    Yields:
        Number of documents that were read, and the rows (often none, for short documents).
    """
    begin = [] if tokenizer.bos_token_id is None else [tokenizer.bos_token_id]
    end = [tokenizer.eos_token_id]
    rest: list[int] = []
    texts = iter(texts)
    while batch := list(islice(texts, _TEXTS)):
        for tokens in tokenizer(batch, add_special_tokens=False)["input_ids"]:
            rest += begin + tokens + end
        whole = len(rest) // sequence_length * sequence_length
        yield len(batch), np.array(rest[:whole], dtype=np.int64).reshape(-1, sequence_length)
        rest = rest[whole:]
