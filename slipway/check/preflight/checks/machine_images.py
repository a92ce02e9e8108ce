"""PF12: the machine images that instances are launched from are there, for their processor, and not too old."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from botocore.exceptions import ClientError

from slipway import facts
from slipway.aws.account import Account
from slipway.aws.refusals import UNANSWERED
from slipway.check.preflight.answer import Answer
from slipway.check.preflight.check import check, not_checked
from slipway.check.preflight.image_uses import ImageUse, image_uses
from slipway.check.preflight.needs import Needs

_Answer = partial(Answer, check="PF12")

_AVAILABLE = "available"
_SOON = timedelta(days=30)
MAXIMUM_AGE = timedelta(days=90)
"""How old an image may be before PF12 warns: three rounds of the monthly routine of docs/updates.md."""

_NO_IMAGE = frozenset({"InvalidAMIID.NotFound", "InvalidAMIID.Malformed", "InvalidAMIID.Unavailable"})

_FIXES = {
    "id": "write the id of an image of this Region that the account may use:\n"
    "aws ec2 describe-images --region {region} --owners self --query 'Images[].[ImageId,Name]' --output table",
    "parameter": "AWS has withdrawn the image or never published it in {region}. See what there is:\naws ssm "
    "get-parameters-by-path --region {region} --recursive --path {path}",
    "pattern": "write a `parallelcluster_version` and an `operating_system` of which there is an image:\npcluster "
    "describe-official-images --region {region}",
}


@check(
    "PF12",
    "machine images",
    stage="existence",
    prevents="Nodes and hosts cannot be launched because their image is not there or is for another processor, or load "
    "no model because its Neuron driver does not work with the engine. Nodes run for months without security updates.",
    actions=("ec2:DescribeImages", "ec2:DescribeInstanceTypes", "ssm:GetParameter"),
)
def machine_images(needs: Needs, account: Account) -> Iterator[Answer]:
    """Look up every image, whether it is named by id, by a public SSM parameter or by ParallelCluster's naming."""
    for use in dict.fromkeys(image_uses(needs)):
        subject = f"{use.name} for {use.purpose}"
        try:
            yield _of_use(use, partial(_Answer, subject=subject, stacks=(use.stack,)), account)
        except UNANSWERED as error:
            yield not_checked("PF12", subject, error)


def _of_use(use: ImageUse, answer: partial[Answer], account: Account) -> Answer:
    image = _image(use, account)
    if image is None:
        path = use.name.rpartition("/")[0].rpartition("/")[0]
        fix = _FIXES[use.named_by].format(region=account.region, path=path)
        return answer(status="failed", message=f"{account.region} has no such image", fix=fix)
    if image.get("State", _AVAILABLE) != _AVAILABLE:
        message = f"{image['ImageId']} is {image['State']}: nothing can be launched from it"
        return answer(status="failed", message=message, fix=_FIXES["id"].format(region=account.region))
    wrong = _other_processor(image, use, account)
    if wrong:
        return answer(status="failed", message=wrong, fix=f"write an image for {use.instance_type}")
    return (
        _larger_than_volume(image, use, answer)
        or _not_of_cluster(image, use, answer)
        or _other_driver(image, use, answer)
        or _deprecation(image, answer, account)
        or _age(image, answer, account.clock())
    )


def _image(use: ImageUse, account: Account) -> dict[str, Any] | None:
    """Return the image as EC2 describes it, the newest one of a pattern."""
    if use.named_by == "pattern":
        images = account.client("ec2").describe_images(
            Owners=["amazon"],
            Filters=[{"Name": "name", "Values": [use.name]}, {"Name": "state", "Values": ["available"]}],
            IncludeDeprecated=True,
        )["Images"]
        return max(images, key=lambda image: str(image["CreationDate"]), default=None)
    image_id = use.name if use.named_by == "id" else _parameter(use.name, account)
    return _by_id(image_id, account) if image_id else None


def _parameter(name: str, account: Account) -> str | None:
    try:
        value: str = account.client("ssm").get_parameter(Name=name)["Parameter"]["Value"]
    except ClientError as error:
        if error.response["Error"]["Code"] == "ParameterNotFound":
            return None
        raise
    return value


def _by_id(image_id: str, account: Account) -> dict[str, Any] | None:
    try:
        images = account.client("ec2").describe_images(ImageIds=[image_id], IncludeDeprecated=True)["Images"]
    except ClientError as error:
        if error.response["Error"]["Code"] in _NO_IMAGE:
            return None
        raise
    return images[0] if images else None


def _other_processor(image: dict[str, Any], use: ImageUse, account: Account) -> str | None:
    if use.instance_type is None:
        return None
    described = account.client("ec2").describe_instance_types(InstanceTypes=[use.instance_type])["InstanceTypes"][0]
    supported = described["ProcessorInfo"]["SupportedArchitectures"]
    if image["Architecture"] in supported:
        return None
    return f"{image['ImageId']} is for {image['Architecture']}, but {use.instance_type} is {' or '.join(supported)}"


def _larger_than_volume(image: dict[str, Any], use: ImageUse, answer: partial[Answer]) -> Answer | None:
    """Compare the root volume that the image was made with and the node's, which must not be smaller."""
    devices = {device.get("DeviceName"): device.get("Ebs", {}) for device in image.get("BlockDeviceMappings", [])}
    size = devices.get(image.get("RootDeviceName"), {}).get("VolumeSize", 0)
    if use.root_volume_gib is None or size <= use.root_volume_gib:
        return None
    message = f"{image['ImageId']} has a root volume of {size} GiB, {use.purpose} one of {use.root_volume_gib}"
    return answer(status="failed", message=message, fix=f"write `root_volume_gib: {size}` or more")


def _not_of_cluster(image: dict[str, Any], use: ImageUse, answer: partial[Answer]) -> Answer | None:
    """Compare an image of the user's own with the cluster by the tags that `pcluster build-image` writes."""
    tags = {tag["Key"]: tag["Value"] for tag in image.get("Tags", [])}
    others = [
        f"its tag {key} says {tags[key]}, not {value}" for key, value in use.cluster if tags.get(key, value) != value
    ]
    fix = "bake an image for this cluster (`slipway docs node-image`), or leave `custom_ami_id` out"
    if others:
        return answer(status="failed", message=f"{'; '.join(others)}: ParallelCluster refuses it", fix=fix)
    missing = [key for key, _ in use.cluster if key not in tags]
    if missing:
        message = (
            f"it has no tag {' and '.join(missing)}: nodes fail on images that `pcluster build-image` did not build"
        )
        return answer(status="warning", message=f"{message}. The tags of another account's images do not show", fix=fix)
    return None


def _other_driver(image: dict[str, Any], use: ImageUse, answer: partial[Answer]) -> Answer | None:
    """Compare the Neuron driver with the engine's runtime library: EC2 says a name, and Slipway knows some by name."""
    if use.runtime is None:
        return None
    name = image.get("Name") or ""
    release = next((row for row in facts.machine_images().values() if name and f"/{name}/" in row.ssm_parameter), None)
    if release is None:
        if use.named_by == "parameter":
            return None
        message = f"EC2 does not say which Neuron driver {image['ImageId']} ({name or 'no name'}) has"
        fix = "nothing, if `host_image.neuron_driver` is right: each host compares it when it starts"
        return answer(status="warning", message=message, fix=fix)
    problem = facts.driver_problem(release.neuron_driver, use.runtime)
    fix = "leave `host_image` out, or name another image"
    return answer(status="failed", message=problem, fix=fix) if problem else None


def _deprecation(image: dict[str, Any], answer: partial[Answer], account: Account) -> Answer | None:
    until, now = image.get("DeprecationTime"), account.clock()
    deprecated = datetime.fromisoformat(until) if until else None
    if deprecated is None or deprecated > now + _SOON:
        return None
    verb = "is deprecated since" if deprecated < now else "will be deprecated on"
    return answer(
        status="warning",
        message=f"{image['ImageId']} {verb} {deprecated:%Y-%m-%d}: it gets no security updates and may be withdrawn",
        fix=f"take a newer image; of AWS's own images: a newer release\naws ec2 describe-images --region "
        f"{account.region} --image-ids {image['ImageId']} --include-deprecated",
    )


def _age(image: dict[str, Any], answer: partial[Answer], now: datetime) -> Answer:
    """Compare the image's date with `MAXIMUM_AGE`; a copy or a baked image counts from the day it was made."""
    made, until = datetime.fromisoformat(image["CreationDate"]), image.get("DeprecationTime")
    if now - made > MAXIMUM_AGE:
        message = f"{image['ImageId']} is of {made:%Y-%m-%d}, {(now - made).days} days old"
        return answer(
            status="warning",
            message=f"{message}: what runs from it lacks the security updates since",
            fix="move to a newer one, as `slipway docs updates#security-updates` says for nodes, hosts and node groups",
        )
    when = f", deprecated from {datetime.fromisoformat(until):%Y-%m-%d} on" if until else ""
    return answer(status="passed", message=f"{image['ImageId']} is there{when}")
