"""What every node of the cluster gets: subnet, policies and the set-up scripts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

ENTRY_SCRIPT = "node_configured.sh"
"""The one script that ParallelCluster downloads to a node; it fetches the others from beside it."""


NodeRole = Literal["head", "login", "compute"]
"""What a node is for."""


@dataclass(frozen=True, kw_only=True)
class NodeAccess:
    """What every node of the cluster gets."""

    subnet_id: str
    """The private subnet."""

    client_security_group_ids: tuple[str, ...]
    """Security groups whose members may mount the file systems."""

    policy_arns: Mapping[NodeRole, Sequence[str]]
    """Managed policies for the roles of nodes; the provider's own role may attach only those it allows."""

    script_bucket: str
    """Name of the bucket that holds the node set-up scripts."""

    script_prefix: str
    """Key prefix of the scripts, without slashes at its ends."""

    proxy_url: str | None = None
    """Address of the HTTP proxy that nodes use."""

    def additional_security_groups(self, *more: str) -> dict[str, Any]:
        """Return the part of a node's `Networking` that lets it mount the file systems.

        Args:
            more: further groups of this node.
        """
        return {"AdditionalSecurityGroups": [*self.client_security_group_ids, *more]}

    def proxy(self) -> dict[str, Any]:
        """Return the part of a node's `Networking` with the proxy, if there is one.

        ParallelCluster gives it to package managers, login shells and its own programs (resources/*/user_data.sh of
        aws-parallelcluster 3.16.1), and has no field for what bypasses it: `proxy.sh` of the set-up scripts adds that.
        """
        return {"Proxy": {"HttpProxyAddress": self.proxy_url}} if self.proxy_url else {}

    def node_set_up(self, role: NodeRole, *arguments: str) -> dict[str, Any]:
        """Return a custom action that sets up a node of this role.

        URL and arguments are stable: ParallelCluster refuses every update that changes one of them on the head node.
        """
        return {
            "Script": f"s3://{self.script_bucket}/{self.script_prefix}/{ENTRY_SCRIPT}",
            "Args": [role, self.script_bucket, self.script_prefix, *arguments],
        }

    def additional_iam_policies(self, role: NodeRole) -> dict[str, Any]:
        """Return the `Iam` section of a node with this role."""
        return {"AdditionalIamPolicies": [{"Policy": arn} for arn in self.policy_arns[role]]}
