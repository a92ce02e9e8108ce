"""The order of the samples: a pure function of the seed and the step, so that nothing of it has to be saved."""

from __future__ import annotations

from hashlib import blake2b

_ROUNDS = 4
# Of a Feistel network: four rounds of a good function are indistinguishable from a random order (Luby and Rackoff).


def sample_at(position: int, samples: int, seed: int) -> int:
    """Return the number of the sample at a position of the whole training.

    Each epoch (`samples` positions) has each sample once, in an order of its own.

    Args:
        position: From 0; step `s` (from 1) of a global batch of `g` has the positions `(s - 1) * g` to `s * g - 1`.
        samples: Number of samples that there are.
        seed: The recipe's.
    """
    epoch, place = divmod(position, samples)
    # The network permutes the numbers below a power of four; those that are no sample are permuted again until they
    # are: less than four times on average, and still each sample once.
    half_bits = max(1, ((samples - 1).bit_length() + 1) // 2)
    key = blake2b(f"{seed} {epoch}".encode(), digest_size=32).digest()
    place = _permute(place, half_bits, key)
    while place >= samples:
        place = _permute(place, half_bits, key)
    return place


def _permute(number: int, half_bits: int, key: bytes) -> int:
    mask = (1 << half_bits) - 1
    left, right = number >> half_bits, number & mask
    for turn in range(_ROUNDS):
        digest = blake2b(right.to_bytes(8, "big") + bytes([turn]), digest_size=8, key=key).digest()
        left, right = right, left ^ (int.from_bytes(digest, "big") & mask)
    return left << half_bits | right
