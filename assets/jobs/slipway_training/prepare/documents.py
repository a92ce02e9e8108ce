"""Reads documents from a part of a file, one after the other: memory does not grow with the file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from pyarrow import parquet

from slipway_training.prepare.sources import Part

_ROWS = 256
_LONGEST_PARAGRAPH = 2**20  # bytes; a file without blank lines is cut, or it would be held as a whole


class DocumentError(Exception):
    """A file of text is not what its name says. The message is for the user, with file and place."""


def documents(part: Part, text_field: str) -> Iterator[str]:
    """Yield the texts of a part; empty ones are left out.

    A .jsonl file has a text on each line, a .parquet file in each row, a .txt file between blank lines.

    Raises:
        DocumentError: a line is not a JSON object, or the field is missing or no string.
        OSError: the file cannot be read.
    """
    reader = {".jsonl": _from_json_lines, ".parquet": _from_parquet, ".txt": _from_text}[part.file.suffix]
    return (text for text in reader(part, text_field) if text.strip())


def _from_json_lines(part: Part, field: str) -> Iterator[str]:
    for place, line in _lines(part, _line_start):
        if not line.strip():
            continue
        try:
            text = json.loads(line)[field]
        except (ValueError, KeyError, TypeError) as error:
            reason = (
                f"has no field {field!r} (data.text_field)" if isinstance(error, KeyError) else "is not a JSON object"
            )
            raise DocumentError(f"{part.file}:{_line_number(part.file, place)}: the line {reason}") from error
        if not isinstance(text, str):
            raise DocumentError(f"{part.file}:{_line_number(part.file, place)}: {field!r} is not a string")
        yield text


def _from_parquet(part: Part, field: str) -> Iterator[str]:
    file = parquet.ParquetFile(part.file)
    if field not in file.schema_arrow.names:
        names = ", ".join(file.schema_arrow.names)
        raise DocumentError(f"{part.file}: there is no column {field!r} (data.text_field); there are: {names}")
    for batch in file.iter_batches(_ROWS, row_groups=list(range(part.start, part.end)), columns=[field]):
        for text in batch.column(0).to_pylist():
            if text is not None and not isinstance(text, str):
                raise DocumentError(f"{part.file}: column {field!r} is not text")
            yield text or ""


def _from_text(part: Part, _field: str) -> Iterator[str]:
    paragraph = bytearray()
    for _, line in _lines(part, _paragraph_start):
        paragraph += line
        if not line.strip() or len(paragraph) > _LONGEST_PARAGRAPH:
            yield paragraph.decode("utf-8", errors="replace")
            paragraph.clear()
    yield paragraph.decode("utf-8", errors="replace")


def _lines(part: Part, start_at: Callable[[BinaryIO, int], int]) -> Iterator[tuple[int, bytes]]:
    """Yield a part's lines, each with the byte where it begins.

    The part's bounds lie anywhere; `start_at` moves both to where a document begins, the same way for this part's end
    and the next part's start, so that each document is in one part.
    """
    with part.file.open("rb") as stream:
        end = start_at(stream, part.end)
        place = start_at(stream, part.start)
        stream.seek(place)
        while place < end and (line := stream.readline()):
            yield place, line
            place += len(line)


def _line_start(stream: BinaryIO, place: int) -> int:
    """Return where the first line begins at or after a byte."""
    if place == 0:
        return 0
    # One byte earlier: when that is a line's end, a line begins at the byte itself.
    stream.seek(place - 1)
    stream.readline()
    return stream.tell()


def _paragraph_start(stream: BinaryIO, place: int) -> int:
    """Return where the line after the first blank one begins, or another line when there is no blank one for long."""
    if place == 0:
        return 0
    start = _line_start(stream, place)
    while line := stream.readline():
        start += len(line)
        if not line.strip() or start > place + _LONGEST_PARAGRAPH:
            break
    return start


def _line_number(file: Path, place: int) -> int:
    """Count the lines up to a byte; only for an error's message."""
    with file.open("rb") as stream:
        number = 1
        while place > 0 and (block := stream.read(min(place, 2**20))):
            number += block.count(b"\n")
            place -= len(block)
    return number
