"""Files that are not in their bucket yet, or never come there, hold a teardown up."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber
from typer.testing import CliRunner

from slipway.aws.account import Account
from slipway.cli import app
from slipway.remove.teardown import inspection
from slipway.remove.teardown.exports import Export, find_exports
from tests.remove.teardown.fakes import NETWORK, TEMPLATES, FakePrograms, answering, write_assembly

LINK = {
    "FileSystemPath": "/checkpoints",
    "DataRepositoryPath": "s3://tiny-checkpoints",
    "Lifecycle": "AVAILABLE",
    "S3": {"AutoExportPolicy": {"Events": ["NEW", "CHANGED"]}},
}
IMPORTS = {
    "FileSystemPath": "/data",
    "DataRepositoryPath": "s3://tiny-data",
    "Lifecycle": "AVAILABLE",
    "S3": {"AutoImportPolicy": {"Events": ["NEW"]}},
}
BROKEN = {**LINK, "Lifecycle": "MISCONFIGURED", "FailureDetails": {"Message": "the bucket is gone"}}
ONLY_NEW = {**LINK, "S3": {"AutoExportPolicy": {"Events": ["NEW", "DELETED"]}}}
RUNS = {"TaskId": "task-1", "Type": "EXPORT_TO_REPOSITORY", "Lifecycle": "EXECUTING", "CreationTime": 1}
FAILED = {**RUNS, "TaskId": "task-2", "Lifecycle": "FAILED", "CreationTime": 2, "FailureDetails": {"Message": "denied"}}
IMPORTED = {**FAILED, "Type": "IMPORT_METADATA_FROM_REPOSITORY"}


class FileSystems:
    """FSx, in pages of one row; boto3 has no paginators for these two calls."""

    def __init__(self, account: Account, links: list[Any], tasks: list[Any]) -> None:
        self.describe_file_systems = account.client("fsx").describe_file_systems
        self.links, self.tasks = links, tasks

    def describe_data_repository_associations(self, **parameters: Any) -> dict[str, Any]:
        return _page("Associations", self.links, parameters)

    def describe_data_repository_tasks(self, **parameters: Any) -> dict[str, Any]:
        return _page("DataRepositoryTasks", self.tasks, parameters)


def _page(key: str, rows: list[Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    start = int(parameters.get("NextToken", 0))
    following = {"NextToken": str(start + 1)} if start + 1 < len(rows) else {}
    return {key: rows[start : start + 1], **following}


def lag(account: Account, file_system: str, *seconds: float) -> None:
    dimensions = [{"Name": "FileSystemId", "Value": file_system}, {"Name": "Publisher", "Value": "AutoExport"}]
    data = [
        {
            "MetricName": "AgeOfOldestQueuedMessage",
            "Dimensions": dimensions,
            "Timestamp": datetime.now(UTC) - timedelta(minutes=1),
            "Value": value,
        }
        for value in seconds
    ]
    account.client("cloudwatch").put_metric_data(Namespace="AWS/FSx", MetricData=data)


@pytest.fixture
def lustre(account: Account) -> str:
    answer = account.client("fsx").create_file_system(
        FileSystemType="LUSTRE", StorageCapacity=1200, SubnetIds=["subnet-12345678"]
    )
    return str(answer["FileSystem"]["FileSystemId"])


def export(account: Account, file_system: str, *links: Any, tasks: tuple[Any, ...] = ()) -> Export:
    fsx = FileSystems(account, list(links), list(tasks))
    (found,) = find_exports(answering(account, "fsx", fsx), [file_system])
    return found


def test_what_is_exported_is_told_from_what_is_not(account: Account, lustre: str) -> None:
    lag(account, lustre, 0)

    found = export(account, lustre, IMPORTS, LINK)

    assert found.folders == {"/checkpoints": "s3://tiny-checkpoints"}
    assert found.done


def test_files_that_wait_are_waited_for(account: Account, lustre: str) -> None:
    lag(account, lustre, 0, 75)

    (reason,) = export(account, lustre, LINK).pending

    assert "the oldest for 75 s" in reason
    assert f"--dimensions Name=FileSystemId,Value={lustre} Name=Publisher,Value=AutoExport" in reason


def test_without_a_value_nobody_knows(account: Account, lustre: str) -> None:
    found = export(account, lustre, LINK)

    assert not found.done
    assert found.pending == ()
    assert found.unknown == (f"{lustre}: CloudWatch has no AgeOfOldestQueuedMessage of the last 10 minutes",)


def test_a_refusal_is_no_proof(account: Account, lustre: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: Any) -> None:
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": "not for you"}}, "GetMetricStatistics")

    monkeypatch.setattr(account.client("cloudwatch"), "get_metric_statistics", refuse)

    (reason,) = export(account, lustre, LINK).unknown

    assert "not for you" in reason


@pytest.mark.parametrize(
    ("links", "tasks", "reason"),
    [
        ([BROKEN], (), "the link of /checkpoints to s3://tiny-checkpoints is MISCONFIGURED: the bucket is gone"),
        ([ONLY_NEW], (), "the link of /checkpoints to s3://tiny-checkpoints does not export what is CHANGED"),
        ([LINK], (RUNS,), "export task task-1 is EXECUTING"),
        ([LINK], (IMPORTED, FAILED), "export task task-2 failed: denied"),
    ],
)
def test_what_holds_an_export_up_is_named(
    account: Account, lustre: str, links: list[Any], tasks: tuple[Any, ...], reason: str
) -> None:
    lag(account, lustre, 0)

    assert export(account, lustre, *links, tasks=tasks).pending == (reason,)


def test_a_failed_task_that_was_made_good_is_history(account: Account, lustre: str) -> None:
    lag(account, lustre, 0)
    good = {**RUNS, "TaskId": "task-3", "Lifecycle": "SUCCEEDED", "CreationTime": 3}

    assert export(account, lustre, LINK, tasks=(FAILED, good)).done


def test_a_file_system_that_is_gone_holds_nothing_up(account: Account) -> None:
    with Stubber(account.client("fsx")) as stubber:
        stubber.add_client_error("describe_file_systems", "FileSystemNotFound")
        assert find_exports(account, ["fs-0123456789abcdef0"]) == ()
        stubber.add_client_error("describe_file_systems", "AccessDenied")
        with pytest.raises(ClientError):
            find_exports(account, ["fs-0123456789abcdef0"])


def test_nothing_is_exported_of_another_kind_of_file_system(account: Account) -> None:
    zfs = account.client("fsx").create_file_system(
        FileSystemType="OPENZFS", StorageCapacity=64, SubnetIds=["subnet-12345678"]
    )

    assert find_exports(account, [zfs["FileSystem"]["FileSystemId"]]) == ()


@pytest.mark.parametrize(
    ("options", "typed", "exit_code"),
    [
        (["--yes"], None, 2),
        (["--yes", "--without-export"], None, 0),
        ([], "tiny\n", 2),
        (["--without-export"], "tiny\n", 0),
        (["--without-export"], "y\n", 2),
    ],
)
def test_who_loses_them_says_so(
    *,
    deployed: Account,
    tmp_path: Path,
    programs: FakePrograms,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    typed: str | None,
    exit_code: int,
) -> None:
    file_system = {"Type": "AWS::FSx::FileSystem", "Properties": {"FileSystemType": "LUSTRE"}}
    assembly = write_assembly(tmp_path / "lost", {**TEMPLATES, NETWORK: {"Data": file_system}})
    waiting = Export("fs-1", {"/checkpoints": "s3://tiny-checkpoints"}, ("files of fs-1 wait",), ())
    monkeypatch.setattr(inspection, "find_exports", lambda *_: (waiting,))

    result = CliRunner().invoke(app, ["destroy", "--assembly", str(assembly), *options], input=typed)

    assert result.exit_code == exit_code, result.output
    assert "every file of fs-1 outside /checkpoints: only that is exported to a bucket" in result.output
    assert "NOT exported, as far as AWS answers:\n  files of fs-1 wait" in result.output
    assert ("files of fs-1 wait: fix that, or use --without-export" in result.output) == (
        "--without-export" not in options
    )
