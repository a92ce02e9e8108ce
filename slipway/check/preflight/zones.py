"""The Availability Zones of an account: ids, which mean the same place everywhere, and this account's names of them."""

from slipway.aws.account import Account


def zone_ids_by_name(account: Account) -> dict[str, str]:
    """Return the ids of the Region's Availability Zones by name, for example `usw2-az4` by `us-west-2d`.

    Local Zones and Wavelength Zones are left out, and zones that are not available.

    Raises:
        ClientError: EC2 refuses to answer.
    """
    described = account.listing("ec2", "describe_availability_zones", "AvailabilityZones")
    return {
        zone["ZoneName"]: zone["ZoneId"]
        for zone in described
        if zone.get("ZoneType", "availability-zone") == "availability-zone" and zone["State"] == "available"
    }
