"""What exists before a teardown: the stacks, the nodes, and what they will leave."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from slipway.assembly.stacks import ENVIRONMENT_TAG
from slipway.aws.account import Account
from slipway.aws.stacks import DeployedStack, deployed_stacks, physical_ids, with_nested
from slipway.errors import RefusedError
from slipway.remove.scope import Scope
from slipway.remove.teardown.compute_nodes import ComputeNode, compute_nodes
from slipway.remove.teardown.copies import FILE_SYSTEM, DataHolders, find_data_holders
from slipway.remove.teardown.deployed import refuse_unnamed_losses
from slipway.remove.teardown.exports import Export, find_exports
from slipway.remove.teardown.inference_services import InferenceServices, Service, find_inference_services
from slipway.remove.teardown.jobs import Job, jobs
from slipway.remove.teardown.kubernetes_nodes import cluster_stands, job_nodes
from slipway.remove.teardown.made_by_kubernetes import Made, made_by

BUCKET = "AWS::S3::Bucket"
LOAD_BALANCER = "AWS::ElasticLoadBalancingV2::LoadBalancer"


@dataclass(frozen=True)
class Inspection:
    """What was found.

    Attributes:
        stacks: the environment's deployed stacks, by name, the clusters' own among them.
        stack_ids: ARNs of these and of the stacks nested in them.
        data: what holds data and of which copies may be left.
        lost_file_systems: ids of the FSx file systems that are deleted with their stack.
        lost_buckets: names of the S3 buckets that are deleted with their stack.
        exports: whether the files of those of `lost_file_systems` that are Lustre's are in their buckets.
        nodes: compute nodes that are not terminated, by cluster, those of jobs on Kubernetes among them.
        jobs: the jobs of each Slurm cluster that has nodes; without those whose head node does not answer.
        made_by_kubernetes: what deployed EKS clusters made by themselves, by cluster.
        inference: what serves models in the stacks.
        serving: its services, as they were.
        protected_load_balancers: ARNs of the load balancers with deletion protection.
    """

    stacks: dict[str, DeployedStack]
    stack_ids: tuple[str, ...]
    data: DataHolders
    lost_file_systems: tuple[str, ...]
    lost_buckets: tuple[str, ...]
    exports: tuple[Export, ...]
    nodes: dict[str, list[ComputeNode]]
    jobs: dict[str, tuple[Job, ...] | None]
    made_by_kubernetes: dict[str, list[Made]]
    inference: InferenceServices
    serving: tuple[Service, ...]
    protected_load_balancers: tuple[str, ...]

    @property
    def found_nothing(self) -> bool:
        """Whether neither a stack nor a node is there."""
        return not self.stacks and not any(self.nodes.values())

    @property
    def running_jobs(self) -> tuple[Job, ...]:
        """The jobs that the head nodes say are running."""
        return tuple(job for jobs in self.jobs.values() for job in jobs or () if not job.waits)

    @property
    def probably_busy(self) -> tuple[str, ...]:
        """Clusters with a node that was not asked to terminate and is not known to be idle: it probably runs a job."""
        return tuple(
            cluster
            for cluster, nodes in self.nodes.items()
            if self.jobs.get(cluster) is None and any(not node.is_going for node in nodes)
        )

    @property
    def protected(self) -> tuple[str, ...]:
        """Names of the stacks with termination protection."""
        return tuple(stack.name for stack in self.stacks.values() if stack.protected)


def inspect(scope: Scope, account: Account) -> Inspection:
    """Look at the account.

    Raises:
        RefusedError: the environment has a stack that the assembly does not know and would leave; a stack with one of
            its names is somebody else's, or is being deployed; or what is deployed deletes data that the assembly
            keeps.
    """
    everything = deployed_stacks(account.client("cloudformation"))
    strays = [
        name
        for name, stack in everything.items()
        if stack.tags.get(ENVIRONMENT_TAG) == scope.environment and name not in scope.stack_names
    ]
    if strays:
        raise RefusedError(
            f"{', '.join(strays)} carries the tag of environment {scope.environment!r}, but the environment file does "
            "not have it: a part that was taken out of the file (deploy the file first, or delete that stack), or a "
            "node image that is being built (wait for it). Nothing was changed"
        )
    stacks = {name: everything[name] for name in scope.stack_names if name in everything}
    foreign = [name for name, stack in stacks.items() if stack.tags.get(ENVIRONMENT_TAG) != scope.environment]
    if foreign:
        raise RefusedError(
            f"{', '.join(foreign)} is deployed, but without the tag of environment {scope.environment!r}: another "
            "owner's stack or cluster of the same name. Nothing was changed"
        )
    deploying = [f"{stack.name} ({stack.status})" for stack in stacks.values() if stack.is_being_deployed]
    if deploying:
        raise RefusedError(
            f"{', '.join(deploying)}: a deployment is under way, and CloudFormation deletes no stack in the middle of "
            "an update. Wait until it is done, or cancel it. Nothing was changed"
        )
    refuse_unnamed_losses(scope, stacks, account.client("cloudformation"))
    lost = _lost(scope, stacks, account, FILE_SYSTEM)
    stack_ids = [stack.id for stack in stacks.values()]
    # The clusters' own stacks have Auto Scaling groups that are ParallelCluster's.
    inference = find_inference_services(account, [stacks[name].id for name in scope.app_stack_names if name in stacks])
    nodes = {cluster.name: compute_nodes(account.client("ec2"), cluster.name) for cluster in scope.clusters}
    return Inspection(
        stacks=stacks,
        stack_ids=tuple(with_nested(account.client("cloudformation"), stack_ids)),
        data=find_data_holders(account, stack_ids),
        lost_file_systems=lost,
        lost_buckets=_lost(scope, stacks, account, BUCKET),
        exports=find_exports(account, lost),
        nodes=nodes | {name: job_nodes(account, name) for name in scope.kubernetes_clusters},
        jobs={cluster: jobs(account, cluster) for cluster, deployed in nodes.items() if deployed},
        made_by_kubernetes={
            name: made_by(account, name) for name in scope.kubernetes_clusters if cluster_stands(account, name)
        },
        inference=inference,
        serving=tuple(inference.services()),
        protected_load_balancers=tuple(_protected_load_balancers(account, stack_ids)),
    )


def _protected_load_balancers(account: Account, stack_ids: Iterable[str]) -> Iterator[str]:
    """Yield the load balancers that AWS would refuse to delete, in the middle of a stack's deletion."""
    for stack_id in stack_ids:
        for arn in physical_ids(account.client("cloudformation"), stack_id, LOAD_BALANCER).values():
            try:
                answer = account.client("elbv2").describe_load_balancer_attributes(LoadBalancerArn=arn)
            except account.client("elbv2").exceptions.LoadBalancerNotFoundException:
                continue  # CloudFormation goes on listing it when its stack could not be deleted whole
            if {"Key": "deletion_protection.enabled", "Value": "true"} in answer["Attributes"]:
                yield arn


def _lost(scope: Scope, stacks: dict[str, DeployedStack], account: Account, type_: str) -> tuple[str, ...]:
    """Return the physical ids of what holds data and is deleted with its stack, of one resource type."""
    lost = [resource for resource in scope.lost if resource.type == type_ and resource.stack in stacks]
    ids = {
        stack: physical_ids(account.client("cloudformation"), stacks[stack].id, type_)
        for stack in {resource.stack for resource in lost}
    }
    return tuple(
        ids[resource.stack][resource.logical_id] for resource in lost if resource.logical_id in ids[resource.stack]
    )
