"""The jobs of a Slurm cluster, which only its head node knows: `squeue` is run there through Systems Manager.

That is how users log in, too, so no other way in is needed. A head node that does not answer is not a reason to stop:
then the compute nodes that run are the best witness.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from slipway.aws.account import Account
from slipway.remove.teardown.compute_nodes import live_instances

POLL_SECONDS = 1.0
"""How often Systems Manager is asked."""

ANSWER_SECONDS = 30.0
"""How long the head node may take."""

_MOST_JOBS = 100
_LONGEST_NAME = 100
"""How many jobs are named, and how many characters of a name are read. Systems Manager returns 24,000 characters of
output (API reference, GetCommandInvocation): 240 for each job. An array's id has 77 at most (squeue(1),
SLURM_BITSTR_LEN: 64 for its indices), a user's name 32 (useradd(8)), the rest of the line 30."""

_END = "slipway-squeue-end"
_WAITS = "'^[^|]*|[^|]*|PENDING|'"
# POSIX shell, which is what Systems Manager runs. The names of jobs are their users' choice: they come last, and cut.
# What runs comes first, hidden partitions included: a long queue of jobs that wait, which squeue puts in front, must
# not push a job that runs out of the answer.
_SCRIPT = (
    f"queue=\"$(/opt/slurm/bin/squeue --all --noheader --format='%i|%u|%T|%M|%.{_LONGEST_NAME}j')\" && "
    f"{{ printf '%s\\n' \"$queue\" | grep -v {_WAITS}; printf '%s\\n' \"$queue\" | grep {_WAITS}; }} "
    f"| head -n {_MOST_JOBS} && echo {_END}"
)
_ENDED = ("Success", "Failed", "Cancelled", "TimedOut")


@dataclass(frozen=True)
class Job:
    """A job in Slurm's queue.

    Attributes:
        id: its number.
        user: whose it is.
        state: Slurm's word for its state, for example `RUNNING`.
        elapsed: how long it has run, in Slurm's format (`1-02:03:04`).
        name: its name.
    """

    id: str
    user: str
    state: str
    elapsed: str
    name: str

    @property
    def waits(self) -> bool:
        """Whether it has not begun: it loses its place in the queue, but no work."""
        return self.state == "PENDING"

    def __str__(self) -> str:
        return f"job {self.id} {self.name!r} of {self.user}: {self.state}, {self.elapsed}"


def jobs(account: Account, cluster: str) -> tuple[Job, ...] | None:
    """Return the jobs of a cluster, or none when its head node does not say.

    Raises:
        ClientError: EC2 does not list instances.
    """
    filters = [
        {"Name": "tag:parallelcluster:cluster-name", "Values": [cluster]},
        {"Name": "tag:parallelcluster:node-type", "Values": ["HeadNode"]},
    ]
    for instance in live_instances(account.client("ec2"), filters):
        if instance["State"]["Name"] == "running":
            try:
                return _read(_run(account.client("ssm"), instance["InstanceId"]))
            except (BotoCoreError, ClientError):
                # Not registered with Systems Manager, or these credentials may not send commands.
                return None
    return None


def _run(ssm: Any, instance_id: str) -> str:
    """Return what the script wrote; nothing when it failed or took too long."""
    sent = ssm.send_command(
        InstanceIds=[instance_id],
        DocumentName="AWS-RunShellScript",
        Parameters={"commands": [_SCRIPT]},
        TimeoutSeconds=30,  # the shortest that Systems Manager takes
    )
    command_id, deadline = sent["Command"]["CommandId"], time.monotonic() + ANSWER_SECONDS
    while time.monotonic() < deadline:
        try:
            answer = ssm.get_command_invocation(CommandId=command_id, InstanceId=instance_id)
        except ssm.exceptions.InvocationDoesNotExist:
            answer = {"Status": "Pending"}  # for a moment after it was sent
        if answer["Status"] in _ENDED:
            return str(answer["StandardOutputContent"])
        time.sleep(POLL_SECONDS)
    return ""


def _read(output: str) -> tuple[Job, ...] | None:
    """Read the script's output; without its last line it did not come to its end."""
    lines = output.strip().splitlines()
    if not lines or lines[-1] != _END:
        return None
    return tuple(_jobs([line for line in lines[:-1] if line.strip()]))


def _jobs(lines: list[str]) -> Iterator[Job]:
    for line in lines:
        columns = line.strip().split("|", maxsplit=4)
        if len(columns) == len(fields(Job)):  # else it is the rest of a name with a line break
            yield Job(*(column.strip() for column in columns))
