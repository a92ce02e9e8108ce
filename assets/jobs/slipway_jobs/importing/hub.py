"""Repositories of the Hugging Face Hub: what is in one, and its files with their checksums.

huggingface_hub reads the user's token from HF_TOKEN or `~/.cache/huggingface/token`. It is on no command line.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from httpx2 import HTTPError
from huggingface_hub import HfApi, constants, hf_hub_download
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.hf_api import RepoSibling

NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
"""A repository's name: owner and name."""

TRIES = 5
"""How often a file is asked for when the network fails."""

TIMEOUT_SECONDS = 30.0
"""How long the Hub may take for an answer."""

# Where a file's metadata cannot be asked for, huggingface_hub looks for the file on the disk.
_AWAY = (HTTPError, LocalEntryNotFoundError, ConnectionError, TimeoutError)
_SIDE_BY_SIDE = 4
_READ_BYTES = 8 * 2**20
_OWN_FILES = ".cache"


class HubError(Exception):
    """The Hub does not have what was asked for, or does not give it; the message is for the user."""


class GatedError(HubError):
    """The owner of a repository must let the user in first."""


@dataclass(frozen=True)
class HubFile:
    """A file of a repository.

    Attributes:
        name: its path.
        size: bytes.
        sha256: SHA-256 of its content, hexadecimal, of a large file (Git LFS, Xet), or None for a small one.
        git_sha1: SHA-1 of a small file as Git computes it, hexadecimal, or None for a large one.
    """

    name: str
    size: int
    sha256: str | None
    git_sha1: str | None

    def is_at(self, path: Path) -> bool:
        """Tell whether a file has this content; it is read to its end."""
        if not path.is_file() or path.stat().st_size != self.size:
            return False
        digest = hashlib.sha256() if self.sha256 else hashlib.sha1(f"blob {self.size}\0".encode())
        with path.open("rb") as stream:
            while block := stream.read(_READ_BYTES):
                digest.update(block)
        return digest.hexdigest() == (self.sha256 or self.git_sha1)


@dataclass(frozen=True)
class Repository:
    """One commit of a repository.

    Attributes:
        hub: address of the Hub, or of a mirror of it.
        name: owner and name.
        commit: the commit.
        license: the licence in its model card, or None if the card has none.
        files: its files by name.
    """

    hub: str
    name: str
    commit: str
    license: str | None
    files: dict[str, HubFile]

    @property
    def url(self) -> str:
        """The page of the commit, where people read the licence."""
        return f"{self.hub}/{self.name}/tree/{self.commit}"


def hub_here() -> str:
    """Return the address of the Hub, or of the mirror that HF_ENDPOINT names."""
    return constants.ENDPOINT


def look_up(hub: str, name: str, revision: str | None) -> Repository:
    """Ask the Hub for a repository.

    Args:
        hub: address of the Hub, or of a mirror of it.
        name: owner and name.
        revision: branch, tag or commit, or None for the default branch.

    Raises:
        HubError: it is not there, the user may not see it, or the Hub does not answer.
    """
    try:
        api = HfApi(endpoint=hub)
        found = api.model_info(name, revision=revision, files_metadata=True, timeout=TIMEOUT_SECONDS)
    except (HTTPError, HFValidationError, OSError) as error:
        _refuse(error, hub, name, revision)
    card = getattr(found, "card_data", None)
    files = [_file(name, sibling) for sibling in getattr(found, "siblings", None) or ()]
    return Repository(
        hub=hub,
        name=name,
        commit=str(found.sha),
        license=str(card.license) if card and card.get("license") else None,
        files={file.name: file for file in files},
    )


def download(repository: Repository, names: Iterable[str], folder: Path, tell: Callable[[str], None]) -> None:
    """Bring files of a repository into a folder; what is there with the right content is not fetched again.

    Args:
        repository: the repository.
        names: its files.
        folder: where they go, under their own names.
        tell: called with a line of progress.

    Raises:
        HubError: the Hub does not give a file, or gives another content than it says.
        OSError: a file cannot be written.
    """
    files = [repository.files[name] for name in sorted(names)]
    total, there = sum(file.size for file in files), 0
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        for file in pool.map(lambda one: _bring(repository, one, folder, tell), files):
            there += file.size
            tell(f"{file.name} is there, checksum right; {there / 2**30:.2f} of {total / 2**30:.2f} GiB")
    shutil.rmtree(folder / _OWN_FILES, ignore_errors=True)


def _bring(repository: Repository, file: HubFile, folder: Path, tell: Callable[[str], None]) -> HubFile:
    for attempt in range(1, TRIES + 1):
        if file.is_at(folder / file.name):
            return file
        # What has another content is an earlier attempt's: huggingface_hub would take it for complete.
        (folder / file.name).unlink(missing_ok=True)
        try:
            hf_hub_download(
                repository.name,
                file.name,
                revision=repository.commit,
                local_dir=folder,
                endpoint=repository.hub,
            )
        except (HTTPError, OSError) as error:
            if attempt == TRIES or not _may_pass(error):
                _refuse(error, repository.hub, repository.name, repository.commit)
            tell(f"{file.name}: {type(error).__name__}, try {attempt} of {TRIES}")
            time.sleep(min(60, 5 * 2 ** (attempt - 1)))
    if file.is_at(folder / file.name):
        return file
    (folder / file.name).unlink(missing_ok=True)
    raise HubError(f"{repository.name}: {file.name} arrived with another checksum than the Hub names, {TRIES} times")


def _may_pass(error: Exception) -> bool:
    """Tell whether an error may be gone with the next try: the network's, or the Hub's own."""
    if isinstance(error, HfHubHTTPError):
        status = error.response.status_code if error.response is not None else 500
        return status >= 500 or status == 429
    return isinstance(error, _AWAY)


def _file(repository: str, sibling: RepoSibling) -> HubFile:
    if sibling.size is None:
        raise HubError(f"the Hub does not say how large {sibling.rfilename} of {repository} is: try again")
    sha256 = sibling.lfs.sha256 if sibling.lfs else None
    return HubFile(sibling.rfilename, sibling.size, sha256, None if sha256 else sibling.blob_id)


def _refuse(error: Exception, hub: str, name: str, revision: str | None) -> NoReturn:
    if isinstance(error, GatedRepoError):
        raise GatedError(
            f"{name} is gated: ask for access at {hub}/{name}, then put your token into "
            "~/.cache/huggingface/token (on Kubernetes: the environment's hugging_face_token_secret_arn)"
        ) from None
    if isinstance(error, RevisionNotFoundError):
        raise HubError(f"{name} has no revision {revision!r}") from None
    if isinstance(error, RepositoryNotFoundError):
        raise HubError(f"there is no repository {name} on the Hub, or it is private and your token may not read it")
    if isinstance(error, HFValidationError):
        raise HubError(f"{name!r} is not the name of a repository: write OWNER/NAME") from None
    if isinstance(error, HfHubHTTPError) or not isinstance(error, _AWAY):
        raise HubError(f"{name}: {error}") from None
    raise HubError(
        f"{hub} does not answer ({error}). Without a way to the internet, copy the model to a folder on "
        "/fsx and name the folder"
    ) from None
