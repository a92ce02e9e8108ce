"""What an account answers about launches in which an environment can be deployed: reservations, roles, permissions."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.check.preflight.aws import ACCOUNT_ID, Refusal, Reply

ON_DEMAND, BLOCK = "cr-0123456789abcdef0", "cr-0fedcba9876543210"
"""The reservations that the UltraCluster's file names."""

TRIAL = "cr-00000000000000001"
"""The one that a proof of capacity makes."""


def in_days(days: float) -> datetime:
    """Return a moment from now on, or before."""
    return datetime.now(UTC) + timedelta(days=days)


def reservation(reservation_id: str, **changes: Any) -> dict[str, Any]:
    """Return a reservation as EC2 describes it."""
    block = reservation_id == BLOCK
    slots = 16 if block else 1603
    return {
        "CapacityReservationId": reservation_id,
        "State": "active",
        "AvailabilityZoneId": "usw2-az4",
        "InstanceType": "trn1.32xlarge",
        "InstancePlatform": "Linux/UNIX",
        "Tenancy": "default",
        "InstanceMatchCriteria": "targeted",
        "ReservationType": "capacity-block" if block else "default",
        "TotalInstanceCount": slots,
        "AvailableInstanceCount": slots,
        **({"StartDate": in_days(-1), "EndDate": in_days(10)} if block else {}),
        **changes,
    }


def reservations(*known: Mapping[str, Any]) -> Reply:
    """Answer of ec2.DescribeCapacityReservations in an account with these; a proof's one is cancelled."""
    by_id = {row["CapacityReservationId"]: row for row in (*known, reservation(TRIAL, State="cancelled"))}

    def reply(parameters: Mapping[str, Any]) -> Mapping[str, Any] | Refusal:
        (wanted,) = parameters["CapacityReservationIds"]
        if wanted not in by_id:
            return Refusal("InvalidCapacityReservationId.NotFound")
        return {"CapacityReservations": [by_id[wanted]]}

    return reply


def role(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """Answer of iam.GetRole in an account that has every role."""
    name = parameters["RoleName"]
    arn = f"arn:aws:iam::{ACCOUNT_ID}:role/people/{name}"
    created = datetime(2026, 1, 1, tzinfo=UTC)
    return {"Role": {"Path": "/people/", "RoleName": name, "RoleId": "A" * 16, "Arn": arn, "CreateDate": created}}


def simulation(denied: frozenset[str] = frozenset(), only_on: str = "") -> Reply:
    """Answer of iam.SimulatePrincipalPolicy for a principal that may do everything else.

    Args:
        denied: the actions that it may not do.
        only_on: on which resources not: a part of their ARNs.
    """

    def decision(action: str, resource: str) -> str:
        return "implicitDeny" if action in denied and only_on in resource else "allowed"

    def reply(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        first = parameters["ResourceArns"][0]
        return {
            "EvaluationResults": [
                # IAM has one result for each action; its head is that of one resource.
                {
                    "EvalActionName": action,
                    "EvalResourceName": first,
                    "EvalDecision": decision(action, first),
                    "ResourceSpecificResults": [
                        {"EvalResourceName": resource, "EvalResourceDecision": decision(action, resource)}
                        for resource in parameters["ResourceArns"]
                    ],
                }
                for action in parameters["ActionNames"]
            ]
        }

    return reply


LAUNCH_REPLIES: Mapping[str, Reply] = {
    "ec2.DescribeCapacityReservations": reservations(reservation(ON_DEMAND), reservation(BLOCK)),
    "ec2.DescribeCapacityBlockOfferings": {"CapacityBlockOfferings": []},
    "ec2.CreateCapacityReservation": {"CapacityReservation": {"CapacityReservationId": TRIAL, "State": "active"}},
    "ec2.CancelCapacityReservation": {"Return": True},
    "resource-groups.ListGroupResources": {"Resources": []},
    "resource-groups.GetGroupConfiguration": {
        "GroupConfiguration": {"Configuration": [{"Type": "AWS::EC2::CapacityReservationPool"}]}
    },
    "iam.GetRole": role,
    "iam.SimulatePrincipalPolicy": simulation(),
}
