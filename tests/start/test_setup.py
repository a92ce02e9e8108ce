"""`slipway setup` installs what is locked, from the index that uv knows or from the one that only pip knows."""

from pathlib import Path

import pytest

from slipway.errors import FailedError, RefusedError
from slipway.programs import python_environments
from slipway.start.setup import set_up
from tests.gates.test_make_setup import EVIL, wheel


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index with one package, which uv and pip take in place of all others."""
    folder = tmp_path / "index"
    folder.mkdir()
    for installer in ("PIP", "UV"):
        monkeypatch.setenv(f"{installer}_NO_INDEX", "1")
        monkeypatch.setenv(f"{installer}_FIND_LINKS", str(folder))
    return folder


@pytest.mark.parametrize("blind", [None, "UV_FIND_LINKS", "PIP_FIND_LINKS"])
def test_one_of_them_is_enough(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blind: str | None) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text(f"evil==1.0 --hash=sha256:{wheel(index / EVIL, 'good = True')}\n")
    if blind:
        monkeypatch.setenv(blind, str(tmp_path / "none"))

    python_environments.make(tmp_path / "made", lock, ("--require-hashes",))

    assert len(list(tmp_path.glob("made/lib/python3*/site-packages/evil.py"))) == 1


def test_an_exchanged_package_is_refused_by_both(index: Path, tmp_path: Path) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text(f"evil==1.0 --hash=sha256:{wheel(tmp_path / EVIL, 'good = True')}\n")
    wheel(index / EVIL, "evil = True")

    with pytest.raises(FailedError) as failed:
        python_environments.make(tmp_path / "made", lock, ("--require-hashes",))

    assert "Hash mismatch for `evil==1.0`" in str(failed.value)
    assert "DO NOT MATCH THE HASHES" in str(failed.value)
    assert not list(tmp_path.glob("made/lib/python3*/site-packages/evil.py"))


def test_a_folder_that_is_no_project_stays_empty(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="`slipway init FOLDER` makes one"):
        set_up(tmp_path)

    assert list(tmp_path.iterdir()) == []
