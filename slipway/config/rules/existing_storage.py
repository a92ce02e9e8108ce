"""Rules about file systems and buckets that are there already: nothing that would change one can be asked for."""

from collections.abc import Iterator

from slipway.config.environment import Environment
from slipway.config.inference import LustreSource
from slipway.config.problems import Finding, Path, listed
from slipway.config.rules.registry import environment_rule

_OWN_DIRECTORIES = ("/fsx", "/home", "/apps")
# aws-parallelcluster 3.16.1, pcluster/validators/cluster_validators.py, SharedStorageMountDirValidator.
_SYSTEM_DIRECTORIES = (
    *("/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/media", "/mnt", "/opt", "/proc", "/root", "/run", "/sbin"),
    *("/srv", "/sys", "/tmp", "/usr", "/var"),
)


@environment_rule
def existing_file_system_without_lifecycle(environment: Environment) -> Iterator[Finding]:
    """`storage.lustre.lifecycle` is that of a file system of Slipway's: one that is there already always stays."""
    lustre = environment.storage.lustre
    if lustre.existing and lustre.lifecycle:
        message = "`cdk destroy` never deletes a file system that was there before"
        yield Finding(("storage", "lustre", "lifecycle"), message, "Remove this line.", at_key=True)


@environment_rule
def existing_file_systems_in_existing_network(environment: Environment) -> Iterator[Finding]:
    """A file system that is there already is in a VPC that is there already, `network.existing`.

    Its clients' security group is of that VPC, and ParallelCluster mounts nothing from another one (aws-parallelcluster
    3.16.1, ExistingFsxNetworkingValidator).
    """
    if environment.network.existing:
        return
    storage = environment.storage
    named: dict[Path, object] = {
        ("storage", "lustre", "existing"): storage.lustre.existing,
        ("storage", "home", "existing"): storage.home and storage.home.existing,
        ("storage", "shared_directories"): storage.shared_directories,
    }
    for path, existing in named.items():
        if existing:
            message = "a new VPC does not reach a file system that is there already"
            yield Finding(path, message, "Name its VPC: network.existing.", at_key=True)


@environment_rule
def existing_home_without_sizes(environment: Environment) -> Iterator[Finding]:
    """`storage.home` has `existing` or sizes: Slipway does not change a file system that is there already."""
    home = environment.storage.home
    if home and home.existing:
        for name in sorted(home.model_fields_set - {"existing"}):
            message = "Slipway does not change a file system that is there already"
            yield Finding(("storage", "home", name), message, "Remove it or `storage.home.existing`.", at_key=True)


@environment_rule
def shared_directories_distinct(environment: Environment) -> Iterator[Finding]:
    """Each of `storage.shared_directories` has its own path, which neither the cluster nor the system uses."""
    paths = [directory.path for directory in environment.storage.shared_directories]
    for index, path in enumerate(paths):
        taken = next((why for why in _uses_of(path, paths[:index])), None)
        if taken:
            where = ("storage", "shared_directories", index, "path")
            yield Finding(where, f"{path} is {taken}", "Write another path, for example /datasets.")


def _uses_of(path: str, before: list[str]) -> Iterator[str]:
    if path in before:
        yield "the path of an earlier directory"
    if path in _OWN_DIRECTORIES:
        yield "a directory of the cluster's own"
    if path in _SYSTEM_DIRECTORIES:
        yield "a directory of the operating system"


@environment_rule
def existing_buckets_distinct(environment: Environment) -> Iterator[Finding]:
    """A bucket that is there already is for data, for checkpoints or for models: their rights differ."""
    buckets = environment.storage.existing_buckets
    seen: dict[str, str] = {}
    for name in ("data", "checkpoints", "models"):
        bucket = getattr(buckets, name)
        if bucket in seen:
            message = f"{bucket} is the bucket for {seen[bucket]} already"
            yield Finding(("storage", "existing_buckets", name), message, "Name another bucket.")
        elif bucket:
            seen[bucket] = name


@environment_rule
def existing_models_read_by_roles(environment: Environment) -> Iterator[Finding]:
    """`storage.model_readers` is for Slipway's own model bucket: an existing one keeps its policy."""
    storage = environment.storage
    if storage.existing_buckets.models and storage.model_readers:
        message = f"Slipway does not change the policy of {storage.existing_buckets.models}"
        fix = "Allow these roles in the bucket's own policy, and remove this."
        yield Finding(("storage", "model_readers"), message, fix, at_key=True)


@environment_rule
def existing_models_not_through_lustre(environment: Environment) -> Iterator[Finding]:
    """No model is read from Slipway's file system while the model bucket is there already.

    New versions would not appear: FSx learns of them by a notification that it puts on the bucket.
    """
    storage, inference = environment.storage, environment.inference
    if inference is None or storage.lustre.existing or not storage.existing_buckets.models:
        return
    for index, model in enumerate(inference.models):
        if isinstance(model.source, LustreSource):
            message = "new versions would not appear on /fsx: FSx would have to change the bucket's notifications"
            fix = "Write `mountpoint` or `sync`, or leave out storage.existing_buckets.models."
            yield Finding(("inference", "models", index, "source", "type"), message, fix)


@environment_rule
def deleted_objects_of_own_bucket(environment: Environment) -> Iterator[Finding]:
    """`storage.deleted_object_days` is for Slipway's own buckets: there must be one."""
    storage = environment.storage
    buckets = storage.existing_buckets
    names = [name for name in (buckets.data, buckets.checkpoints, buckets.models) if name]
    if len(names) == 3 and "deleted_object_days" in storage.model_fields_set:
        message = f"Slipway does not change the lifecycle rules of {listed(names)}"
        yield Finding(("storage", "deleted_object_days"), message, "Remove this line.", at_key=True)
