"""The compute fleet of a cluster, stopped with ParallelCluster's own command.

`pcluster update-compute-fleet` is the documented way. It writes a request into a DynamoDB table of the cluster, whose
layout is ParallelCluster's own business, and clustermgtd on the head node carries it out: the partitions become
inactive, the nodes are terminated, and static nodes are not started again.
"""

import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

POLL_SECONDS = 15.0
STOP_SECONDS = 900.0
"""How long clustermgtd may take. ParallelCluster's own client waits 13 minutes for both steps of the transition."""

_COMMAND_SECONDS = 120.0
_ENDS = ("STOPPED", "UNKNOWN")


class NoAnswerError(Exception):
    """ParallelCluster did not do what it was asked; the message is its own."""


@dataclass(frozen=True)
class ComputeFleet:
    """The compute fleet of one cluster.

    Attributes:
        pcluster: ParallelCluster's command line.
        cluster: name of the cluster.
        region: its AWS Region.
    """

    pcluster: Path
    cluster: str
    region: str

    def stop(self, tell: Callable[[str], None]) -> str:
        """Stop the fleet and wait for it.

        Args:
            tell: called with the fleet's status, as often as it is asked for.

        Returns:
            The last status: STOPPED, or UNKNOWN or another when the head node never came up or does not answer.

        Raises:
            NoAnswerError: ParallelCluster refused, for example because the cluster is being updated.
        """
        deadline = time.monotonic() + STOP_SECONDS
        status = self._status()
        if status not in _ENDS:
            self._run("update-compute-fleet", "--status", "STOP_REQUESTED")
            status = self._status()
        while status not in _ENDS and time.monotonic() < deadline:
            tell(f"{self.cluster}: compute fleet {status}")
            time.sleep(POLL_SECONDS)
            status = self._status()
        return status

    def _status(self) -> str:
        """STOPPED, RUNNING, STOPPING, STOP_REQUESTED, PROTECTED ...; UNKNOWN before the head node has reported."""
        return str(self._run("describe-compute-fleet")["status"])

    def _run(self, command: str, *arguments: str) -> dict[str, str]:
        try:
            done = subprocess.run(
                [self.pcluster, command, "--cluster-name", self.cluster, "--region", self.region, *arguments],
                capture_output=True,
                text=True,
                timeout=_COMMAND_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise NoAnswerError(f"pcluster {command} did not end within {_COMMAND_SECONDS:.0f} s") from error
        try:
            answer: dict[str, str] = json.loads(done.stdout)
        except ValueError as error:
            raise NoAnswerError((done.stderr or done.stdout).strip().rpartition("\n")[2]) from error
        if done.returncode:
            raise NoAnswerError(answer.get("message", done.stdout))
        return answer
