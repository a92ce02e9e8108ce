"""What is read of the scanners: findings by resource, acknowledgements with reasons, and what nobody checked."""

from pathlib import Path

import pytest

from slipway.assembly.stacks import NoAssemblyError
from slipway.review.security.read import PACKS, read
from tests.assembly import Assembly
from tests.review.security.scanned_assembly import BUCKET, BUCKET_PATH, STACK, ScannedAssembly


@pytest.fixture
def scanned() -> ScannedAssembly:
    return ScannedAssembly()


def test_a_finding_names_the_resource_by_its_logical_id(scanned: ScannedAssembly, tmp_path: Path) -> None:
    scanned.violate("AwsSolutions", "AwsSolutions-S1")

    (finding,) = read(scanned.write(tmp_path / "a")).findings

    assert (finding.tool, finding.rule, finding.severity) == ("cdk-nag AwsSolutions", "AwsSolutions-S1", "error")
    assert (finding.stack, finding.resource, finding.message) == (STACK, BUCKET, "It is open.")


def test_the_list_of_controls_is_left_out(scanned: ScannedAssembly, tmp_path: Path) -> None:
    scanned.violate("NIST.800.53.R5", "R", description="It is open - (Control IDs: AC-2(4), AU-2b).")

    assert read(scanned.write(tmp_path / "a")).findings[0].message == "It is open."


def test_a_notice_of_the_app_is_a_warning_without_its_place(scanned: ScannedAssembly, tmp_path: Path) -> None:
    text = "/home/me/my project/environments/team.yaml:40:15: inference: old engine"
    scanned.violate("Construct Annotations", "Annotation::slipway:engine", STACK, description=text, severity="warning")

    (finding,) = read(scanned.write(tmp_path / "a")).findings

    assert (finding.tool, finding.rule, finding.severity) == ("notices of the app", "slipway:engine", "warning")
    assert (finding.resource, finding.message) == (STACK, "team.yaml: inference: old engine")


def test_a_construct_around_a_resource_stands_for_it(scanned: ScannedAssembly, tmp_path: Path) -> None:
    scanned.acknowledge(f"{STACK}/Data", "AwsSolutions::AwsSolutions-S1", "it holds nothing")

    (entry,) = read(scanned.write(tmp_path / "a")).acknowledgements

    assert (entry.rule, entry.resource, entry.reason) == ("AwsSolutions-S1", BUCKET, "it holds nothing")


def test_checkov_skips_are_acknowledgements(scanned: ScannedAssembly, tmp_path: Path) -> None:
    scanned.resources[BUCKET]["Metadata"] = {"checkov": {"skip": [{"id": "CKV_AWS_18", "comment": "it is a log"}]}}

    (entry,) = read(scanned.write(tmp_path / "a")).acknowledgements

    assert (entry.rule, entry.stack, entry.resource, entry.reason) == ("CKV_AWS_18", STACK, BUCKET, "it is a log")


def test_without_a_report_the_packs_are_not_checked_and_not_clean(scanned: ScannedAssembly, tmp_path: Path) -> None:
    scanned.report = None
    scanned.acknowledge(BUCKET_PATH, "AwsSolutions::AwsSolutions-S1", "it holds nothing")

    security = read(scanned.write(tmp_path / "a"))

    assert security.findings == ()
    packs = tuple(f"cdk-nag {pack}" for pack in ("AwsSolutions", "NIST.800.53.R5", "HIPAA.Security", "PCI.DSS.321"))
    assert tuple(line.partition(":")[0] for line in security.not_checked[:4]) == packs
    assert security.not_run == packs
    assert [entry.rule for entry in security.acknowledgements] == ["AwsSolutions-S1"]


def test_a_report_without_one_pack_says_so(scanned: ScannedAssembly, tmp_path: Path) -> None:
    scanned.report = {pack: [] for pack in PACKS if pack != "NIST.800.53.R5"}

    unchecked = read(scanned.write(tmp_path / "a")).not_checked

    assert [line for line in unchecked if line.startswith("cdk-nag")] == [
        "cdk-nag NIST.800.53.R5: the synth of this assembly did not run it."
    ]


def test_one_reason_for_the_same_rule_of_several_packs_is_one_acknowledgement(
    scanned: ScannedAssembly, tmp_path: Path
) -> None:
    for pack in ("NIST.800.53.R5", "HIPAA.Security", "PCI.DSS.321"):
        scanned.acknowledge(BUCKET_PATH, f"{pack}::{pack}-S3BucketReplicationEnabled", "one region by design")
    scanned.acknowledge(BUCKET_PATH, "PCI.DSS.321::PCI.DSS.321-S3DefaultEncryptionKMS", "a reason of its own")

    rules = [entry.rule for entry in read(scanned.write(tmp_path / "a")).acknowledgements]

    assert rules == ["NIST.800.53.R5-S3BucketReplicationEnabled", "PCI.DSS.321-S3DefaultEncryptionKMS"]


def test_a_folder_that_is_no_assembly_is_said(tmp_path: Path) -> None:
    with pytest.raises(NoAssemblyError):
        read(tmp_path)


def test_the_default_environment_accepts_its_cluster_rule_with_a_reason(default: Assembly) -> None:
    security = read(default.directory)

    assert [finding for finding in security.findings if finding.tool == "cluster rules"] == []
    accepted = {entry.rule: entry for entry in security.acknowledgements}
    assert accepted["shared-volumes-for-few-nodes"].resource == "ClusterEB0386A7"
    assert all(entry.reason for entry in security.acknowledgements)
    assert not [entry for entry in security.acknowledgements if "/" in entry.resource and entry.rule != "W3010"]
