"""What is left after a teardown, in the words of the AWS APIs, and whether someone wrote down that it would be."""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from slipway.assembly.stacks import ENVIRONMENT_TAG
from slipway.aws.account import Account
from slipway.aws.stacks import LOG_GROUP, SkippedResource, deployed_stacks, skipped_resources
from slipway.catalogue import known
from slipway.remove.documented_leftovers import rules
from slipway.remove.leftovers.environment import subject_of
from slipway.remove.leftovers.findings import Findings
from slipway.remove.leftovers.look import look
from slipway.remove.scope import Scope
from slipway.remove.teardown.copies import find_copies
from slipway.remove.teardown.inspection import Inspection
from slipway.remove.teardown.made_by_kubernetes import made_by

_COPY = "A copy of the data; it costs by size."
_COPIES = ("EBS snapshot", "FSx backup", "database snapshot")


@dataclass(frozen=True)
class Remainder:
    """Something that is still there.

    Attributes:
        what: what it is, with its name or id.
        reason: why.
        documented: whether that is as it should be.
    """

    what: str
    reason: str
    documented: bool


def find_remains(scope: Scope, before: Inspection, account: Account) -> list[Remainder]:
    """Ask CloudFormation and the services what is left of an environment."""
    deployed = deployed_stacks(account.client("cloudformation"))
    return [
        *(
            Remainder(f"stack {name}", f"it is in {deployed[name].status}", documented=False)
            for name in scope.stack_names
            if name in deployed
        ),
        *(
            _skipped(scope, resource)
            for resource in skipped_resources(account.client("cloudformation"), before.stack_ids)
            # The teardown has deleted those: the search says which of them stand.
            if resource.type != LOG_GROUP
        ),
        *_made_by_kubernetes(scope, account),
        *_copies(before, account),
        *_images(scope, account),
        *_buckets(account),
    ]


def search_everywhere(scope: Scope, account: Account) -> Findings:
    """Search every service for what carries the environment's tags or names, as `slipway leftovers` does."""
    return look(subject_of(scope), account)


def not_named(found: Findings, remains: list[Remainder]) -> Iterator[Remainder]:
    """Yield what a search found beyond what CloudFormation's history and the copies of data have reported.

    A second run knows no file system any more, and finds its backups by their tags.
    """
    named = {word for remainder in remains for word in remainder.what.split()}
    for left in found.leftovers:
        if left.id not in named:
            reason = left.reason or (_COPY if left.kind in _COPIES else None)
            why = reason or f"{left.why}; {left.cost}"
            # Those of a teardown go with it, whatever a mere `cdk destroy` may leave.
            documented = reason is not None and left.kind != "log group"
            yield Remainder(f"{left.kind} {left.id}", why, documented=documented)


def _skipped(scope: Scope, resource: SkippedResource) -> Remainder:
    what = f"{resource.type} {resource.physical_id}"
    for row in rules().documented:
        if fnmatchcase(resource.physical_id, row.name):
            return Remainder(what, row.reason, documented=True)
    chosen = {(kept.stack, kept.logical_id) for kept in scope.kept}
    data = known(resource.type).kept_when_persistent
    if data and (resource.stack, resource.logical_id) in chosen:
        return Remainder(what, data.reason, documented=True)
    for cluster in scope.clusters:
        keeps_volumes = resource.stack == cluster.name and "Retain" in cluster.volumes.values()
        if keeps_volumes and resource.type == "AWS::EC2::Volume":
            return Remainder(what, "The environment file keeps a volume of the cluster.", documented=True)
    return Remainder(
        what, f"the deletion policy of {resource.stack}/{resource.logical_id} left it alone", documented=False
    )


def _made_by_kubernetes(scope: Scope, account: Account) -> Iterator[Remainder]:
    for cluster in scope.kubernetes_clusters:
        for made in made_by(account, cluster):
            reason = f"the Kubernetes cluster {cluster} made it"
            if made.kind == "volume":
                reason += f"; it may hold data: `aws ec2 delete-volume --region {account.region} --volume-id {made.id}`"
            yield Remainder(str(made), reason, documented=False)


def _copies(before: Inspection, account: Account) -> Iterator[Remainder]:
    for copy in find_copies(account, before.data):
        yield Remainder(f"{copy.kind} {copy.id} of {copy.original}", _COPY, documented=True)


def _images(scope: Scope, account: Account) -> Iterator[Remainder]:
    filters = [{"Name": f"tag:{ENVIRONMENT_TAG}", "Values": [scope.environment]}]
    for page in account.client("ec2").get_paginator("describe_images").paginate(Owners=["self"], Filters=filters):
        for image in page["Images"]:
            reason = "A baked node image; `pcluster delete-image` deletes it (`slipway docs node-image`)."
            yield Remainder(f"AMI {image['ImageId']}", reason, documented=True)


def _buckets(account: Account) -> Iterator[Remainder]:
    """What ParallelCluster keeps for all clusters of the account and Region."""
    names = [bucket["Name"] for bucket in account.client("s3").list_buckets(BucketRegion=account.region)["Buckets"]]
    for row in rules().documented:
        if row.kind == "S3 bucket" and row.left_by == "ParallelCluster":
            for name in names:
                if fnmatchcase(name, row.name):
                    yield Remainder(f"S3 bucket {name}", row.reason, documented=True)
