"""What a caller knows besides the configuration itself. What is left out is not known, and is never guessed."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from slipway.assembly.sections import UnknownValue, is_open


@dataclass(frozen=True, kw_only=True)
class Subnet:
    """A subnet that nodes stand in."""

    zone_id: str | None
    """Availability Zone id, for example `usw2-az4`; None when not known."""

    public: bool
    """Whether what starts in it gets a public address, or its default route leads to an internet gateway."""

    addresses: int | None
    """Addresses that EC2 can give out in it; None when not known."""


@dataclass(frozen=True, kw_only=True)
class Context:
    """Facts about the surroundings of a cluster."""

    region: str | None = None
    """AWS Region, where the configuration does not name it."""

    subnets: Mapping[str, Subnet] = field(default_factory=dict)
    """Subnets by what exists in the configuration: an id or a reference such as `${network.Subnet1}`."""

    own_buckets: Collection[str] | None = None
    """Names of, or references to, the buckets of this environment."""

    script_urls: Collection[str] | None = None
    """URLs of the objects that a deployment puts into them."""

    policy_arns: Mapping[str, str] = field(default_factory=dict)
    """ARNs of managed policies by the reference that stands in the configuration."""

    session_policies: Collection[str] | None = None
    """References to managed policies of this environment that let Session Manager reach a node."""

    file_system_zones: Mapping[str, str] = field(default_factory=dict)
    """Availability Zone id of FSx file systems, by id or reference."""

    made_by_provider: bool | None = None
    """Whether AWS's CloudFormation provider makes the cluster, with the role it brings."""

    release: str | None = None
    """ParallelCluster release; the newest that the facts know where it is None."""

    permissions_boundaries: Collection[str] | None = None
    """Permissions boundaries of the other roles of this environment."""

    vcpu_quotas: Mapping[str, int] = field(default_factory=dict)
    """vCPUs that an account may run, by the key of the quota in the facts."""

    hourly_ceiling_usd: float | None = None
    """What all nodes together may cost per hour."""

    def of_account(self, caller: "Context") -> "Context":
        """Return it with the quotas and the ceiling that a caller knows."""
        return replace(self, vcpu_quotas=caller.vcpu_quotas, hourly_ceiling_usd=caller.hourly_ceiling_usd)

    def subnet(self, reference: str) -> Subnet:
        """Return a subnet.

        Raises:
            UnknownValue: nobody has said what it is.
        """
        if reference not in self.subnets:
            raise UnknownValue(f"nothing is known about the subnet {reference}")
        return self.subnets[reference]

    def policy_arn(self, written: str) -> str:
        """Return the ARN of a policy; parts that do not matter may be open.

        Raises:
            UnknownValue: the whole ARN is only known later.
        """
        arn = self.policy_arns.get(written, written)
        if is_open(arn) and "/" not in arn:
            raise UnknownValue(f"the policy {arn} is only known later")
        return arn
