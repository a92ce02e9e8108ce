"""The real CDK CLI: its command lines, and what its output says."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from slipway.assembly.cdk_cli import deployment, explain_failure
from slipway.rehearse import processes
from slipway.rehearse.errors import RehearsalError

BOOTSTRAP_STACK = "CDKToolkit"
"""The stack that `cdk bootstrap` makes."""

TIMEOUT_SECONDS = 1800.0
"""The longest that one command may take; the slowest so far, a first `deploy --all`, takes about a minute."""

_DIFFERENCES = re.compile(r"Number of stacks with differences: (\d+)")


class CdkFailedError(RehearsalError):
    """The CLI ended with an error; the message holds the lines of its output that say why."""


@dataclass(frozen=True)
class CdkCli:
    """Runs one CLI in one folder.

    Attributes:
        executable: the `cdk` program.
        project: folder with `cdk.json`; only `synth` runs there.
        folder: where the other commands run, so that they neither read nor write in the project.
        log: gives the log file of a phase by its name.
        each_poll: called a few times a second while a command runs.
    """

    executable: Path
    project: Path
    folder: Path
    log: Callable[[str], Path]
    each_poll: Callable[[], None]

    def synthesize(self, phase: str, variables: Mapping[str, str], environment: Path, output: Path) -> None:
        """Synthesize an environment file to a folder."""
        arguments = ("synth", "--quiet", "--context", f"environment={environment}", "--output", output)
        self._succeed(phase, variables, self.project, *arguments)

    def bootstrap(self, phase: str, variables: Mapping[str, str], target: str, *options: str) -> None:
        """Bootstrap the emulated account; the target is `aws://ACCOUNT/REGION`."""
        self._succeed(phase, variables, self.folder, "bootstrap", target, *options)

    def deploy(self, phase: str, variables: Mapping[str, str], assembly: Path, outputs: Path) -> None:
        """Deploy all stacks, independent ones at the same time, and write their outputs to a file."""
        self._succeed(phase, variables, self.folder, *deployment(assembly, outputs))

    def destroy(self, phase: str, variables: Mapping[str, str], assembly: Path) -> None:
        """Destroy all stacks."""
        self._succeed(phase, variables, self.folder, "destroy", "--app", assembly, "--all", "--force")

    def diff(self, phase: str, variables: Mapping[str, str], assembly: Path) -> int:
        """Compare with what is deployed, through change sets; return the number of stacks that differ."""
        arguments = ("diff", "--app", assembly, "--all", "--method", "change-set")
        self._succeed(phase, variables, self.folder, *arguments)
        found = _DIFFERENCES.findall(self._output(phase))
        if not found:
            raise CdkFailedError(f"`cdk diff` did not say how many stacks differ; see {self.log(phase)}")
        return int(found[-1])

    def _succeed(self, phase: str, variables: Mapping[str, str], folder: Path, *arguments: str | Path) -> None:
        code = processes.run(
            (self.executable, *arguments, "--no-notices"),
            variables=variables,
            folder=folder,
            log=self.log(phase),
            each_poll=self.each_poll,
            timeout_seconds=TIMEOUT_SECONDS,
        )
        if code != 0:
            raise CdkFailedError(
                f"`cdk {arguments[0]}` ended with exit code {code}\n{explain_failure(self._output(phase))}"
            )

    def _output(self, phase: str) -> str:
        return self.log(phase).read_text(encoding="utf-8", errors="replace")
