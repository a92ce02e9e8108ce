"""What fetches the real packages: rows, directories, and what it says when something is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contracts import real_packages
from tests.contracts.real_packages import Debian, PyPi, packages, unpack_all, unpacked, versions


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where `packages.yaml` is, with one package in two versions, each downloaded without a network."""
    file = tmp_path / "packages.yaml"
    file.write_text("- {kind: pypi, name: tool, version: 1.0.0}\n- {kind: pypi, name: tool, version: 2.0.0}\n")
    monkeypatch.setattr(real_packages, "PACKAGES", file)
    monkeypatch.setattr(real_packages, "UNPACKED", tmp_path / "unpacked")
    return file


def unpack(package: PyPi, directory: Path) -> None:
    directory.mkdir()
    (directory / "version").write_text(package.version)


@pytest.mark.usefixtures("rows")
def test_each_version_is_unpacked_once_and_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PyPi, "unpack", unpack)
    unpack_all()
    monkeypatch.setattr(PyPi, "unpack", None)
    unpack_all()

    assert versions("tool") == ["1.0.0", "2.0.0"]
    assert (unpacked("tool", "2.0.0") / "version").read_text() == "2.0.0"
    assert sorted(entry.name for entry in real_packages.UNPACKED.iterdir()) == ["tool-1.0.0", "tool-2.0.0"]


def test_a_package_that_is_no_longer_wanted_is_removed(rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PyPi, "unpack", unpack)
    unpack_all()
    rows.write_text("- {kind: pypi, name: tool, version: 2.0.0}\n")
    unpack_all()

    assert [entry.name for entry in real_packages.UNPACKED.iterdir()] == ["tool-2.0.0"]


def test_a_row_that_changed_is_unpacked_again(rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unpack_debian(package: Debian, directory: Path) -> None:
        directory.mkdir()
        (directory / "packages").write_text(" ".join(package.packages))

    monkeypatch.setattr(Debian, "unpack", unpack_debian)
    for names in ("rpm", "rpm, systemd"):
        rows.write_text(f"- {{kind: debian, name: debian, packages: [{names}]}}\n")
        unpack_all()

    assert (unpacked("debian") / "packages").read_text() == "rpm systemd"


@pytest.mark.usefixtures("rows")
def test_a_download_that_fails_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: PyPi, directory: Path) -> None:
        directory.mkdir()
        (directory / "half").touch()
        raise OSError("no network")

    monkeypatch.setattr(PyPi, "unpack", fail)
    with pytest.raises(OSError, match="no network"):
        unpack_all()

    assert list(real_packages.UNPACKED.iterdir()) == []


@pytest.mark.usefixtures("rows")
def test_it_says_what_is_missing() -> None:
    with pytest.raises(FileNotFoundError, match="run `make test-contracts`"):
        unpacked("tool", "1.0.0")
    with pytest.raises(LookupError, match="2 rows for tool"):
        unpacked("tool")
    with pytest.raises(LookupError, match="0 rows for nothing"):
        unpacked("nothing")


def test_no_two_packages_share_a_directory() -> None:
    directories = [package.directory for package in packages()]

    assert len(set(directories)) == len(directories)


@pytest.mark.contract
@pytest.mark.parametrize("package", packages(), ids=lambda package: package.directory)
def test_every_pinned_package_is_unpacked(package: PyPi) -> None:
    assert len(list((real_packages.UNPACKED / package.directory).iterdir())) > 1
