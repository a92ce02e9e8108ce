"""ParallelCluster's own template, which the training stack nests."""

import re
from collections.abc import Iterator

import httpx2

from slipway import facts
from slipway.aws.account import Account
from slipway.check.preflight.answer import Answer
from slipway.check.preflight.check import check
from slipway.check.preflight.needs import Needs
from slipway.check.preflight.template_text import OPEN, text_of

_VERSION = re.compile(r"/parallelcluster/([0-9.]+)/")
_ABSENT = (403, 404)
"""S3 says 403 of an object that does not exist to those who may not list the bucket."""


@check(
    "PF18",
    "ParallelCluster in the Region",
    stage="catalogue",
    prevents="The training stack fails: the Region has no template of this ParallelCluster version.",
)
def provider_template(needs: Needs, account: Account) -> Iterator[Answer]:
    """Ask for the nested template the way CloudFormation will, and look whether the version knows the Region."""
    for stack, _, properties in needs.resources("AWS::CloudFormation::Stack"):
        url = text_of(properties["TemplateURL"])
        if OPEN in url:
            # An asset of the app's own, which its deployment puts into the bootstrap's bucket.
            continue
        yield _template(url, account).model_copy(update={"stacks": (stack.name,)})
        version = _VERSION.search(url)
        if version and version.group(1) in facts.parallelcluster_releases():
            yield _region(version.group(1), needs.region).model_copy(update={"stacks": (stack.name,)})


def _template(url: str, account: Account) -> Answer:
    try:
        status = account.http_status(url)
    except httpx2.HTTPError as error:
        return _not_checked(url, f"the address does not answer: {error}")
    if status in _ABSENT:
        return Answer(
            check="PF18",
            status="failed",
            subject="provider template",
            message=f"{url} does not exist (HTTP {status})",
            fix="choose another `region`, or another `training.parallelcluster_version`, in the environment file",
        )
    if status >= 400:
        return _not_checked(url, f"HTTP {status}")
    return Answer(check="PF18", status="passed", subject="provider template", message=f"{url} is there")


def _not_checked(url: str, reason: str) -> Answer:
    return Answer(
        check="PF18",
        status="not_checked",
        subject="provider template",
        message=f"{url}: {reason}",
        fix="run the preflight again, where this address can be reached",
    )


def _region(version: str, region: str) -> Answer:
    supported = region in facts.parallelcluster_release(version).regions
    return Answer(
        check="PF18",
        status="passed" if supported else "failed",
        subject=f"ParallelCluster {version}",
        message=f"it {'supports' if supported else 'does not support'} {region}",
        fix=None if supported else "choose a Region of `slipway docs environment-file`",
    )
