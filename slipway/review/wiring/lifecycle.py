"""What stays, is billed or is lost when a stack, a machine or a file goes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from slipway.catalogue import known
from slipway.review.changes.references import references
from slipway.review.wiring.interfaces import CLUSTER
from slipway.review.wiring.kubernetes_objects import KubernetesObjects, finding
from slipway.review.wiring.registry import Finding, about, rule
from slipway.review.wiring.resources import Resources, mapping, rows, texts
from slipway.review.wiring.statements import statements

_BUCKET = "AWS::S3::Bucket"
_BILLED = (
    *(CLUSTER, "AWS::AutoScaling::AutoScalingGroup", "AWS::EC2::Instance", "AWS::EC2::NatGateway"),
    *("AWS::EC2::VPCEndpoint", "AWS::ECS::Service", "AWS::EKS::Cluster", "AWS::EKS::Nodegroup"),
    "AWS::ElasticLoadBalancingV2::LoadBalancer",
)
"""What costs by the hour and holds no data."""

_KEEPS = ("Retain", "RetainExceptOnCreate")


@rule(
    severity="warning",
    reason="S3 deletes no bucket that has objects: the stack's deletion fails.",
    fix="Write `auto_delete_objects=True`, or keep the bucket with a removal policy.",
    source='AWS CloudFormation user guide, "AWS::S3::Bucket": you can only delete empty buckets',
)
def bucket_that_goes_is_emptied(resources: Resources) -> Iterator[Finding]:
    """A bucket that goes with its stack has a custom resource that empties it, where another bucket has one."""
    emptied = {str(each.at("BucketName")) for each in resources.of_type("Custom::S3AutoDeleteObjects")}
    for bucket in resources.of_type(_BUCKET) if emptied else ():
        if bucket.template.get("DeletionPolicy") == "Delete" and f"${{{bucket.key}}}" not in emptied:
            yield about(bucket, "", "it goes with its stack, and nothing empties it")


@rule(
    severity="warning",
    reason="It goes on running and is billed, and what it uses cannot be deleted.",
    fix="Leave out the removal policy, or write `Delete`.",
    source='AWS CloudFormation user guide, "DeletionPolicy attribute"',
)
def what_costs_by_the_hour_goes(resources: Resources) -> Iterator[Finding]:
    """What costs by the hour and holds no data goes with its stack."""
    for each in resources.of_type(*_BILLED):
        for name in ("DeletionPolicy", "UpdateReplacePolicy"):
            if each.template.get(name) in _KEEPS:
                yield about(each, name, "it stays when its stack goes")


@rule(
    severity="warning",
    reason="Every machine that ends leaves a volume that is billed until somebody deletes it.",
    fix="Write `DeleteOnTermination: true`.",
    source='Amazon EC2 user guide, "Preserve data when an instance is terminated"',
)
def disk_goes_with_its_machine(resources: Resources) -> Iterator[Finding]:
    """A volume that a launch template makes goes with its machine."""
    for template in resources.of_type("AWS::EC2::LaunchTemplate"):
        for index, device in enumerate(rows(template.at("LaunchTemplateData.BlockDeviceMappings"))):
            if mapping(device.get("Ebs")).get("DeleteOnTermination") is False:
                path = f"LaunchTemplateData.BlockDeviceMappings.{index}.Ebs.DeleteOnTermination"
                yield about(template, path, "the volume stays when the machine ends")


@rule(
    severity="warning",
    reason="CloudWatch keeps the logs forever and bills them.",
    fix="Write `RetentionInDays`.",
    source='Amazon CloudWatch Logs user guide, "Change log data retention"',
)
def logs_expire(resources: Resources) -> Iterator[Finding]:
    """A log group has a retention."""
    for group in resources.of_type("AWS::Logs::LogGroup"):
        if group.at("RetentionInDays") is None:
            yield about(group, "RetentionInDays", "its logs never expire")


@rule(
    severity="warning",
    reason="Without versions an overwritten or deleted object is lost at once.",
    fix="Write `VersioningConfiguration: {Status: Enabled}`, or leave out the rule.",
    source='Amazon S3 user guide, "Retaining multiple versions of objects with S3 Versioning"',
)
def old_versions_are_made(resources: Resources) -> Iterator[Finding]:
    """A bucket whose rules are about old versions makes versions."""
    for bucket in resources.of_type(_BUCKET):
        rules = rows(bucket.at("LifecycleConfiguration.Rules"))
        about_old = any(str(key).startswith("Noncurrent") for one in rules for key in one)
        if about_old and bucket.at("VersioningConfiguration.Status") != "Enabled":
            yield about(bucket, "VersioningConfiguration", "its rules keep old versions, and it makes none")


@rule(
    severity="warning",
    reason="What is used for longer disappears, and what starts then does not find it.",
    fix="Expire old versions only (`NoncurrentVersionExpiration`), or the objects below a prefix of their own.",
    source='Amazon S3 user guide, "Expiring objects"',
)
def objects_in_use_stay(resources: Resources) -> Iterator[Finding]:
    """The objects of a bucket that a role may read do not expire by their age."""
    read = {
        key
        for policy in resources.of_type("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy")
        for statement in statements(policy.at("PolicyDocument"))
        if statement.allows_action("s3:GetObject")
        for key, _ in references(statement.row.get("Resource"))
    }
    for bucket in resources.of_type(_BUCKET):
        for index, one in enumerate(rows(bucket.at("LifecycleConfiguration.Rules"))):
            limited = any(name in one for name in ("Prefix", "TagFilters", "Filter"))
            ends = "ExpirationInDays" in one or "ExpirationDate" in one
            if bucket.key in read and ends and not limited and one.get("Status") == "Enabled":
                yield about(bucket, f"LifecycleConfiguration.Rules.{index}", "objects that a role reads expire")


@rule(
    severity="warning",
    reason="The image in use is deleted when it is old enough, and a machine that starts then cannot pull it.",
    fix="Keep a number of images (`imageCountMoreThan`), or expire untagged images only.",
    source='Amazon ECR user guide, "Automate the cleanup of images by using lifecycle policies"',
)
def images_in_use_stay(resources: Resources) -> Iterator[Finding]:
    """A repository does not expire tagged images by their age."""
    for repository in resources.of_type("AWS::ECR::Repository"):
        for one in _image_rules(repository.at("LifecyclePolicy.LifecyclePolicyText")):
            selection = one.get("selection", {})
            if selection.get("countType") == "sinceImagePushed" and selection.get("tagStatus") != "untagged":
                yield about(repository, "LifecyclePolicy", "it deletes images by their age, those in use too")


def _image_rules(text: Any) -> list[Mapping[str, Any]]:
    try:
        found = json.loads(str(text)).get("rules", [])
    except ValueError:
        return []
    return found if isinstance(found, list) else []


@rule(
    severity="warning",
    reason="Who makes room on the file system also deletes the copy in S3 that should outlive it.",
    fix="Leave `DELETED` out of the export's events.",
    source='FSx for Lustre user guide, "Automatically export updates to your S3 bucket"',
)
def deletion_is_not_exported(resources: Resources) -> Iterator[Finding]:
    """A file that is deleted on a file system stays in its bucket."""
    for association in resources.of_type("AWS::FSx::DataRepositoryAssociation"):
        if "DELETED" in texts(association.at("S3.AutoExportPolicy.Events")):
            yield about(association, "S3.AutoExportPolicy.Events", "a deletion on the file system is one in the bucket")


@rule(
    severity="warning",
    reason="CloudFormation deletes the old one, with its data, when an update replaces it.",
    fix="Write the same policy for both.",
    source='AWS CloudFormation user guide, "UpdateReplacePolicy attribute"',
)
def data_are_kept_in_both_ways(resources: Resources) -> Iterator[Finding]:
    """What holds data and is kept when its stack goes is also kept when it is replaced."""
    for each in resources.by_key.values():
        last, replaced = (each.template.get(name) for name in ("DeletionPolicy", "UpdateReplacePolicy"))
        if known(each.type).holds_data and last in (*_KEEPS, "Snapshot") and replaced in (None, "Delete"):
            yield about(each, "", f"it is kept at the end ({last}), and not when it is replaced")


@rule(
    severity="warning",
    reason="ECR deletes no repository that has images: the stack's deletion fails.",
    fix="Write `EmptyOnDelete: true`, or keep the repository with a removal policy.",
    source='AWS CloudFormation user guide, "AWS::ECR::Repository", EmptyOnDelete',
)
def repository_that_goes_is_emptied(resources: Resources) -> Iterator[Finding]:
    """A repository of images that goes with its stack is emptied first."""
    for repository in resources.of_type("AWS::ECR::Repository"):
        if repository.template.get("DeletionPolicy") not in _KEEPS and repository.at("EmptyOnDelete") is not True:
            yield about(repository, "EmptyOnDelete", "it goes with its stack, and its images do not")


@rule(
    reason="Kubernetes deletes the file system, with all files, when somebody deletes the claim.",
    fix="Write `persistentVolumeReclaimPolicy: Retain`.",
    source='Kubernetes documentation, "Persistent Volumes", Reclaiming',
)
def volume_of_the_stacks_stays(resources: Resources) -> Iterator[Finding]:
    """A volume whose file system is a resource of the stacks is kept when its claim goes."""
    for volume in KubernetesObjects(resources).of_kind("PersistentVolume"):
        policy = volume.at("spec.persistentVolumeReclaimPolicy")
        if resources.referred(volume.at("spec.csi.volumeHandle")) and policy != "Retain":
            yield finding(volume, "spec.persistentVolumeReclaimPolicy", f"it is {policy or 'not written'}")


@rule(
    reason="AWS refuses the capacity provider, or ends hosts that still serve.",
    fix="Write `NewInstancesProtectedFromScaleIn: true` for the group.",
    source='Amazon ECS developer guide, "Control the instances Amazon ECS terminates"',
)
def managed_hosts_are_protected(resources: Resources) -> Iterator[Finding]:
    """Hosts whose end ECS manages are protected from scale-in."""
    for provider in resources.of_type("AWS::ECS::CapacityProvider"):
        settings = mapping(provider.at("AutoScalingGroupProvider"))
        group = resources.resource(settings.get("AutoScalingGroupArn"), "AWS::AutoScaling::AutoScalingGroup")
        is_managed = settings.get("ManagedTerminationProtection") == "ENABLED"
        if group and is_managed and group.at("NewInstancesProtectedFromScaleIn") is not True:
            yield about(group, "NewInstancesProtectedFromScaleIn", f"{provider.logical_id} needs it")


@rule(
    severity="warning",
    reason="The database is gone with a mistake: there is no copy to restore.",
    fix="Write a `BackupRetentionPeriod` above 0.",
    source='Amazon RDS user guide, "Introduction to backups"',
)
def database_has_backups(resources: Resources) -> Iterator[Finding]:
    """A database has automated backups."""
    for database in resources.of_type("AWS::RDS::DBInstance"):
        if database.at("BackupRetentionPeriod") in (0, "0"):
            yield about(database, "BackupRetentionPeriod", "it has no backups")


@rule(
    reason="The function that empties buckets skips a bucket without the tag: S3 deletes no full bucket.",
    fix="Write the tag `aws-cdk:auto-delete-objects` with the value `true`.",
    source="aws/aws-cdk, packages/@aws-cdk/custom-resource-handlers/lib/aws-s3/auto-delete-objects-handler/index.ts",
)
def emptied_bucket_has_the_tag(resources: Resources) -> Iterator[Finding]:
    """A bucket that the CDK's function empties has the tag that the function looks for."""
    for emptier in resources.of_type("Custom::S3AutoDeleteObjects"):
        bucket = resources.resource(emptier.at("BucketName"), _BUCKET)
        tags = {str(tag.get("Key")): tag.get("Value") for tag in (rows(bucket.at("Tags")) if bucket else ())}
        if bucket and tags.get("aws-cdk:auto-delete-objects") != "true":
            yield about(bucket, "Tags", "it has not the tag of a bucket that may be emptied")


@rule(
    severity="warning",
    reason="A machine whose set-up hangs goes into service.",
    fix="Write `DefaultResult: ABANDON`.",
    source='Amazon EC2 Auto Scaling user guide, "How lifecycle hooks work in Auto Scaling groups"',
)
def machine_that_hangs_is_given_up(resources: Resources) -> Iterator[Finding]:
    """A hook at a machine's start gives the machine up when nobody answers."""
    for hook in resources.of_type("AWS::AutoScaling::LifecycleHook"):
        at_start = str(hook.at("LifecycleTransition")).endswith("EC2_INSTANCE_LAUNCHING")
        if at_start and hook.at("DefaultResult") == "CONTINUE":
            yield about(hook, "DefaultResult", "it goes on")


@rule(
    severity="warning",
    reason="A file that is written again is not in its bucket: after a loss the old one comes back.",
    fix="Write `NEW` and `CHANGED`.",
    source='FSx for Lustre user guide, "Automatically export updates to your S3 bucket"',
)
def changed_files_are_exported(resources: Resources) -> Iterator[Finding]:
    """What is exported by itself is exported when it is new and when it has changed."""
    for association in resources.of_type("AWS::FSx::DataRepositoryAssociation"):
        events = texts(association.at("S3.AutoExportPolicy.Events"))
        if events and not {"NEW", "CHANGED"} <= set(events):
            yield about(association, "S3.AutoExportPolicy.Events", f"it exports {', '.join(events)} alone")
