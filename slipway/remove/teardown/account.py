"""The AWS account that is asked and changed."""

from dataclasses import dataclass
from typing import Any

import boto3

from slipway.errors import RefusedError
from slipway.remove.leftovers.calls import UNANSWERED, words_of


@dataclass(frozen=True)
class Account:
    """An account and a Region, with the credentials that boto3 finds.

    Attributes:
        id: account id.
        region: AWS Region.
        application_autoscaling: boto3 client.
        autoscaling: boto3 client.
        cloudformation: boto3 client.
        cloudwatch: boto3 client.
        ecs: boto3 client.
        eks: boto3 client.
        elb: boto3 client, of classic load balancers.
        ec2: boto3 client.
        elbv2: boto3 client.
        fsx: boto3 client.
        logs: boto3 client.
        rds: boto3 client.
        s3: boto3 client.
        ssm: boto3 client.
    """

    id: str
    region: str
    application_autoscaling: Any
    autoscaling: Any
    cloudformation: Any
    cloudwatch: Any
    ecs: Any
    eks: Any
    elb: Any
    ec2: Any
    elbv2: Any
    fsx: Any
    logs: Any
    rds: Any
    s3: Any
    ssm: Any


def open_account(region: str) -> Account:
    """Find out whose credentials these are.

    Raises:
        RefusedError: there are none, or AWS does not take them.
    """
    try:
        session = boto3.Session(region_name=region)
        identity = session.client("sts").get_caller_identity()
        return Account(
            id=identity["Account"],
            region=region,
            application_autoscaling=session.client("application-autoscaling"),
            autoscaling=session.client("autoscaling"),
            cloudformation=session.client("cloudformation"),
            cloudwatch=session.client("cloudwatch"),
            ecs=session.client("ecs"),
            eks=session.client("eks"),
            elb=session.client("elb"),
            ec2=session.client("ec2"),
            elbv2=session.client("elbv2"),
            fsx=session.client("fsx"),
            logs=session.client("logs"),
            rds=session.client("rds"),
            s3=session.client("s3"),
            ssm=session.client("ssm"),
        )
    except UNANSWERED as error:
        raise RefusedError(
            f"no AWS account: {words_of(error)}. Log in, or set AWS_PROFILE; nothing was changed"
        ) from error
