"""The `storage` section: FSx for Lustre and the buckets that outlive jobs."""

from typing import Annotated, Literal

from pydantic import Field

from slipway.spec.section import AvailabilityZoneId, Section

Lifecycle = Literal["ephemeral", "persistent"]
"""`ephemeral`: `cdk destroy` deletes everything, data included. `persistent`: file system and data buckets are kept."""


class Lustre(Section):
    """The file system at /fsx: FSx for Lustre, deployment type PERSISTENT_2 on SSD."""

    capacity_gib: Annotated[int, Field(ge=1200)]
    """Storage capacity in GiB: 1200, 2400, or a multiple of 2400. It can grow later, never shrink."""

    throughput_mb_s_per_tib: int
    """Throughput per unit of storage in MB/s/TiB: 125, 250, 500 or 1000."""

    availability_zone_id: AvailabilityZoneId | None = None
    """Availability zone id; the training zone when left out. It must be the queues', reads cost otherwise."""


class Storage(Section):
    """Data that jobs read and write. It stays when the cluster is rebuilt."""

    lustre: Lustre
    """The parallel file system that every node mounts at /fsx."""

    lifecycle: Lifecycle | None = None
    """Sets storage apart from the environment's `lifecycle`, for example to keep data of an ephemeral environment."""
