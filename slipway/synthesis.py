"""An environment synthesized the way the CDK CLI does it, without the CLI."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

PROJECT = Path(__file__).parents[1]
"""The folder of the project that this package belongs to."""

VALIDATION_REPORT = "validation-report.json"
"""What the CDK writes beside the templates about its validation plug-ins, also when their findings fail the synth."""

_TRACEBACK = re.compile(r"^(?:Traceback|jsii\.errors)", re.MULTILINE)


class SynthFailedError(Exception):
    """The app ended with an error; the message is what it said."""


class Synthesis:
    """A synth that runs; several may, side by side."""

    def __init__(self, process: subprocess.Popen[bytes], directory: Path, log: Path) -> None:
        """Take over a process that `start_synthesis` started."""
        self._process = process
        self.directory = directory
        self._log = log

    def wait(self, *, despite_findings: bool = False) -> None:
        """Return when the cloud assembly is written.

        Args:
            despite_findings: be content with an assembly that scanners, rules or the cost ceiling refuse: the CDK asks
                them after everything is written. What stands can be looked at, stopped and destroyed all the same.

        Raises:
            SynthFailedError: the app ended with another exit code than 0.
        """
        failed = self._process.wait()
        if failed and not (despite_findings and (self.directory / VALIDATION_REPORT).is_file()):
            said = _message(self._log.read_text("utf-8", errors="replace"))
            raise SynthFailedError(f"cdk synth would fail; the app's log: {self._log}\n{said}")

    def stop(self) -> None:
        """End the app and the Node process that it started, if they still run."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            self._process.wait()


def start_synthesis(environment: str, directory: Path, log: Path, project: Path = PROJECT) -> Synthesis:
    """Start the app of cdk.json on an environment file, the way `cdk synth` runs it.

    CDK's built-in validation stays off: it is a gate of its own and costs seconds. The security packs and the rules for
    clusters run.

    Args:
        environment: name of a file in environments/, without its ending, or a path that ends in .yaml, from the folder
            that the user is in.
        directory: where the cloud assembly is written.
        log: where all that the app says is kept.
        project: folder of the project whose app runs; its own packages are imported, not the installed ones.
    """
    settings = json.loads((project / "cdk.json").read_text("utf-8"))
    # The app runs in the project's folder.
    choice = str(Path(environment).resolve()) if environment.endswith(".yaml") else environment
    # The CLI adds the construct paths to the templates: a deployment has them.
    context = {**settings.get("context", {}), "aws:cdk:enable-path-metadata": True, "environment": choice}
    variables = {"CDK_OUTDIR": str(directory), "CDK_CONTEXT_JSON": json.dumps(context), "CDK_VALIDATION": "false"}
    if project != PROJECT:
        # Before the finder of the editable install, which would find this project's packages.
        variables["PYTHONPATH"] = os.pathsep.join((str(project), str(project / "constructs")))
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(
            settings["app"],
            shell=True,
            cwd=project,
            env={**os.environ, **variables},
            stdout=output,
            stderr=subprocess.STDOUT,
            # A group of its own: Ctrl-C reaches the command alone, which ends the whole group.
            start_new_session=True,
        )
    return Synthesis(process, directory, log)


def synthesize(environment: str, directory: Path, log: Path, *, despite_findings: bool = False) -> None:
    """Synthesize an environment of this project; see `start_synthesis`, and `Synthesis.wait` for findings.

    Raises:
        SynthFailedError: the app ended with another exit code than 0.
    """
    synthesis = start_synthesis(environment, directory, log)
    try:
        synthesis.wait(despite_findings=despite_findings)
    finally:
        synthesis.stop()


def _message(output: str) -> str:
    """Give what a failed app said before its traceback, or the traceback's last line when it said nothing."""
    said = _TRACEBACK.split(output, maxsplit=1)[0].strip()
    return said or output.strip().rpartition("\n")[2]
