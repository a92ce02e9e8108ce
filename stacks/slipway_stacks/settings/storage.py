"""What the settings of clusters and jobs read of the storage stack."""

from collections.abc import Mapping
from typing import Protocol

from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3

from neuron_constructs.accounting_database import AccountingDatabase
from neuron_constructs.cluster.shared_storage import SharedFileSystem
from neuron_constructs.lustre import LustreMount


class Storage(Protocol):
    """Buckets, file systems and the accounting database: `stacks.storage.StorageStack` has them."""

    data_bucket: s3.IBucket
    checkpoint_bucket: s3.IBucket
    model_bucket: s3.IBucket
    lustre: LustreMount
    home: SharedFileSystem | None
    shared_directories: Mapping[str, SharedFileSystem]
    accounting_database: AccountingDatabase | None
    publisher_role: iam.Role | None
