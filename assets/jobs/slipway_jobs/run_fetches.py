"""The runs that bring what others made: the import of a model, a fetch of data."""

from __future__ import annotations

from pathlib import Path

from slipway_jobs.recipe.model import Publish
from slipway_jobs.recipe.section import Section
from slipway_jobs.run_base import Run, Stage


class FetchedModel(Section):
    """A model in the transformers format, and where it comes from."""

    directory: str
    """Its folder; that of a repository is complete once it holds `done`."""

    repository: str | None = None
    """Its repository on the Hugging Face Hub, for example `weblab-GENIAC/Tanuki-8B-dpo-v1.0`; None for a folder."""

    commit: str | None = None
    """The commit of the repository."""

    hub: str | None = None
    """Address of the Hub, or of a mirror of it (HF_ENDPOINT); None for a folder."""

    license: str | None = None
    """The licence that the repository names."""

    @property
    def origin(self) -> str:
        """Repository and commit, or the folder."""
        return f"{self.repository}@{self.commit}" if self.repository else self.directory


class ImportRun(Run):
    """A model that others trained, on its way to the endpoint."""

    model: FetchedModel
    """The model."""

    publication: Publish
    """What goes to the model bucket; `version` and `export` are filled in."""

    @property
    def kind(self) -> str:
        """What kind of run it is, as messages name it."""
        return "an import"

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Its jobs; a folder needs no fetching."""
        return ("fetch", "publish") if self.model.repository else ("publish",)

    @property
    def publish(self) -> Publish | None:
        """What goes to the model bucket."""
        return self.publication

    @property
    def model_directory(self) -> Path:
        """The folder of the model."""
        return Path(self.model.directory)

    def product(self, stage: Stage) -> Path | None:
        """Return the fetched model."""
        return self.model_directory if stage == "fetch" else None


class FetchedData(Section):
    """A data set of others, and where it goes."""

    source: str
    """`hf:OWNER/NAME` or `s3://BUCKET/PREFIX`."""

    revision: str
    """The commit; of objects, a digest of their names, sizes and ETags."""

    hub: str | None = None
    """Address of the Hub, or of a mirror of it (HF_ENDPOINT); None for S3."""

    license: str | None = None
    """The licence that the data set names."""

    include: tuple[str, ...]
    """Patterns of the files that are fetched."""

    shared_directory: str
    """The folder that users share."""

    directory: str
    """The data set's folder below it; complete once it holds `done`."""

    work_directory: str
    """Folder of files whose content is not compared yet, below one of the user's."""

    @property
    def origin(self) -> str:
        """Source, revision and patterns: what two fetches must have in common to bring the same."""
        return f"{self.source}@{self.revision} ({', '.join(self.include)})"


class DataRun(Run):
    """A data set of others on its way to /fsx."""

    data: FetchedData
    """The data set."""

    @property
    def kind(self) -> str:
        """What kind of run it is, as messages name it."""
        return "a fetch of data"

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Its only job."""
        return ("fetch",)

    @property
    def publish(self) -> Publish | None:
        """Nothing."""
        return None

    @property
    def model_directory(self) -> Path:
        """The data set's folder: what the run makes."""
        return Path(self.data.directory)

    def product(self, stage: Stage) -> Path | None:
        """Return the data set's folder."""
        return Path(self.data.directory) if stage == "fetch" else None
