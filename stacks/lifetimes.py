"""The spec's words about lifetimes in the CDK's words."""

import aws_cdk as cdk
from aws_cdk import aws_logs as logs

from slipway.spec.environment import Environment
from slipway.spec.storage import Lifecycle


def removal_policy(lifecycle: Lifecycle) -> cdk.RemovalPolicy:
    """Return what happens to data of this lifecycle when its stack is destroyed."""
    return cdk.RemovalPolicy.RETAIN if lifecycle == "persistent" else cdk.RemovalPolicy.DESTROY


def storage_lifecycle(environment: Environment) -> Lifecycle:
    """Return the lifecycle of file system and data buckets: their own, or the environment's."""
    return environment.storage.lifecycle or environment.lifecycle


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
