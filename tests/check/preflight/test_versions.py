"""PF18 and PF22."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import boto3
import pytest

from slipway import facts
from slipway.aws.account import Account
from slipway.check.preflight.check import CHECKS, run
from tests.check.preflight.aws import REGION, Aws
from tests.check.preflight.conftest import Ask, NeedsFactory
from tests.check.preflight.handmade import handmade

URL = "https://us-west-2-aws-parallelcluster.s3.us-west-2.amazonaws.com/parallelcluster/3.16.1/templates/custom_resource/cluster.yaml"


def test_a_template_that_is_there_passes(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    template, region = ask("PF18", needs_of("default"), aws)
    assert (template.status, template.message) == ("passed", f"{URL} is there")
    assert (region.status, region.message) == ("passed", "it supports us-west-2")


@pytest.mark.parametrize(
    ("http", "status"), [(404, "failed"), (403, "failed"), (429, "not_checked"), (503, "not_checked")]
)
def test_a_template_that_is_not_there_fails_and_a_busy_server_tells_nothing(
    http: int, status: str, aws: Aws, ask: Ask, needs_of: NeedsFactory
) -> None:
    aws.http_status = http
    assert ask("PF18", needs_of("default"), aws)[0].status == status


class _Pages(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self.send_response(200 if self.path == "/there.yaml" else 404)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    """A web server on loopback, by its address."""
    pages = HTTPServer(("127.0.0.1", 0), _Pages)
    thread = threading.Thread(target=pages.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{pages.server_port}"
    pages.shutdown()
    thread.join()
    pages.server_close()


def test_the_template_is_asked_for_over_http(server: str, tmp_path: Path) -> None:
    account = Account(REGION, boto3.Session(region_name=REGION))
    for page, status in {"there.yaml": "passed", "gone.yaml": "failed"}.items():
        nested = {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": f"{server}/{page}"}}
        (answer,) = run(CHECKS["PF18"], handmade(tmp_path, {"Provider": nested}), account)
        assert answer.status == status


def test_a_template_of_the_apps_own_is_not_asked_for(tmp_path: Path, aws: Aws, ask: Ask) -> None:
    """Its deployment puts it into the bootstrap's bucket, of which nobody may read in public."""
    url = {"Fn::Join": ["", ["https://s3.us-west-2.amazonaws.com/cdk-assets-", {"Ref": "AWS::AccountId"}, "/a.json"]]}
    nested = {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": url}}
    aws.http_status = 403
    assert ask("PF18", handmade(tmp_path, {"Nested": nested}), aws) == []


def test_a_server_that_nobody_reaches_tells_nothing(server: str, tmp_path: Path) -> None:
    nested = {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": "http://127.0.0.1:1/cluster.yaml"}}
    account = Account(REGION, boto3.Session(region_name=REGION))
    (answer,) = run(CHECKS["PF18"], handmade(tmp_path, {"Provider": nested}), account)
    assert (answer.status, "the address does not answer" in answer.message) == ("not_checked", True)


def test_pinned_versions_that_eks_has_pass(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    answers = ask("PF22", needs_of("kubernetes"), aws)
    assert {answer.status for answer in answers} == {"passed"}
    assert len(answers) == 1 + len(facts.kubernetes_version("1.35").add_ons)


@pytest.mark.parametrize(
    ("support", "status"),
    [("EXTENDED_SUPPORT", "warning"), ("UNSUPPORTED", "failed"), (None, "failed"), ("SUNSET", "warning")],
)
def test_a_version_out_of_standard_support_is_told(
    support: str | None, status: str, aws: Aws, ask: Ask, needs_of: NeedsFactory
) -> None:
    found = [{"clusterVersion": "1.35", "versionStatus": support}] if support else []
    aws.replies["eks.DescribeClusterVersions"] = {"clusterVersions": found}
    version = ask("PF22", needs_of("kubernetes"), aws)[0]
    assert (version.status, version.fix) == (status, "choose another `kubernetes.version` in the environment file")


def test_a_build_that_eks_does_not_have_fails_and_the_newest_is_named(
    aws: Aws, ask: Ask, needs_of: NeedsFactory
) -> None:
    builds = [{"addonVersion": version} for version in ("v9.1.0-eksbuild.2", "v9.0.0-eksbuild.1")]
    aws.replies["eks.DescribeAddonVersions"] = {"addons": [{"addonName": "any", "addonVersions": builds}]}
    add_ons = ask("PF22", needs_of("kubernetes"), aws)[1:]
    assert {answer.status for answer in add_ons} == {"failed"}
    assert all("the newest is v9.1.0-eksbuild.2" in answer.message for answer in add_ons)
