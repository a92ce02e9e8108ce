"""What an account answers in which an environment can be deployed, where moto does not know it."""

import json
from collections.abc import Mapping
from typing import Any

from slipway import facts
from tests.check.preflight.aws import ACCOUNT_ID, REGION, Refusal, Reply

PLENTY = 1_000_000.0
"""More than any environment needs of any quota."""


def limits(values: Mapping[str, float], otherwise: float | None = PLENTY) -> Reply:
    """Answer of service-quotas.GetServiceQuota.

    Args:
        values: limits by the quota's key in the facts.
        otherwise: of all other quotas; none for `NoSuchResourceException`.
    """
    by_code = {facts.quota(key).quota_code: value for key, value in values.items()}

    def reply(parameters: Mapping[str, Any]) -> Mapping[str, Any] | Refusal:
        value = by_code.get(parameters["QuotaCode"], otherwise)
        return Refusal("NoSuchResourceException") if value is None else {"Quota": {"Value": value}}

    return reply


def _versions(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "clusterVersions": [
            {"clusterVersion": version, "versionStatus": "STANDARD_SUPPORT"}
            for version in parameters["clusterVersions"]
        ]
    }


def _add_ons(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    pinned = facts.kubernetes_version(parameters["kubernetesVersion"]).add_ons
    builds = [{"addonVersion": pinned[parameters["addonName"]]}]
    return {"addons": [{"addonName": parameters["addonName"], "addonVersions": builds}]}


def price_list(usd: float | None) -> Mapping[str, Any]:
    """Answer of pricing.GetProducts for one instance type; the real one has a row of 0 as well."""
    dimensions = [{"unit": "Hrs", "pricePerUnit": {"USD": str(price)}} for price in (usd, 0.0) if price is not None]
    terms = {str(number): {"priceDimensions": {"rate": each}} for number, each in enumerate(dimensions)}
    return {"PriceList": [json.dumps({"terms": {"OnDemand": terms}})]}


def _prices(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    terms = {term["Field"]: term["Value"] for term in parameters["Filters"]}
    row = facts.on_demand_price(terms["instanceType"], terms["regionCode"])
    return price_list(row.usd if row else None)


def _endpoint_services(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    names = next(row["Values"] for row in parameters["Filters"] if row["Name"] == "service-name")
    zones = list(facts.region(REGION).availability_zone_ids)
    return {"ServiceDetails": [{"ServiceName": name, "AvailabilityZoneIds": zones} for name in names]}


def _parameter(parameters: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if not parameters["Name"].startswith("/cdk-bootstrap/"):
        return None
    return {"Parameter": {"Name": parameters["Name"], "Value": "28"}}


REPLIES: Mapping[str, Reply] = {
    "sts.GetCallerIdentity": {"Account": ACCOUNT_ID, "Arn": f"arn:aws:iam::{ACCOUNT_ID}:user/deployer", "UserId": "A"},
    "ec2.DescribeRegions": {"Regions": [{"RegionName": REGION, "OptInStatus": "opt-in-not-required"}]},
    "ssm.GetParameter": _parameter,
    "s3.HeadBucket": {},
    "service-quotas.GetServiceQuota": limits({}),
    "service-quotas.GetAWSDefaultServiceQuota": {"Quota": {"Value": PLENTY}},
    "ec2.DescribeVpcEndpointServices": _endpoint_services,
    "ec2.DescribeCapacityReservations": {"CapacityReservations": []},
    "ec2.DescribeCapacityBlockOfferings": {"CapacityBlockOfferings": []},
    "ec2.CreateCapacityReservation": Refusal("InsufficientInstanceCapacity"),
    "iam.SimulatePrincipalPolicy": {"EvaluationResults": []},
    "eks.DescribeClusterVersions": _versions,
    "eks.DescribeAddonVersions": _add_ons,
    "pricing.GetProducts": _prices,
}
