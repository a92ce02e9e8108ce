"""The `kms` section: a customer-managed key."""

from typing import Annotated

from slipway.config.section import Form, Section

KeyArn = Annotated[
    str,
    Form(
        r"arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/(mrk-[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})",
        "the ARN of a KMS key, not of an alias",
        "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab",
    ),
]
"""ARN of a key in AWS KMS."""


class Kms(Section):
    """A customer-managed key for everything that can have one. Its policy must name who uses it, and stays yours."""

    key_arn: KeyArn
    """ARN of the key: symmetric, in the environment's Region. File systems and a database that were deployed with
    another key are replaced."""
