"""The spec's words about lifetimes in the CDK's words."""

import aws_cdk as cdk
from aws_cdk import aws_logs as logs

from slipway.config.environment import Environment
from slipway.config.storage import Lifecycle


def removal_policy(lifecycle: Lifecycle) -> cdk.RemovalPolicy:
    """Return what happens to data of this lifecycle when its stack is destroyed.

    A first deployment that fails takes back what it made, persistent or not: nothing is in it yet, and a file system
    that no stack has any more would bill on.
    """
    is_kept = lifecycle == "persistent"
    return cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE if is_kept else cdk.RemovalPolicy.DESTROY


def database_removal_policy(lifecycle: Lifecycle) -> cdk.RemovalPolicy:
    """Return what happens to a database of this lifecycle: kept, it would bill on; a last snapshot holds its data."""
    return cdk.RemovalPolicy.SNAPSHOT if lifecycle == "persistent" else cdk.RemovalPolicy.DESTROY


def storage_lifecycle(environment: Environment) -> Lifecycle:
    """Return the lifecycle of buckets, database and file systems without one of their own."""
    return environment.storage.lifecycle or environment.lifecycle


def lustre_lifecycle(environment: Environment) -> Lifecycle:
    """Return the lifecycle of /fsx: its own, or storage's. With a file system that is not ours nothing is kept."""
    if environment.storage.lustre.existing:
        return "ephemeral"
    return environment.storage.lustre.lifecycle or storage_lifecycle(environment)


def home_lifecycle(environment: Environment) -> Lifecycle:
    """Return the lifecycle of /home on OpenZFS: its own, or storage's. Without such a file system nothing is kept."""
    home = environment.storage.home
    return (home.lifecycle or storage_lifecycle(environment)) if home and not home.existing else "ephemeral"


def keeps_file_system(environment: Environment) -> bool:
    """Tell whether a file system outlives its stack, and needs its subnet and VPC to do so."""
    return "persistent" in (lustre_lifecycle(environment), home_lifecycle(environment))


def keeps_data(environment: Environment) -> bool:
    """Tell whether anything of the storage stack outlives it."""
    return storage_lifecycle(environment) == "persistent" or keeps_file_system(environment)


_RETENTION = {
    1: logs.RetentionDays.ONE_DAY,
    3: logs.RetentionDays.THREE_DAYS,
    5: logs.RetentionDays.FIVE_DAYS,
    7: logs.RetentionDays.ONE_WEEK,
    14: logs.RetentionDays.TWO_WEEKS,
    30: logs.RetentionDays.ONE_MONTH,
    60: logs.RetentionDays.TWO_MONTHS,
    90: logs.RetentionDays.THREE_MONTHS,
    120: logs.RetentionDays.FOUR_MONTHS,
    150: logs.RetentionDays.FIVE_MONTHS,
    180: logs.RetentionDays.SIX_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
    400: logs.RetentionDays.THIRTEEN_MONTHS,
    545: logs.RetentionDays.EIGHTEEN_MONTHS,
    731: logs.RetentionDays.TWO_YEARS,
    1827: logs.RetentionDays.FIVE_YEARS,
    3653: logs.RetentionDays.TEN_YEARS,
}


def log_retention(environment: Environment) -> logs.RetentionDays:
    """Return the environment's log retention as the CDK's enumeration, which names periods instead of days."""
    return _RETENTION[environment.operations.log_retention_days]
