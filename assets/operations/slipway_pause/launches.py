"""A Slurm cluster's right to launch nodes, withdrawn from its head node while the environment is stopped.

The fleet's status alone holds nothing: the head node writes it itself, so whoever is root there starts the fleet again.
A policy of the head node's role denies launches while the role has the tag (constructs, cluster/node_bounds.py), and
the role may not remove its own tags.
"""

from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from slipway_pause.part import TAG, is_error

ROLE = "RoleHeadNode"
"""Logical id of the head node's role in the cluster's stack (pcluster/templates/cluster_stack.py, 3.16.1)."""


@dataclass(frozen=True)
class Launches:
    """The launches of one cluster.

    Attributes:
        cloudformation: boto3 client.
        iam: boto3 client.
        cluster: name of the cluster, and of its stack.
    """

    cloudformation: Any
    iam: Any
    cluster: str

    @property
    def name(self) -> str:
        """What people know it by."""
        return f"launches of {self.cluster}"

    def stop(self) -> str | None:
        """Deny launches; nothing when there is no cluster, or they are denied."""
        role = self._role()
        if role is None or self._tag(role):
            return None
        self.iam.tag_role(RoleName=role, Tags=[{"Key": TAG, "Value": "launches"}])
        return "are denied to its head node"

    def start(self) -> str | None:
        """Allow launches again, when it was this that denied them."""
        role = self._role()
        if role is None or not self._tag(role):
            return None
        self.iam.untag_role(RoleName=role, TagKeys=[TAG])
        return "are allowed again"

    def remembered(self) -> str | None:
        """That they were allowed."""
        role = self._role()
        return "allowed" if role and self._tag(role) else None

    def _role(self) -> str | None:
        try:
            found = self.cloudformation.describe_stack_resource(StackName=self.cluster, LogicalResourceId=ROLE)
        except ClientError as error:
            # No such stack, or none of its resources has the name: the head node has a role of somebody else's.
            if is_error(error, "ValidationError"):
                return None
            raise
        return str(found["StackResourceDetail"]["PhysicalResourceId"])

    def _tag(self, role: str) -> str | None:
        tags = self.iam.list_role_tags(RoleName=role)["Tags"]
        return next((str(tag["Value"]) for tag in tags if tag["Key"] == TAG), None)
