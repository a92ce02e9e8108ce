"""The `storage` section: file systems, buckets and the database that outlive jobs."""

from typing import Annotated, Literal

from pydantic import Field

from slipway.config.section import AvailabilityZoneId, Form, Section

Lifecycle = Literal["ephemeral", "persistent"]
"""`ephemeral`: `cdk destroy` deletes everything, data included. `persistent`: file system and data buckets are kept."""

RoleArn = Annotated[
    str,
    Form(
        r"arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9_+=,.@/-]+",
        "the ARN of one IAM role",
        "arn:aws:iam::444455556666:role/model-promoter",
    ),
]
"""ARN of an IAM role: no wildcard, no whole account, no user, whose keys do not expire."""


ClientGroupId = Annotated[
    str,
    Form(r"sg-([0-9a-f]{8}|[0-9a-f]{17})", "the id of a security group", "sg-0123456789abcdef0"),
]
"""Id of a security group of yours, whose members the file system lets in. Nodes become members, and nothing else of it
changes."""

FileSystemId = Annotated[str, Form(r"fs-([0-9a-f]{8}|[0-9a-f]{17})", "the id of a file system", "fs-0123456789abcdef0")]
"""Id of a file system of FSx or EFS."""

# Amazon S3 user guide, "General purpose bucket naming rules".
BucketName = Annotated[
    str,
    Form(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", "the name of an S3 bucket, not its ARN or address", "example-models"),
]
"""Name of an S3 bucket."""


class ExistingLustre(Section):
    """A file system of FSx for Lustre that is there already. Slipway mounts it, and changes nothing of it."""

    file_system_id: FileSystemId
    """Its id."""

    # Amazon FSx API reference, LustreFileSystemConfiguration.
    mount_name: Annotated[str, Form(r"[A-Za-z0-9_-]{1,8}", "the file system's mount name", "fsx")]
    """Its mount name: `aws fsx describe-file-systems` calls it `MountName`."""

    client_security_group_id: ClientGroupId
    """Security group whose members it lets in, on ports 988 and 1018 to 1023, both ways."""


class ExistingOpenZfs(Section):
    """A volume of FSx for OpenZFS that is there already."""

    type: Literal["openzfs"]
    """Always `openzfs`."""

    volume_id: Annotated[str, Form(r"fsvol-[0-9a-f]{17}", "the id of a volume", "fsvol-0123456789abcdef0")]
    """Id of the volume. Its NFS export must let the nodes' root in: `no_root_squash`."""

    client_security_group_id: ClientGroupId
    """Security group whose members it lets in, on the ports of NFS."""


class ExistingEfs(Section):
    """A file system of Amazon EFS that is there already, with a mount target in the training zone."""

    type: Literal["efs"]
    """Always `efs`."""

    file_system_id: FileSystemId
    """Its id."""

    client_security_group_id: ClientGroupId
    """Security group whose members its mount targets let in, on port 2049."""


ExistingNfs = Annotated[ExistingOpenZfs | ExistingEfs, Field(discriminator="type")]
"""A file system that is there already, for /home or a further directory."""


class SharedDirectory(Section):
    """A further directory that all nodes of the Slurm cluster mount."""

    path: Annotated[str, Form(r"/[a-z][a-z0-9-]{1,28}", "a directory below /, in lower case", "/datasets")]
    """Where nodes mount it."""

    existing: ExistingNfs
    """What is mounted there."""


class ExistingBuckets(Section):
    """Buckets that are there already. Slipway changes neither policies nor settings, and deletes nothing."""

    data: BucketName | None = None
    """Name of the bucket with the text to train on."""

    checkpoints: BucketName | None = None
    """Name of the bucket for what is written below /fsx/checkpoints."""

    models: BucketName | None = None
    """Name of the bucket for published models."""


class Lustre(Section):
    """The file system at /fsx: FSx for Lustre, deployment type PERSISTENT_2 on SSD, or one that is there already."""

    existing: ExistingLustre | None = None
    """A file system that is there already; what else is written here describes it then."""

    # A file server for each 1,200 GiB, and a /16, the largest subnet, has room for 64,000 of them.
    capacity_gib: Annotated[int, Field(ge=1200, le=76_800_000)]
    """Storage capacity in GiB: 1200, 2400, or a multiple of 2400. It can grow later, never shrink. Of an existing file
    system it is what that has: checkpoints and volumes are checked against it."""

    throughput_mb_s_per_tib: Annotated[int, Field(ge=1)]
    """Throughput per unit of storage in MB/s/TiB: 125, 250, 500 or 1000; of an existing one whatever it has."""

    availability_zone_id: AvailabilityZoneId | None = None
    """Availability zone id; the training zone when left out. It must be the queues', reads cost otherwise."""

    lifecycle: Lifecycle | None = None
    """Sets the file system apart from `storage.lifecycle`."""


class Home(Section):
    """/home on FSx for OpenZFS instead of a volume of the head node: it outlives clusters and is backed up daily."""

    existing: ExistingNfs | None = None
    """A file system that is there already, instead of one of the sizes below."""

    capacity_gib: int = 128
    """SSD storage capacity in GiB."""

    throughput_mb_s: int = 128
    """Throughput capacity in MB/s."""

    backup_retention_days: Annotated[int, Field(ge=0, le=90)] = 7
    """Days that a daily backup is kept; 0 makes none."""

    lifecycle: Lifecycle | None = None
    """Sets the file system apart from `storage.lifecycle`."""


class AccountingDatabase(Section):
    """Slurm accounting: who ran what, when, on how many nodes. A MySQL database in Amazon RDS."""

    instance_type: str = "db.t4g.medium"
    """RDS instance class."""

    storage_gib: Annotated[int, Field(ge=20, le=16384)] = 20
    """Size of the encrypted gp3 storage in GiB."""

    multi_az: bool = False
    """A standby in a second zone, at twice the price."""

    backup_retention_days: Annotated[int, Field(ge=1, le=35)] = 7
    """Days that a daily backup is kept."""


class Storage(Section):
    """Data that jobs read and write. It stays when the cluster is rebuilt."""

    lustre: Lustre
    """The parallel file system that every node mounts at /fsx."""

    home: Home | None = None
    """/home on FSx for OpenZFS."""

    shared_directories: tuple[SharedDirectory, ...] = ()
    """File systems that are there already, mounted besides /fsx and /home."""

    existing_buckets: ExistingBuckets = ExistingBuckets()
    """Buckets that are there already, each in place of one of Slipway's."""

    accounting_database: AccountingDatabase | None = None
    """Where slurmdbd keeps the accounting records; without it `sacct` has no records."""

    lifecycle: Lifecycle | None = None
    """Sets storage apart from the environment's `lifecycle`, for example to keep data of an ephemeral environment."""

    deleted_object_days: Annotated[int, Field(ge=1, le=3650)] = 30
    """Days for which you can restore an object of the data, checkpoint and model buckets that was overwritten or
    deleted. Jobs cannot delete these versions."""

    record_object_access: bool = False
    """Records each read, write and deletion of an object in the checkpoint and model buckets with AWS CloudTrail, and
    keeps the records for `operations.log_retention_days`. CloudTrail bills 0.10 USD for 100,000 of them."""

    model_readers: tuple[RoleArn, ...] = ()
    """IAM roles of other accounts that may list and read the model bucket, for `slipway promote` there. AWS refuses the
    deployment while a role does not exist."""
