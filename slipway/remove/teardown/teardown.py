"""The steps of a teardown, in order. Each can be done again: a second run goes on where the first one stopped."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from botocore.exceptions import ClientError

from slipway.aws.account import Account
from slipway.aws.stacks import LOG_GROUP, failed_deletions, skipped_resources
from slipway.errors import FailedError, UnprovenError
from slipway.remove.scope import Cluster, Scope
from slipway.remove.teardown.compute_fleet import ComputeFleet, NoAnswerError
from slipway.remove.teardown.compute_nodes import terminate_all
from slipway.remove.teardown.copies import backups
from slipway.remove.teardown.inspection import Inspection
from slipway.remove.teardown.kubernetes_nodes import cluster_stands, end_job_nodes
from slipway.remove.teardown.lambda_interfaces import release_lambda_interfaces
from slipway.remove.teardown.made_by_kubernetes import delete, made_by
from slipway.remove.teardown.programs import Programs
from slipway.remove.teardown.remains import find_remains, not_named, search_everywhere

ATTEMPTS = 2
"""How often stacks are deleted. What was in use at the first time, because EC2 was slow, is free at the second."""


@dataclass(frozen=True)
class Teardown:
    """The teardown of one environment.

    Attributes:
        scope: what belongs to it.
        found: what of that stands.
        account: where it stands.
        programs: the programs that do the work.
        assembly: the cloud assembly.
        node_timeout_seconds: longest wait for compute nodes, and for inference hosts, to terminate.
        tell: called with one line at a time.
    """

    scope: Scope
    found: Inspection
    account: Account
    programs: Programs
    assembly: Path
    node_timeout_seconds: float
    tell: Callable[[str], None]

    def take_protection_off(self) -> None:
        """Switch termination protection of stacks, and deletion protection of load balancers, off where it is on."""
        for name in self.found.protected:
            self.account.client("cloudformation").update_termination_protection(
                EnableTerminationProtection=False, StackName=name
            )
            self.tell(f"{name}: termination protection is off")
        for arn in self.found.protected_load_balancers:
            self.account.client("elbv2").modify_load_balancer_attributes(
                LoadBalancerArn=arn, Attributes=[{"Key": "deletion_protection.enabled", "Value": "false"}]
            )
            self.tell(f"{arn.split('/')[-2]}: deletion protection is off")

    def end_inference(self) -> None:
        """End the tasks that serve models, and their hosts.

        Raises:
            FailedError: hosts are still there after the longest wait.
        """
        self.found.inference.end(timeout_seconds=self.node_timeout_seconds, tell=self.tell)

    def empty_clusters(self) -> None:
        """Stop the compute fleets and wait until no compute node is left.

        Raises:
            FailedError: nodes are still there after the longest wait.
        """
        for cluster in self.scope.clusters:
            if cluster.name in self.found.stacks:
                self._stop_fleet(cluster)
            self._empty(cluster)

    def _stop_fleet(self, cluster: Cluster) -> None:
        fleet = ComputeFleet(self.programs.pcluster, cluster.name, self.account.region)
        try:
            status = fleet.stop(self.tell)
        except NoAnswerError as error:
            status = f"as it was ({error})"
        self.tell(f"{cluster.name}: compute fleet {status}")
        if status != "STOPPED":
            self.tell(f"{cluster.name}: its nodes are terminated without the head node")

    def _empty(self, cluster: Cluster) -> None:
        terminate_all(
            self.account.client("ec2"), cluster.name, timeout_seconds=self.node_timeout_seconds, tell=self.tell
        )
        self.tell(f"{cluster.name}: no compute node is left")

    def end_job_nodes(self) -> None:
        """Scale the node groups of jobs on Kubernetes to zero and wait until no node of them is left.

        Raises:
            FailedError: nodes are still there after the longest wait.
        """
        for cluster in self.scope.kubernetes_clusters:
            end_job_nodes(self.account, cluster, timeout_seconds=self.node_timeout_seconds, tell=self.tell)
            self.tell(f"{cluster}: no node of jobs is left")

    def sweep_after_kubernetes(self) -> None:
        """Delete what EKS clusters that are gone have left in the network."""
        for cluster in self.scope.kubernetes_clusters:
            if not cluster_stands(self.account, cluster):
                delete(self.account, made_by(self.account, cluster), self.tell)

    def _release_lambda_interfaces(self) -> None:
        """Wait for the interfaces of functions that went with an EKS cluster; while it exists they are in use."""
        clusters = self.scope.kubernetes_clusters
        if clusters and not any(cluster_stands(self.account, cluster) for cluster in clusters):
            release_lambda_interfaces(
                self.account, self.scope.environment, timeout_seconds=self.node_timeout_seconds, tell=self.tell
            )

    def delete_stacks(self) -> None:
        """Run `cdk destroy`; when it fails, once more after the nodes that a cluster may have started meanwhile.

        Raises:
            FailedError: the last attempt failed, too.
        """
        for attempt in range(1, ATTEMPTS + 1):
            self.sweep_after_kubernetes()
            if self.programs.destroy(self.assembly):
                return
            for line in failed_deletions(self.account.client("cloudformation"), self.found.stack_ids):
                self.tell(f"failed: {line}")
            if attempt < ATTEMPTS:
                self.tell("cdk destroy failed; waiting for compute nodes and Lambda's interfaces, then once more")
                for cluster in self.scope.clusters:
                    self._empty(cluster)
                self._release_lambda_interfaces()
        raise FailedError(
            f"cdk destroy failed {ATTEMPTS} times. Mend what its output names and run this again; "
            "`slipway docs teardown` says what usually holds a stack"
        )

    def backups_so_far(self) -> frozenset[str]:
        """Return the ids of the backups that the file systems that will go have: they are somebody's."""
        return frozenset(backup.id for backup in backups(self.account, self.found.lost_file_systems))

    def delete_last_backups(self, somebodys: frozenset[str]) -> None:
        """Delete the backup that FSx takes of an OpenZFS file system when it is deleted.

        CloudFormation cannot tell FSx not to.

        Args:
            somebodys: ids of the backups that stay.
        """
        for backup in list(backups(self.account, self.found.lost_file_systems)):
            if backup.id not in somebodys:
                try:
                    self.account.client("fsx").delete_backup(BackupId=backup.id)
                    self.tell(f"last backup {backup.id} of {backup.original} deleted")
                except ClientError as error:
                    self.tell(f"last backup {backup.id} of {backup.original} stays: {error}")

    def left_log_groups(self) -> list[str]:
        """Return the names of the log groups that outlived their stacks.

        CloudFormation retains those of ParallelCluster, so that a failed creation can be read; and the last words of
        EKS and ECS clusters make theirs again. The history knows the former, the search also those of earlier attempts.
        """
        skipped = skipped_resources(self.account.client("cloudformation"), self.found.stack_ids)
        found = search_everywhere(self.scope, self.account).leftovers
        names = {resource.physical_id for resource in skipped if resource.type == LOG_GROUP}
        return sorted(names | {left.id for left in found if left.kind == "log group"})

    def delete_log_groups(self, names: Iterable[str]) -> None:
        """Delete log groups."""
        for name in names:
            try:
                self.account.client("logs").delete_log_group(logGroupName=name)
                self.tell(f"log group {name} deleted")
            except self.account.client("logs").exceptions.ResourceNotFoundException:
                pass  # an earlier run deleted it
            except ClientError as error:
                self.tell(f"log group {name} stays: {error}")

    def verify(self) -> None:
        """Ask AWS what is left, and say it.

        Raises:
            FailedError: something is left that should not be.
            UnprovenError: nothing else is, but AWS did not let everything be looked at.
        """
        remains = find_remains(self.scope, self.found, self.account)
        found = search_everywhere(self.scope, self.account)
        remains += not_named(found, remains)
        for remainder in remains:
            self.tell(f"{'left' if remainder.documented else 'NOT DELETED'}: {remainder.what}: {remainder.reason}")
        for silent in found.not_looked_at:
            self.tell(f"not looked at: {silent.what}: {silent.why}")
        if found.tagged_only:
            self.tell(
                f"the tag index, which lags behind, still names {len(found.tagged_only)} of other kinds: "
                f"{', '.join(found.tagged_only)}. `slipway leftovers`, an hour later, says what of that is true"
            )
        problems = sum(not remainder.documented for remainder in remains)
        if problems:
            raise FailedError(
                f"{problems} of what is left should not be. Run this again, or delete it by hand: `slipway leftovers` "
                "names the commands"
            )
        if found.not_looked_at:
            raise UnprovenError(
                "no stack is left, but it is unknown whether all is gone: see what was not looked at, above. "
                "`slipway leftovers`, with credentials that may look there, shows it"
            )
