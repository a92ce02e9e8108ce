"""Repositories of the Hugging Face Hub: what is in one, and its files with their checksums.

huggingface_hub reads the user's token from HF_TOKEN or `~/.cache/huggingface/token`. It is on no command line.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

from httpx2 import HTTPError
from huggingface_hub import HfApi, constants, get_hf_file_metadata, hf_hub_download, hf_hub_url
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.hf_api import RepoSibling

from slipway_jobs.importing.remote_file import TRIES, Checksum, RemoteFile, bring

NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
"""A repository's name: owner and name."""

TIMEOUT_SECONDS = 30.0
"""How long the Hub may take for an answer."""

# Where a file's metadata cannot be asked for, huggingface_hub looks for the file on the disk.
_AWAY = (HTTPError, LocalEntryNotFoundError, ConnectionError, TimeoutError)
SIDE_BY_SIDE = 4
"""How many files are fetched at once."""

HUBS_OWN = ".cache"
"""Folder of huggingface_hub's own files beside what it fetches."""


Kind = Literal["model", "dataset"]
"""What a repository holds, in huggingface_hub's words."""


class HubError(Exception):
    """The Hub does not have what was asked for, or does not give it; the message is for the user."""


class GatedError(HubError):
    """The owner of a repository must let the user in first."""


@dataclass(frozen=True)
class Repository:
    """One commit of a repository.

    Attributes:
        hub: address of the Hub, or of a mirror of it.
        name: owner and name.
        commit: the commit.
        license: the licence in its card, or None if the card has none.
        files: its files by name.
        kind: what it holds.
    """

    hub: str
    name: str
    commit: str
    license: str | None
    files: dict[str, RemoteFile]
    kind: Kind = "model"

    @property
    def url(self) -> str:
        """The page of the commit, where people read the licence."""
        return f"{_page(self.hub, self.name, self.kind)}/tree/{self.commit}"

    def bring(self, file: RemoteFile, folder: Path, tell: Callable[[str], None]) -> None:
        """Bring a file into a folder, under its own name; a part that is there is not fetched again.

        Args:
            file: the file.
            folder: where it goes. huggingface_hub keeps its own files there, too.
            tell: called with a line of progress.

        Raises:
            HubError: the Hub does not give the file, or gives another content than it says.
            OSError: it cannot be written.
        """

        def get() -> None:
            hf_hub_download(
                self.name,
                file.name,
                repo_type=self.kind,
                revision=self.commit,
                local_dir=folder,
                endpoint=self.hub,
            )

        try:
            there = bring(file, folder / file.name, get, may_pass=_may_pass, tell=tell)
        except (HTTPError, OSError) as error:
            _refuse(error, self.hub, self.name, self.commit, self.kind)
        if not there:
            raise HubError(f"{self.name}: {file.name} arrived with another checksum than the Hub names, {TRIES} times")


def hub_here() -> str:
    """Return the address of the Hub, or of the mirror that HF_ENDPOINT names."""
    return constants.ENDPOINT


def look_up(hub: str, name: str, revision: str | None, kind: Kind = "model") -> Repository:
    """Ask the Hub for a repository.

    Args:
        hub: address of the Hub, or of a mirror of it.
        name: owner and name.
        revision: branch, tag or commit, or None for the default branch.
        kind: what it holds.

    Raises:
        HubError: it is not there, the user may not see it, or the Hub does not answer.
    """
    try:
        api = HfApi(endpoint=hub)
        found = api.repo_info(name, revision=revision, repo_type=kind, files_metadata=True, timeout=TIMEOUT_SECONDS)
    except (HTTPError, HFValidationError, OSError) as error:
        _refuse(error, hub, name, revision, kind)
    card = getattr(found, "card_data", None)
    files = [_file(name, sibling) for sibling in getattr(found, "siblings", None) or ()]
    return Repository(
        hub=hub,
        name=name,
        commit=str(found.sha),
        license=_license(card.get("license") if card else None),
        files={file.name: file for file in files},
        kind=kind,
    )


def require_access(repository: Repository) -> None:
    """Ask for the first file without its content: of a gated repository everybody sees the names.

    Raises:
        GatedError: the user may not fetch it.
        HubError: the Hub does not answer.
    """
    for name in sorted(repository.files)[:1]:
        url = hf_hub_url(
            repository.name,
            name,
            repo_type=repository.kind,
            revision=repository.commit,
            endpoint=repository.hub,
        )
        try:
            get_hf_file_metadata(url, timeout=TIMEOUT_SECONDS)
        except (HTTPError, OSError) as error:
            _refuse(error, repository.hub, repository.name, repository.commit, repository.kind)


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
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        for file, _ in zip(files, pool.map(lambda one: repository.bring(one, folder, tell), files), strict=True):
            there += file.size
            tell(f"{file.name} is there, checksum right; {there / 2**30:.2f} of {total / 2**30:.2f} GiB")
    shutil.rmtree(folder / HUBS_OWN, ignore_errors=True)


def _may_pass(error: Exception) -> bool:
    """Tell whether an error may be gone with the next try: the network's, or the Hub's own."""
    if isinstance(error, HfHubHTTPError):
        status = error.response.status_code if error.response is not None else 500
        return status >= 500 or status == 429
    return isinstance(error, _AWAY)


def _license(found: object) -> str | None:
    """Return the licence of a card; a data set may have several."""
    return ", ".join(map(str, found)) if isinstance(found, list) else str(found) if found else None


def _file(repository: str, sibling: RepoSibling) -> RemoteFile:
    if sibling.size is None:
        raise HubError(f"the Hub does not say how large {sibling.rfilename} of {repository} is: try again")
    # Git LFS and Xet name the SHA-256 of large files; small ones are Git's own.
    checksum = Checksum("sha256", sibling.lfs.sha256) if sibling.lfs else Checksum("git-sha1", str(sibling.blob_id))
    return RemoteFile(sibling.rfilename, sibling.size, checksum)


def _page(hub: str, name: str, kind: Kind) -> str:
    return f"{hub}/datasets/{name}" if kind == "dataset" else f"{hub}/{name}"


def _refuse(error: Exception, hub: str, name: str, revision: str | None, kind: Kind) -> NoReturn:
    if isinstance(error, GatedRepoError):
        raise GatedError(
            f"{name} is gated: ask for access at {_page(hub, name, kind)}, then put your token into "
            "~/.cache/huggingface/token (on Kubernetes: the environment's hugging_face_token_secret_arn)"
        ) from None
    if isinstance(error, RevisionNotFoundError):
        raise HubError(f"{name} has no revision {revision!r}") from None
    if isinstance(error, RepositoryNotFoundError):
        thing = "data set" if kind == "dataset" else "repository"
        raise HubError(f"there is no {thing} {name} on the Hub, or it is private and your token may not read it")
    if isinstance(error, HFValidationError):
        raise HubError(f"{name!r} is not the name of a repository: write OWNER/NAME") from None
    if isinstance(error, HfHubHTTPError) or not isinstance(error, _AWAY):
        raise HubError(f"{name}: {error}") from None
    instead = "copy the model to a folder on /fsx and name the folder"
    if kind == "dataset":
        instead = "copy the files to the data bucket: /fsx/data shows them"
    raise HubError(f"{hub} does not answer ({error}). Without a way to the internet, {instead}") from None
