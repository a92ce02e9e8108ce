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


class Lustre(Section):
    """The file system at /fsx: FSx for Lustre, deployment type PERSISTENT_2 on SSD."""

    # A file server for each 1,200 GiB, and a /16, the largest subnet, has room for 64,000 of them.
    capacity_gib: Annotated[int, Field(ge=1200, le=76_800_000)]
    """Storage capacity in GiB: 1200, 2400, or a multiple of 2400. It can grow later, never shrink."""

    throughput_mb_s_per_tib: int
    """Throughput per unit of storage in MB/s/TiB: 125, 250, 500 or 1000."""

    availability_zone_id: AvailabilityZoneId | None = None
    """Availability zone id; the training zone when left out. It must be the queues', reads cost otherwise."""

    lifecycle: Lifecycle | None = None
    """Sets the file system apart from `storage.lifecycle`."""


class Home(Section):
    """/home on FSx for OpenZFS instead of a volume of the head node: it outlives clusters and is backed up daily."""

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
