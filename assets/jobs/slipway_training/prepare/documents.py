"""Reads documents from a part of a file, one after the other: memory does not grow with the file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from pyarrow import parquet

from slipway_training.prepare.sources import Part

_ROWS = 256


class DocumentError(Exception):
    """A file of text is not what its name says. The message is for the user, with file and place."""


def documents(part: Part, text_field: str) -> Iterator[str]:
    """Yield the texts of a part; empty ones are left out.

    A .jsonl file has a text on each line, a .parquet file in each row, a .txt file between blank lines.

    Raises:
        DocumentError: a line is no JSON object, or the field is missing or no string.
        OSError: the file cannot be read.
    """
    reader = {".jsonl": _from_json_lines, ".parquet": _from_parquet, ".txt": _from_text}[part.file.suffix]
    return (text for text in reader(part, text_field) if text.strip())


def _from_json_lines(part: Part, field: str) -> Iterator[str]:
    for place, line in _lines(part):
        if place >= part.end:
            return
        if not line.strip():
            continue
        try:
            text = json.loads(line)[field]
        except (ValueError, KeyError, TypeError) as error:
            reason = f"has no field {field!r} (data.text_field)" if isinstance(error, KeyError) else "is no JSON object"
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
    """Yield paragraphs. The part has those that begin after its first blank line, up to the next part's one."""
    paragraph: list[bytes] = []
    started = part.start == 0
    for place, line in _lines(part):
        if line.strip():
            if started:
                paragraph.append(line)
            continue
        if place >= part.end:
            break
        started = True
        if paragraph:
            yield b"".join(paragraph).decode("utf-8", errors="replace")
            paragraph = []
    if paragraph:
        yield b"".join(paragraph).decode("utf-8", errors="replace")


def _lines(part: Part) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that begin in a part, and those after it, each with the byte where it begins."""
    with part.file.open("rb") as stream:
        place = _first_line(stream, part.start)
        for line in stream:
            yield place, line
            place += len(line)


def _first_line(stream: BinaryIO, start: int) -> int:
    if start == 0:
        return 0
    # One byte earlier: when that is a line's end, the line at `start` belongs to this part.
    stream.seek(start - 1)
    stream.readline()
    return stream.tell()


def _line_number(file: Path, place: int) -> int:
    """Count the lines up to a byte; only for an error's message."""
    with file.open("rb") as stream:
        number = 1
        while place > 0 and (block := stream.read(min(place, 2**20))):
            number += block.count(b"\n")
            place -= len(block)
    return number
