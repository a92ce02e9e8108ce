"""What fetches the real packages: rows, directories, and what it says when something is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contracts import real_packages
from tests.contracts.real_packages import Npm, packages, unpack_all, unpacked, versions


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where `packages.yaml` is, with one npm package in two versions, each downloaded without a network."""
    file = tmp_path / "packages.yaml"
    file.write_text(
        "- {kind: npm, name: '@scope/tool', version: 1.0.0}\n- {kind: npm, name: '@scope/tool', version: 2.0.0}\n"
    )
    monkeypatch.setattr(real_packages, "PACKAGES", file)
    monkeypatch.setattr(real_packages, "UNPACKED", tmp_path / "unpacked")
    return file


def unpack(package: Npm, directory: Path, downloads: Path) -> None:
    assert downloads.is_dir()
    directory.mkdir()
    (directory / "version").write_text(package.version)


@pytest.mark.usefixtures("rows")
def test_each_version_is_unpacked_once_and_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Npm, "unpack", unpack)
    unpack_all()
    monkeypatch.setattr(Npm, "unpack", None)
    unpack_all()

    assert versions("@scope/tool") == ["1.0.0", "2.0.0"]
    assert (unpacked("@scope/tool", "2.0.0") / "version").read_text() == "2.0.0"
    assert sorted(entry.name for entry in real_packages.UNPACKED.iterdir()) == ["scope-tool-1.0.0", "scope-tool-2.0.0"]


def test_a_package_that_is_no_longer_wanted_is_removed(rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Npm, "unpack", unpack)
    unpack_all()
    rows.write_text("- {kind: npm, name: '@scope/tool', version: 2.0.0}\n")
    unpack_all()

    assert [entry.name for entry in real_packages.UNPACKED.iterdir()] == ["scope-tool-2.0.0"]


@pytest.mark.usefixtures("rows")
def test_a_download_that_fails_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Npm, directory: Path, downloads: Path) -> None:
        directory.mkdir()
        (downloads / "half").touch()
        raise OSError("no network")

    monkeypatch.setattr(Npm, "unpack", fail)
    with pytest.raises(OSError, match="no network"):
        unpack_all()

    assert list(real_packages.UNPACKED.iterdir()) == []


@pytest.mark.usefixtures("rows")
def test_it_says_what_is_missing() -> None:
    with pytest.raises(FileNotFoundError, match="run `make test-contracts`"):
        unpacked("@scope/tool", "1.0.0")
    with pytest.raises(LookupError, match="2 rows for @scope/tool"):
        unpacked("@scope/tool")
    with pytest.raises(LookupError, match="0 rows for nothing"):
        unpacked("nothing")


def test_no_two_packages_share_a_directory() -> None:
    directories = [package.directory for package in packages()]

    assert len(set(directories)) == len(directories)


@pytest.mark.contract
@pytest.mark.parametrize("package", packages(), ids=lambda package: package.directory)
def test_every_pinned_package_is_unpacked(package: Npm) -> None:
    assert any((real_packages.UNPACKED / package.directory).iterdir())
