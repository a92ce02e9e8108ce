"""An environment synthesized the way the CDK CLI does it, without the CLI."""

import json
import os
import re
import shutil
import sys
from pathlib import Path

from slipway.assembly.process_groups import ProcessGroup
from slipway.bundle import BUNDLE
from slipway.project import PROJECT

VALIDATION_REPORT = "validation-report.json"
"""What the CDK writes beside the templates about its validation plug-ins, also when their findings fail the synth."""

OWN_PROGRAMS = Path(sys.executable).parent
"""Where `python3` is this interpreter."""

_PASSED_ON = ("PATH", "LANG", "LC_ALL")
"""The variables that the code of another revision gets: no credentials, no tokens."""

_PACKAGES_OF_OTHERS = PROJECT / ".plan" / "base-packages"
"""Where the code of other revisions unpacks the CDK's library, and finds it the next time. Ours is elsewhere."""

_TRACEBACK = re.compile(r"^(?:Traceback|jsii\.errors)", re.MULTILINE)


class SynthFailedError(Exception):
    """The app ended with an error; the message is what it said."""


class Synthesis:
    """A synth that runs; several may, side by side."""

    def __init__(self, app: ProcessGroup, directory: Path, log: Path, temporary: Path) -> None:
        """Take over an app that `start_synthesis` started."""
        self._app = app
        self.directory = directory
        self._log = log
        self._temporary = temporary

    def wait(self, *, despite_findings: bool = False) -> None:
        """Return when the cloud assembly is written.

        Args:
            despite_findings: be content with an assembly that scanners, rules or the cost ceiling refuse: the CDK asks
                them after everything is written. What exists can be looked at, stopped and destroyed all the same.

        Raises:
            SynthFailedError: the app ended with another exit code than 0.
        """
        failed = self._app.wait()
        self.stop()
        if failed and not (despite_findings and (self.directory / VALIDATION_REPORT).is_file()):
            said = _message(self._log.read_text("utf-8", errors="replace"))
            raise SynthFailedError(f"cdk synth would fail; the app's log: {self._log}\n{said}")

    def stop(self) -> None:
        """End the app and the Node process that it started, if they still run, and remove their temporary files."""
        self._app.end()
        shutil.rmtree(self._temporary, ignore_errors=True)


def start_synthesis(
    environment: str, directory: Path, log: Path, project: Path = PROJECT, programs: Path = OWN_PROGRAMS
) -> Synthesis:
    """Start the app of cdk.json on an environment file, the way `cdk synth` runs it.

    CDK's built-in validation stays off: it is a gate of its own and costs seconds. The security packs and the rules for
    clusters run.

    Args:
        environment: name of a file in environments/, without its ending, or a path that ends in .yaml, from the folder
            that the user is in.
        directory: where the cloud assembly is written.
        log: where all that the app says is kept.
        project: folder of the project whose app runs. Of another than this one, its own packages are imported, not
            the installed ones, and it gets neither the user's variables nor the user's home folder.
        programs: folder with the `python3` that has the app's Slipway: the first on the PATH.

    Raises:
        SynthFailedError: the folder has no cdk.json.
    """
    try:
        settings = json.loads((project / "cdk.json").read_text("utf-8"))
    except FileNotFoundError as missing:
        raise SynthFailedError(f"{project} is not a Slipway project: `slipway init FOLDER` makes one") from missing
    # The app runs in the project's folder.
    choice = str(Path(environment).resolve()) if environment.endswith(".yaml") else environment
    # The CLI adds the construct paths to the templates: a deployment has them.
    context = {**settings.get("context", {}), "aws:cdk:enable-path-metadata": True, "environment": choice}
    # Beside the assembly, not where TMPDIR says: an app that is killed leaves files there, and the next one finds it.
    temporary = directory.with_name(f"{directory.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    variables = {
        "CDK_OUTDIR": str(directory),
        "CDK_CONTEXT_JSON": json.dumps(context),
        "CDK_VALIDATION": "false",
        "TMPDIR": str(temporary.resolve()),
    }
    given = dict(os.environ) if project == PROJECT else _surroundings(project, temporary)
    # Node.js may be beside this interpreter alone.
    given["PATH"] = os.pathsep.join((str(programs), str(OWN_PROGRAMS), given.get("PATH", os.defpath)))
    variables["JSII_NODE"] = str(BUNDLE / "bin" / "synth-node")
    app = ProcessGroup(["/bin/sh", "-c", settings["app"]], given | variables, project, log)
    return Synthesis(app, directory, log, temporary)


def _surroundings(project: Path, temporary: Path) -> dict[str, str]:
    """Return the environment variables of an app of another revision."""
    return {name: os.environ[name] for name in _PASSED_ON if name in os.environ} | {
        # Where programs look for credentials when no variable has them.
        "HOME": str(temporary.resolve()),
        # Before the finder of the editable install, which would find this project's packages.
        "PYTHONPATH": os.pathsep.join((str(project), str(project / "constructs"), str(project / "stacks"))),
        "JSII_RUNTIME_PACKAGE_CACHE_ROOT": str(_PACKAGES_OF_OTHERS),
    }


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
