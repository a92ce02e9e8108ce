"""What an environment file names by id because it is there already: used, and never changed or deleted."""

from collections.abc import Iterator
from typing import NamedTuple

from slipway.config.environment import Environment
from slipway.config.storage import ExistingEfs, ExistingOpenZfs, Storage

LUSTRE, OPEN_ZFS, EFS = "FSx for Lustre file system", "FSx for OpenZFS volume", "EFS file system"
BUCKET, KEY, SECURITY_GROUP = "S3 bucket", "KMS key", "security group"


class Existing(NamedTuple):
    """A thing that is there already.

    Attributes:
        kind: what it is, in AWS's words.
        id: how AWS's API names it: an id, a name or an ARN.
        use: what it is used for.
    """

    kind: str
    id: str
    use: str


def existing_storage(storage: Storage) -> tuple[Existing, ...]:
    """Return the file systems and buckets, and the groups of those who mount, each once."""
    return tuple(dict.fromkeys((*_buckets(storage), *_file_systems(storage))))


def existing_key(environment: Environment) -> tuple[Existing, ...]:
    """Return the key."""
    return (Existing(KEY, environment.kms.key_arn, "encryption"),) if environment.kms else ()


def existing_nfs(storage: Storage) -> dict[str, ExistingOpenZfs | ExistingEfs]:
    """Return what is mounted over NFS, by the name of its directory below /."""
    existing = {directory.path.lstrip("/"): directory.existing for directory in storage.shared_directories}
    if storage.home and storage.home.existing:
        existing["home"] = storage.home.existing
    return existing


def _buckets(storage: Storage) -> Iterator[Existing]:
    for use, name in storage.existing_buckets:
        if name:
            yield Existing(BUCKET, name, use)


def _file_systems(storage: Storage) -> Iterator[Existing]:
    if lustre := storage.lustre.existing:
        yield Existing(LUSTRE, lustre.file_system_id, "/fsx")
        yield Existing(SECURITY_GROUP, lustre.client_security_group_id, "clients of file systems")
    for name, shared in existing_nfs(storage).items():
        if isinstance(shared, ExistingOpenZfs):
            yield Existing(OPEN_ZFS, shared.volume_id, f"/{name}")
        else:
            yield Existing(EFS, shared.file_system_id, f"/{name}")
        yield Existing(SECURITY_GROUP, shared.client_security_group_id, "clients of file systems")
