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
        facts: what the file says of it, by name.
    """

    kind: str
    id: str
    use: str
    facts: tuple[tuple[str, str | int], ...] = ()


def existing_storage(environment: Environment) -> tuple[Existing, ...]:
    """Return the file systems and buckets, and the groups of those who mount, each once."""
    return tuple(dict.fromkeys((*_buckets(environment), *_file_systems(environment))))


def existing_key(environment: Environment) -> tuple[Existing, ...]:
    """Return the key."""
    return (Existing(KEY, environment.kms.key_arn, "encryption"),) if environment.kms else ()


def existing_nfs(storage: Storage) -> dict[str, ExistingOpenZfs | ExistingEfs]:
    """Return what is mounted over NFS, by the name of its directory below /."""
    existing = {directory.path.lstrip("/"): directory.existing for directory in storage.shared_directories}
    if storage.home and storage.home.existing:
        existing["home"] = storage.home.existing
    return existing


def _buckets(environment: Environment) -> Iterator[Existing]:
    for use, name in environment.storage.existing_buckets:
        if name:
            # The endpoint's functions act when a served version changes.
            told = use == "models" and environment.inference is not None
            yield Existing(BUCKET, name, use, (("events", "EventBridge"),) if told else ())


def _file_systems(environment: Environment) -> Iterator[Existing]:
    storage, zone = environment.storage, environment.network.training_availability_zone_id
    if lustre := storage.lustre.existing:
        facts: dict[str, str | int] = {
            "mount_name": lustre.mount_name,
            "capacity_gib": storage.lustre.capacity_gib,
            "throughput_mb_s_per_tib": storage.lustre.throughput_mb_s_per_tib,
        }
        yield Existing(LUSTRE, lustre.file_system_id, "/fsx", (*facts.items(), ("zone", zone)))
        yield Existing(SECURITY_GROUP, lustre.client_security_group_id, "clients of file systems")
    for name, shared in existing_nfs(storage).items():
        if isinstance(shared, ExistingOpenZfs):
            yield Existing(OPEN_ZFS, shared.volume_id, f"/{name}", (("zone", zone),))
        else:
            yield Existing(EFS, shared.file_system_id, f"/{name}", (("zone", zone),))
        yield Existing(SECURITY_GROUP, shared.client_security_group_id, "clients of file systems")
