"""Lifecycle: what is kept, billed or lost when a stack, an instance or a file is deleted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from slipway.catalogue import known
from slipway.review.changes.references import references, strings
from slipway.review.wiring.interfaces import CLUSTER, launch_template
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
"""Resource types that are billed by the hour and hold no data."""

_SET_UP_SECONDS = re.compile(r"\bSLIPWAY_SETUP_SECONDS=(\d+)")
_KEEPS = ("Retain", "RetainExceptOnCreate")


@rule(
    severity="warning",
    reason="S3 refuses to delete a bucket with objects: the deletion of the stack fails.",
    fix="Write `auto_delete_objects=True`, or keep the bucket with a removal policy.",
    source='AWS CloudFormation user guide, "AWS::S3::Bucket": you can only delete empty buckets',
)
def bucket_that_goes_is_emptied(resources: Resources) -> Iterator[Finding]:
    """A bucket with the deletion policy `Delete` is emptied first, if another bucket of the stacks is."""
    emptied = {str(each.at("BucketName")) for each in resources.of_type("Custom::S3AutoDeleteObjects")}
    for bucket in resources.of_type(_BUCKET) if emptied else ():
        if bucket.template.get("DeletionPolicy") == "Delete" and f"${{{bucket.key}}}" not in emptied:
            yield about(bucket, "", "its deletion policy is Delete, and nothing empties it")


@rule(
    severity="warning",
    reason="It keeps running, you keep paying, and what it uses cannot be deleted.",
    fix="Leave out the removal policy, or write `Delete`.",
    source='AWS CloudFormation user guide, "DeletionPolicy attribute"',
)
def what_costs_by_the_hour_goes(resources: Resources) -> Iterator[Finding]:
    """Resources that are billed by the hour and hold no data are deleted with their stack."""
    for each in resources.of_type(*_BILLED):
        for name in ("DeletionPolicy", "UpdateReplacePolicy"):
            if each.template.get(name) in _KEEPS:
                yield about(each, name, "it is kept when its stack is deleted")


@rule(
    severity="warning",
    reason="Every terminated instance leaves a volume, which is billed until you delete it.",
    fix="Write `DeleteOnTermination: true`.",
    source='Amazon EC2 user guide, "Preserve data when an instance is terminated"',
)
def disk_goes_with_its_machine(resources: Resources) -> Iterator[Finding]:
    """Volumes of a launch template are deleted with their instance."""
    for template in resources.of_type("AWS::EC2::LaunchTemplate"):
        for index, device in enumerate(rows(template.at("LaunchTemplateData.BlockDeviceMappings"))):
            if mapping(device.get("Ebs")).get("DeleteOnTermination") is False:
                path = f"LaunchTemplateData.BlockDeviceMappings.{index}.Ebs.DeleteOnTermination"
                yield about(template, path, "the volume is kept when the instance is terminated")


@rule(
    severity="warning",
    reason="Without versioning, an overwritten or deleted object is lost at once.",
    fix="Write `VersioningConfiguration: {Status: Enabled}`, or remove the rule.",
    source='Amazon S3 user guide, "Retaining multiple versions of objects with S3 Versioning"',
)
def old_versions_are_made(resources: Resources) -> Iterator[Finding]:
    """A bucket with lifecycle rules for noncurrent versions has versioning enabled."""
    for bucket in resources.of_type(_BUCKET):
        rules = rows(bucket.at("LifecycleConfiguration.Rules"))
        about_old = any(str(key).startswith("Noncurrent") for one in rules for key in one)
        if about_old and bucket.at("VersioningConfiguration.Status") != "Enabled":
            yield about(bucket, "VersioningConfiguration", "it has rules for noncurrent versions, and no versioning")


@rule(
    severity="warning",
    reason="Objects that are still used are deleted, and what starts later does not find them.",
    fix="Expire noncurrent versions only (`NoncurrentVersionExpiration`), or objects below one prefix.",
    source='Amazon S3 user guide, "Expiring objects"',
)
def objects_in_use_stay(resources: Resources) -> Iterator[Finding]:
    """A bucket that a role reads does not expire all of its objects by age."""
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
                yield about(bucket, f"LifecycleConfiguration.Rules.{index}", "it expires objects that a role reads")


@rule(
    severity="warning",
    reason="An image that is still used is deleted, and nodes that start later cannot pull it.",
    fix="Keep a number of images (`imageCountMoreThan`), or expire untagged images only.",
    source='Amazon ECR user guide, "Automate the cleanup of images by using lifecycle policies"',
)
def images_in_use_stay(resources: Resources) -> Iterator[Finding]:
    """A repository does not expire tagged images by age."""
    for repository in resources.of_type("AWS::ECR::Repository"):
        for one in _image_rules(repository.at("LifecyclePolicy.LifecyclePolicyText")):
            selection = one.get("selection", {})
            if selection.get("countType") == "sinceImagePushed" and selection.get("tagStatus") != "untagged":
                yield about(repository, "LifecyclePolicy", "it expires tagged images by age")


def _image_rules(text: Any) -> list[Mapping[str, Any]]:
    try:
        found = json.loads(str(text)).get("rules", [])
    except ValueError:
        return []
    return found if isinstance(found, list) else []


@rule(
    severity="warning",
    reason="If you delete files to free space on the file system, their copies in S3 are deleted, too.",
    fix="Leave `DELETED` out of the export's events.",
    source='FSx for Lustre user guide, "Automatically export updates to your S3 bucket"',
)
def deletion_is_not_exported(resources: Resources) -> Iterator[Finding]:
    """Automatic export does not delete objects in the bucket."""
    for association in resources.of_type("AWS::FSx::DataRepositoryAssociation"):
        if "DELETED" in texts(association.at("S3.AutoExportPolicy.Events")):
            yield about(association, "S3.AutoExportPolicy.Events", "deleted files are also deleted in the bucket")


@rule(
    severity="warning",
    reason="If an update replaces the resource, CloudFormation deletes the old one with its data.",
    fix="Write the same value for `DeletionPolicy` and `UpdateReplacePolicy`.",
    source='AWS CloudFormation user guide, "UpdateReplacePolicy attribute"',
)
def data_are_kept_in_both_ways(resources: Resources) -> Iterator[Finding]:
    """A resource with data that is kept when its stack is deleted is also kept when it is replaced."""
    for each in resources.by_key.values():
        last, replaced = (each.template.get(name) for name in ("DeletionPolicy", "UpdateReplacePolicy"))
        if known(each.type).holds_data and last in (*_KEEPS, "Snapshot") and replaced in (None, "Delete"):
            yield about(each, "", f"its DeletionPolicy is {last}, and it is deleted when an update replaces it")


@rule(
    severity="warning",
    reason="ECR refuses to delete a repository with images: the deletion of the stack fails.",
    fix="Write `EmptyOnDelete: true`, or keep the repository with a removal policy.",
    source='AWS CloudFormation user guide, "AWS::ECR::Repository", EmptyOnDelete',
)
def repository_that_goes_is_emptied(resources: Resources) -> Iterator[Finding]:
    """A repository that is deleted with its stack is emptied first."""
    for repository in resources.of_type("AWS::ECR::Repository"):
        if repository.template.get("DeletionPolicy") not in _KEEPS and repository.at("EmptyOnDelete") is not True:
            yield about(repository, "EmptyOnDelete", "it is deleted with its stack, and not emptied before")


@rule(
    reason="Kubernetes deletes the file system, with all files, when somebody deletes the claim.",
    fix="Write `persistentVolumeReclaimPolicy: Retain`.",
    source='Kubernetes documentation, "Persistent Volumes", Reclaiming',
)
def volume_of_the_stacks_stays(resources: Resources) -> Iterator[Finding]:
    """A PersistentVolume on a file system of the stacks has the reclaim policy `Retain`."""
    for volume in KubernetesObjects(resources).of_kind("PersistentVolume"):
        policy = volume.at("spec.persistentVolumeReclaimPolicy")
        if resources.referred(volume.at("spec.csi.volumeHandle")) and policy != "Retain":
            yield finding(volume, "spec.persistentVolumeReclaimPolicy", f"it is {policy or 'missing'}")


@rule(
    reason="AWS refuses the capacity provider, or terminates hosts that still run tasks.",
    fix="Write `NewInstancesProtectedFromScaleIn: true` for the group.",
    source='Amazon ECS developer guide, "Control the instances Amazon ECS terminates"',
)
def managed_hosts_are_protected(resources: Resources) -> Iterator[Finding]:
    """With managed termination protection, the Auto Scaling group protects new instances from scale-in."""
    for provider in resources.of_type("AWS::ECS::CapacityProvider"):
        settings = mapping(provider.at("AutoScalingGroupProvider"))
        group = resources.resource(settings.get("AutoScalingGroupArn"), "AWS::AutoScaling::AutoScalingGroup")
        is_managed = settings.get("ManagedTerminationProtection") == "ENABLED"
        if group and is_managed and group.at("NewInstancesProtectedFromScaleIn") is not True:
            yield about(group, "NewInstancesProtectedFromScaleIn", f"{provider.logical_id} needs it")


@rule(
    severity="warning",
    reason="After a mistake there is no backup to restore.",
    fix="Write a `BackupRetentionPeriod` above 0.",
    source='Amazon RDS user guide, "Introduction to backups"',
)
def database_has_backups(resources: Resources) -> Iterator[Finding]:
    """A database has automated backups."""
    for database in resources.of_type("AWS::RDS::DBInstance"):
        if database.at("BackupRetentionPeriod") in (0, "0"):
            yield about(database, "BackupRetentionPeriod", "it has no backups")


@rule(
    reason="The CDK's function skips a bucket without the tag, and S3 refuses to delete it.",
    fix="Write the tag `aws-cdk:auto-delete-objects` with the value `true`.",
    source="aws/aws-cdk, packages/@aws-cdk/custom-resource-handlers/lib/aws-s3/auto-delete-objects-handler/index.ts",
)
def emptied_bucket_has_the_tag(resources: Resources) -> Iterator[Finding]:
    """A bucket that the CDK empties has the tag that the CDK's function checks."""
    for emptier in resources.of_type("Custom::S3AutoDeleteObjects"):
        bucket = resources.resource(emptier.at("BucketName"), _BUCKET)
        tags = {str(tag.get("Key")): tag.get("Value") for tag in (rows(bucket.at("Tags")) if bucket else ())}
        if bucket and tags.get("aws-cdk:auto-delete-objects") != "true":
            yield about(bucket, "Tags", "the tag aws-cdk:auto-delete-objects is missing")


@rule(
    severity="warning",
    reason="An instance whose set-up hangs goes into service.",
    fix="Write `DefaultResult: ABANDON`.",
    source='Amazon EC2 Auto Scaling user guide, "How lifecycle hooks work in Auto Scaling groups"',
)
def machine_that_hangs_is_given_up(resources: Resources) -> Iterator[Finding]:
    """A launch lifecycle hook abandons the instance when it times out."""
    for hook in resources.of_type("AWS::AutoScaling::LifecycleHook"):
        at_start = str(hook.at("LifecycleTransition")).endswith("EC2_INSTANCE_LAUNCHING")
        if at_start and hook.at("DefaultResult") == "CONTINUE":
            yield about(hook, "DefaultResult", "the instance goes into service after a timeout")


@rule(
    reason="Auto Scaling terminates every instance before its set-up ends, and starts the next one.",
    fix="Write a `HeartbeatTimeout` above the `SLIPWAY_SETUP_SECONDS` of the user data.",
    source='Amazon EC2 Auto Scaling user guide, "How lifecycle hooks work in Auto Scaling groups"; '
    "assets/inference/host/host_setup.sh",
)
def launch_hook_outlasts_the_set_up(resources: Resources) -> Iterator[Finding]:
    """A launch lifecycle hook waits longer than the set-up in the user data may take."""
    for hook in resources.of_type("AWS::AutoScaling::LifecycleHook"):
        group = resources.resource(hook.at("AutoScalingGroupName"), "AWS::AutoScaling::AutoScalingGroup")
        template, waits = (launch_template(resources, group) if group else None), hook.at("HeartbeatTimeout")
        for text in strings(template.at("LaunchTemplateData.UserData")) if template else ():
            found = _SET_UP_SECONDS.search(text)
            if found and isinstance(waits, int) and waits <= int(found[1]):
                yield about(hook, "HeartbeatTimeout", f"{waits} s are not above the {found[1]} s of the set-up")


@rule(
    severity="warning",
    reason="A file that is written again is not exported: the bucket keeps the old content.",
    fix="Write `NEW` and `CHANGED`.",
    source='FSx for Lustre user guide, "Automatically export updates to your S3 bucket"',
)
def changed_files_are_exported(resources: Resources) -> Iterator[Finding]:
    """Automatic export covers new and changed files."""
    for association in resources.of_type("AWS::FSx::DataRepositoryAssociation"):
        events = texts(association.at("S3.AutoExportPolicy.Events"))
        if events and not {"NEW", "CHANGED"} <= set(events):
            yield about(association, "S3.AutoExportPolicy.Events", f"it exports only {', '.join(events)}")


@rule(
    severity="warning",
    reason="Nothing expires: the bucket grows, and every object is billed.",
    fix="Write `Status: Enabled`, or remove the rule.",
    source='Amazon S3 user guide, "Lifecycle configuration elements", Status',
)
def lifecycle_rules_are_enabled(resources: Resources) -> Iterator[Finding]:
    """The lifecycle rules of a bucket are enabled."""
    for bucket in resources.of_type(_BUCKET):
        for index, one in enumerate(rows(bucket.at("LifecycleConfiguration.Rules"))):
            if one.get("Status") == "Disabled":
                yield about(bucket, f"LifecycleConfiguration.Rules.{index}.Status", "the rule is disabled")
