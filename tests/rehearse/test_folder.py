import os
from pathlib import Path

import pytest

from slipway.rehearse.folder import FolderUnusableError, LockedFolder, RunFolder


def test_a_second_run_finds_an_empty_folder(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "default")
    with LockedFolder(folder):
        folder.report.write_text("{}", encoding="utf-8")
        (folder.emulator / "lambda").mkdir(parents=True)
    assert folder.report.exists()
    with LockedFolder(folder):
        assert {path.name for path in folder.root.iterdir()} == {"lock", "home", "tmp"}


def test_a_folder_in_use_is_refused_with_its_owner(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "default")
    with LockedFolder(folder):
        folder.report.write_text("{}", encoding="utf-8")
        with (
            pytest.raises(FolderUnusableError, match=rf"process {os.getpid()}\) is running in .*default"),
            LockedFolder(folder),
        ):
            pass
        assert folder.report.exists()


def test_other_people_s_files_are_not_deleted(tmp_path: Path) -> None:
    precious = tmp_path / "default" / "thesis.tex"
    precious.parent.mkdir()
    precious.touch()
    with pytest.raises(FolderUnusableError, match="no rehearsal made"), LockedFolder(RunFolder(precious.parent)):
        pass
    assert precious.exists()


def test_a_link_is_removed_and_not_followed(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "default")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").touch()
    with LockedFolder(folder):
        (folder.root / "link").symlink_to(outside)
    with LockedFolder(folder):
        assert not (folder.root / "link").exists()
    assert (outside / "file").exists()
