"""What the settings of clusters and jobs read of the storage stack."""

from typing import Protocol

from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3

from neuron_constructs.accounting_database import AccountingDatabase
from neuron_constructs.lustre import Lustre
from neuron_constructs.open_zfs import OpenZfsHome


class Storage(Protocol):
    """Buckets, file systems and the accounting database: `stacks.storage.StorageStack` has them."""

    data_bucket: s3.Bucket
    checkpoint_bucket: s3.Bucket
    model_bucket: s3.Bucket
    lustre: Lustre
    home: OpenZfsHome | None
    accounting_database: AccountingDatabase | None
    publisher_role: iam.Role | None
