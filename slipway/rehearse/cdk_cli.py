"""The real CDK CLI: its command lines, and what its output says."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from slipway.rehearse import processes
from slipway.rehearse.errors import RehearsalError
from slipway.rehearse.isolation import ACCOUNT

BOOTSTRAP_STACK = "CDKToolkit"
"""The stack that `cdk bootstrap` makes."""

TIMEOUT_SECONDS = 1800.0
"""The longest that one command may take; the slowest so far, a first `deploy --all`, takes about a minute."""

_DIFFERENCES = re.compile(r"Number of stacks with differences: (\d+)")
_SUMMARY = "❌"
_FAILURE = re.compile(r"_FAILED\b|\bError\b|Error:|error: ")
_MOST_LINES = 12
_MOST_CHARACTERS = 400


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

    def bootstrap(self, phase: str, variables: Mapping[str, str], region: str, qualifier: str) -> None:
        """Bootstrap the emulated account with a qualifier."""
        self._succeed(phase, variables, self.folder, "bootstrap", f"aws://{ACCOUNT}/{region}", "--qualifier", qualifier)

    def deploy(self, phase: str, variables: Mapping[str, str], assembly: Path, outputs: Path) -> None:
        """Deploy all stacks, independent ones at the same time, and write their outputs to a file."""
        arguments = ("--require-approval", "never", "--concurrency", "4", "--progress", "events")
        self._succeed(
            phase, variables, self.folder, "deploy", "--app", assembly, "--all", *arguments, "--outputs-file", outputs
        )

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


def explain_failure(output: str) -> str:
    """Return the lines that name what failed: the CLI's summary, else the lines about an error, else the last ones."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    summary = next((number for number, line in enumerate(lines) if line.startswith(_SUMMARY)), None)
    if summary is not None:
        telling = lines[summary:]
    else:
        telling = [line for line in lines if _FAILURE.search(line)] or lines[-_MOST_LINES:]
    return "\n".join(cut(line) for line in list(dict.fromkeys(telling))[:_MOST_LINES])


def cut(text: str, most: int = _MOST_CHARACTERS) -> str:
    """Put a text on one line and cut it to a readable length."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
