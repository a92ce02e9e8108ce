"""BERT's masking: shares, what is left alone, and that it depends on its random numbers only."""

import numpy as np

from slipway_training.data.manifest import SpecialTokens
from slipway_training.data.masking import NO_LABEL, mask_tokens

SPECIAL = SpecialTokens(cls=1, sep=2, mask=3, pad=0, size=1000)


def test_shares_of_masked_replaced_and_kept_tokens() -> None:
    tokens = np.full(100_000, 500, dtype=np.int64)
    seen, labels = mask_tokens(tokens, SPECIAL, np.random.default_rng(0))
    guessed = labels != NO_LABEL
    assert guessed.sum() == 15_000
    assert (labels[guessed] == 500).all()
    assert (seen[~guessed] == 500).all()
    assert abs((seen[guessed] == SPECIAL.mask).mean() - 0.8) < 0.02
    assert abs((seen[guessed] == 500).mean() - 0.1) < 0.02
    assert len(set(seen[guessed])) > 500


def test_special_tokens_stay_and_one_token_is_always_guessed() -> None:
    tokens = np.array([1, 7, 8, 2, 9, 2, 0, 0], dtype=np.int64)
    for seed in range(50):
        seen, labels = mask_tokens(tokens, SPECIAL, np.random.default_rng(seed))
        assert seen[[0, 3, 5, 6, 7]].tolist() == [1, 2, 2, 0, 0]
        assert (labels != NO_LABEL).sum() == 1
        assert (labels[[0, 3, 5, 6, 7]] == NO_LABEL).all()


def test_the_same_random_numbers_mask_the_same() -> None:
    tokens = np.arange(10, 110, dtype=np.int64)
    first, again, other = (mask_tokens(tokens, SPECIAL, np.random.default_rng(seed))[0] for seed in (5, 5, 6))
    assert (first == again).all()
    assert (first != other).any()
