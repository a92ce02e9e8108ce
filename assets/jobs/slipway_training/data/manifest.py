"""What a folder of tokenized text holds: `manifest.json`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from slipway_jobs.recipe.section import Section

MANIFEST_FILE = "manifest.json"
"""The file's name."""

DONE = "done"
"""Name of the empty file without which the folder is not complete."""

TOKENIZER = "tokenizer"
"""Name of the folder with the tokenizer that made the samples, in the transformers format."""

PAIR_HEADER = 3
"""Numbers in front of the tokens of a pair: tokens of the first segment with [CLS] and [SEP], tokens without padding,
and whether the second segment is a random one (BERT's label 1) and not the next (0)."""


class SourceFile(Section):
    """A file that text was read from."""

    path: str
    """Its absolute path."""

    size: int
    """Its size in bytes."""

    ends: str
    """Checksum of its first and last 64 KiB: together with the size it tells an edited file, without reading all."""


class Shard(Section):
    """A file of samples, one row for each: a NumPy array, or nothing but token ids."""

    file: str
    """Its name; the absolute path of one outside of the folder."""

    samples: int
    """Its rows."""

    tokens_of: str | None = None
    """Type of the token ids, as NumPy names it; None for an array."""


class SpecialTokens(Section):
    """Tokens that masking leaves alone or puts in."""

    cls: int
    """Begins a pair."""

    sep: int
    """Ends a segment."""

    mask: int
    """Takes the place of a token that is to be guessed."""

    pad: int
    """Fills up a short sample."""

    size: int
    """Number of tokens; random ones are drawn from them."""


class Manifest(Section):
    """What a folder of tokenized text holds, and what it was made of."""

    kind: Literal["text", "pairs"]
    """`text`: rows are `sequence_length` tokens of joined documents. `pairs`: rows are PAIR_HEADER numbers and
    `sequence_length` tokens of two segments."""

    sequence_length: int
    """Tokens of a sample."""

    tokenizer: str
    """The recipe's name for it."""

    special_tokens: SpecialTokens | None
    """For pairs."""

    documents: int
    """Texts that were read; empty ones are not counted."""

    tokens: int
    """Tokens of all samples, without padding."""

    shards: tuple[Shard, ...]
    """The files of samples, in their order."""

    sources: tuple[SourceFile, ...]
    """What was read."""

    @property
    def samples(self) -> int:
        """Number of samples."""
        return sum(shard.samples for shard in self.shards)


def read_manifest(directory: Path) -> Manifest:
    """Read the manifest of a complete folder.

    Raises:
        OSError: the folder is not complete.
        pydantic.ValidationError: it is not a manifest.
    """
    if not (directory / DONE).is_file():
        raise FileNotFoundError(f"{directory} is not complete: the prepare job makes it")
    return Manifest.model_validate_json((directory / MANIFEST_FILE).read_text(encoding="utf-8"))
