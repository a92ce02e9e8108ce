"""BERT's masked language model: which tokens are to be guessed, and what stands in their place."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from slipway_training.data.manifest import SpecialTokens

NO_LABEL = -100
"""What PyTorch's cross-entropy leaves out."""

GUESSED = 0.15
"""Share of the tokens that are to be guessed; of them 80 % are masked, 10 % replaced at random and 10 % kept (Devlin et
al., 2018, section 3.1)."""


def mask_tokens(
    tokens: npt.NDArray[np.int64], special: SpecialTokens, random: np.random.Generator
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return what the model sees, and the labels: the tokens to be guessed and NO_LABEL elsewhere.

    At least one token is to be guessed, as in BERT's own code: a sample without a label would have no loss.
    """
    candidates = np.flatnonzero(~np.isin(tokens, (special.cls, special.sep, special.pad)))
    count = max(1, round(len(candidates) * GUESSED))
    guessed = random.permutation(candidates)[:count]
    chance = random.random(len(guessed))
    replacements = random.integers(0, special.size, len(guessed))
    seen, labels = tokens.copy(), np.full_like(tokens, NO_LABEL)
    labels[guessed] = tokens[guessed]
    seen[guessed[chance < 0.8]] = special.mask
    swapped = (chance >= 0.8) & (chance < 0.9)
    seen[guessed[swapped]] = replacements[swapped]
    return seen, labels
