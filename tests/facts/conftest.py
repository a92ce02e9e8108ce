"""A private copy of the fact files, and of the catalogue's, that a test may spoil."""

import importlib
import pkgutil
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from slipway import catalogue, facts
from slipway.catalogue import services
from slipway.facts import rows


def forget_facts() -> None:
    """Empty the caches of all fact modules."""
    for module in (
        *pkgutil.iter_modules(facts.__path__, "slipway.facts."),
        *pkgutil.iter_modules(catalogue.__path__, "slipway.catalogue."),
    ):
        for member in vars(importlib.import_module(module.name)).values():
            if hasattr(member, "cache_clear"):
                member.cache_clear()


class SpoiledFacts:
    """A copy of the data directory that the facts are read from until the test ends."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def replace(self, file_name: str, old: str, new: str) -> None:
        """Replace the first occurrence of ``old``, which must be there, and forget what was read before."""
        path = self.directory / file_name
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{file_name} no longer has {old!r}: adapt the test"
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        forget_facts()


@pytest.fixture
def spoiled_facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SpoiledFacts]:
    directory = tmp_path / "data"
    shutil.copytree(rows.DATA_DIRECTORY, directory)
    monkeypatch.setattr(rows, "DATA_DIRECTORY", directory)
    shutil.copytree(services._FOLDER, directory / "services")
    monkeypatch.setattr(services, "_FOLDER", directory / "services")
    forget_facts()
    yield SpoiledFacts(directory)
    monkeypatch.undo()
    forget_facts()
