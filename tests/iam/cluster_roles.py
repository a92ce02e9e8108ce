"""The roles of a cluster's nodes, with the policies that the real aws-parallelcluster gives them.

`parallelcluster_roles.json` is what aws-parallelcluster 3.16.1 built for environments/team.yaml;
tests/review/judge/test_node_policies.py makes it again and compares.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.assembly import Assembly
from tests.iam.account import Account, MadeStack, managed_by_aws
from tests.iam.simulator import ACCOUNT, Document, Request

RECORDED = Path(__file__).with_name("parallelcluster_roles.json")
CLUSTER = "trainium-team"

# Ids that the judge's account makes up again each time.
_MADE_UP = {
    r"subnet-[0-9a-f]{17}": "subnet-0123456789abcdef0",
    r"parallelcluster-[0-9a-f]{16}-v1": "parallelcluster-0123456789abcdef-v1",
    r"/clusters/([a-z0-9-]+)-[a-z0-9]{16}/": r"/clusters/\1-0123456789abcdef/",
    r"image/ami-[0-9a-f]{17}": "image/ami-0123456789abcdef0",
    r"(secret:[A-Za-z0-9-]+)-[A-Za-z0-9]{6}\b": r"\1-AbCdEf",
}


def kind_of(statements: Sequence[Mapping[str, Any]]) -> str:
    """Tell a node's kind by the names of its statements."""
    names = {statement.get("Sid") for statement in statements}
    return "head" if "EC2Terminate" in names else "login" if "Autoscaling" in names else "compute"


def by_kind(node_policies: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """Return one role of each kind, of what the judge answers, without ids that it makes up."""
    text = json.dumps(node_policies)
    for pattern, instead in _MADE_UP.items():
        text = re.sub(pattern, instead, text)
    return {kind_of(statements): statements for statements in json.loads(text).values()}


class ClusterNode:
    """A node of the cluster `trainium-team`, as it may act after its deployment."""

    def __init__(self, assembly: Assembly, kind: str) -> None:
        account = Account([assembly])
        (cluster,) = account.resources("Custom::PclusterCluster")
        configuration = cluster.resolved["ClusterConfiguration"]
        section = {
            "head": configuration["HeadNode"],
            "login": configuration["LoginNodes"]["Pools"][0],
            "compute": configuration["Scheduling"]["SlurmQueues"][0],
        }[kind]
        template = {"Parameters": {"Route53HostedZone": {"Default": "Z0ABC"}}, "Resources": {}}
        resolver = MadeStack(account, CLUSTER, "us-west-2", template).resolver
        recorded = resolver.resolve(json.loads(RECORDED.read_text("utf-8"))[kind])
        self.provided: list[Document] = [
            {"Version": "2012-10-17", "Statement": recorded},
            managed_by_aws("CloudWatchAgentServerPolicy"),
        ]
        """What ParallelCluster gives the role."""
        added = [account.managed_policy(item["Policy"]) for item in section["Iam"]["AdditionalIamPolicies"]]
        self.policies = [*self.provided, *added]
        """That, and what Slipway adds."""
        self.arn = f"arn:aws:iam::{ACCOUNT}:role/parallelcluster/{CLUSTER}/{kind}"

    def request(
        self,
        action: str,
        resource: str,
        context: Mapping[str, str | Sequence[str]] | None = None,
        *,
        only_provided: bool = False,
    ) -> Request:
        """Return a request of the node; `only_provided` leaves out what Slipway adds."""
        return Request(self.arn, action, resource, self.provided if only_provided else self.policies, context or {})
