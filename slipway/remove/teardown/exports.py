"""Whether the files of an FSx for Lustre file system that will be lost are in their buckets.

FSx exports behind the users' backs. AWS's own advice before a deletion: watch AgeOfOldestQueuedMessage until it is
zero (FSx API reference, DeleteFileSystemLustreConfiguration). Nothing but the folders that are linked is exported.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from slipway.aws.account import Account
from slipway.aws.refusals import words_of

LOOK_BACK = timedelta(minutes=10)
"""How old the values are that count. FSx publishes one a minute, some minutes late."""

_METRIC = "AgeOfOldestQueuedMessage"

_WANTED = {"NEW", "CHANGED"}
"""Events without whose export a bucket has not what the file system has; a deleted file that stays there is no loss."""


@dataclass(frozen=True)
class Export:
    """What becomes of the files of one file system.

    Attributes:
        file_system: its id.
        folders: the folders that FSx exports by itself, with the bucket of each: `/checkpoints` -> `s3://name`.
        pending: why files of these folders may not be in their bucket yet, or never come there.
        unknown: what could not be asked.
    """

    file_system: str
    folders: dict[str, str]
    pending: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def done(self) -> bool:
        """Whether all that is exported at all is in its bucket, as far as AWS knows."""
        return not self.pending and not self.unknown


def find_exports(account: Account, file_systems: Iterable[str]) -> tuple[Export, ...]:
    """Look at the exports of those of some FSx file systems that are Lustre's.

    One that is gone has nothing to export: CloudFormation goes on listing it when its stack could not be deleted whole.

    Raises:
        ClientError: FSx does not describe the file systems.
    """
    return tuple(_export(account, id_) for id_ in file_systems if _is_lustre(account.client("fsx"), id_))


def _is_lustre(fsx: Any, file_system: str) -> bool:
    try:
        rows = fsx.describe_file_systems(FileSystemIds=[file_system])["FileSystems"]
    except ClientError as error:
        if error.response["Error"]["Code"] == "FileSystemNotFound":
            return False
        raise
    return any(row["FileSystemType"] == "LUSTRE" for row in rows)


def _export(account: Account, file_system: str) -> Export:
    try:
        links = [link for link in _listed(account.client("fsx"), "associations", file_system) if _exports(link)]
    except (BotoCoreError, ClientError) as error:
        return Export(
            file_system, {}, (), (f"FSx does not say which folders of {file_system} are linked: {words_of(error)}",)
        )
    folders = {link["FileSystemPath"]: link["DataRepositoryPath"] for link in links}
    if not links:
        return Export(file_system, folders, (), ())
    pending, unknown = list(_broken(links)), []
    for what, ask in (("its export tasks", _tasks), ("its export queue", _lag)):
        try:
            pending += ask(account, file_system)
        except _NoValueError as error:
            unknown.append(str(error))
        except (BotoCoreError, ClientError) as error:
            unknown.append(f"{file_system}: AWS does not answer about {what}: {words_of(error)}")
    return Export(file_system, folders, tuple(pending), tuple(unknown))


def _listed(fsx: Any, what: str, file_system: str) -> Iterator[dict[str, Any]]:
    """Yield a file system's data repository `associations` or `tasks`; boto3 has no paginator for them."""
    describe = getattr(fsx, f"describe_data_repository_{what}")
    parameters: dict[str, Any] = {"Filters": [{"Name": "file-system-id", "Values": [file_system]}]}
    key = {"associations": "Associations", "tasks": "DataRepositoryTasks"}[what]
    while True:
        answer = describe(**parameters)
        yield from answer[key]
        if not answer.get("NextToken"):
            return
        parameters["NextToken"] = answer["NextToken"]


def _exports(link: dict[str, Any]) -> bool:
    return bool(link.get("S3", {}).get("AutoExportPolicy", {}).get("Events"))


def _broken(links: list[dict[str, Any]]) -> Iterator[str]:
    for link in links:
        missed = _WANTED - set(link["S3"]["AutoExportPolicy"]["Events"])
        if missed:
            yield (
                f"the link of {link['FileSystemPath']} to {link['DataRepositoryPath']} does not export what is "
                f"{' or '.join(sorted(missed))}"
            )
        if link["Lifecycle"] != "AVAILABLE":
            why = link.get("FailureDetails", {}).get("Message", "FSx gives no reason")
            yield f"the link of {link['FileSystemPath']} to {link['DataRepositoryPath']} is {link['Lifecycle']}: {why}"


def _tasks(account: Account, file_system: str) -> Iterator[str]:
    """Yield the export tasks that run, and the last one when it failed."""
    tasks = [
        task
        for task in _listed(account.client("fsx"), "tasks", file_system)
        if task["Type"] == "EXPORT_TO_REPOSITORY" and task["Lifecycle"] != "CANCELED"
    ]
    tasks.sort(key=lambda task: task["CreationTime"])
    for task in tasks:
        if task["Lifecycle"] in ("PENDING", "EXECUTING", "CANCELING"):
            yield f"export task {task['TaskId']} is {task['Lifecycle']}"
    if tasks and tasks[-1]["Lifecycle"] == "FAILED":
        why = tasks[-1].get("FailureDetails", {}).get("Message", "FSx gives no reason")
        yield f"export task {tasks[-1]['TaskId']} failed: {why}"


class _NoValueError(Exception):
    """CloudWatch has no value."""


def _lag(account: Account, file_system: str) -> Iterator[str]:
    """Yield that files wait, when they do."""
    now = datetime.now(UTC)
    answer = account.client("cloudwatch").get_metric_statistics(
        Namespace="AWS/FSx",
        MetricName=_METRIC,
        Dimensions=[
            {"Name": "FileSystemId", "Value": file_system},
            {"Name": "Publisher", "Value": "AutoExport"},
        ],
        StartTime=now - LOOK_BACK,
        EndTime=now,
        Period=60,
        Statistics=["Maximum"],
    )
    minutes = LOOK_BACK.seconds // 60
    if not answer["Datapoints"]:
        raise _NoValueError(f"{file_system}: CloudWatch has no {_METRIC} of the last {minutes} minutes")
    oldest = max(point["Maximum"] for point in answer["Datapoints"])
    if oldest > 0:
        yield (
            f"files of {file_system} wait for their export, the oldest for {oldest:.0f} s in the last {minutes} "
            f"minutes. Wait until this says 0: {_look(account.region, file_system)}"
        )


def _look(region: str, file_system: str) -> str:
    return (
        f"aws cloudwatch get-metric-statistics --region {region} --namespace AWS/FSx --metric-name {_METRIC} "
        f"--dimensions Name=FileSystemId,Value={file_system} Name=Publisher,Value=AutoExport --statistics Maximum "
        '--period 60 --start-time "$(date -u -d \'10 minutes ago\' +%FT%TZ)" --end-time "$(date -u +%FT%TZ)"'
    )
