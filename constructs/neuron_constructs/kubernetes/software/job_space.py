"""Where the jobs of a team run, and as whom."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neuron_constructs.kubernetes.names import NAMESPACE, RUNS_DIRECTORY, USER_ID


@dataclass(frozen=True, kw_only=True)
class JobSpace:
    """A namespace of jobs, by default that of people without a team."""

    namespace: str = NAMESPACE
    """Its name; also that of the Kubernetes group of its users."""

    user_id: int = USER_ID
    """User and group id of all its pods, 1000 or more; no other namespace has it."""

    runs_directory: str = RUNS_DIRECTORY
    """Where its runs are."""

    private_directories: Sequence[str] = ()
    """Directories on /fsx that belong to its user, and that nobody else can read."""

    environment: Mapping[str, Any]
    """What the job kit knows of its environment: the content of environment.json."""
