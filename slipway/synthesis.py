"""An environment synthesized the way the CDK CLI does it, without the CLI."""

import json
import os
import re
import subprocess
from pathlib import Path

PROJECT = Path(__file__).parents[1]
"""The folder of the project that this package belongs to."""

_TRACEBACK = re.compile(r"^(?:Traceback|jsii\.errors)", re.MULTILINE)


class SynthFailedError(Exception):
    """The app ended with an error; the message is what it said."""


def synthesize(environment: str, directory: Path, log: Path) -> None:
    """Run the app of cdk.json on an environment file, the way `cdk synth` runs it.

    CDK's built-in validation stays off: it is a gate of its own and costs seconds.

    Args:
        environment: name of a file in environments/, without its ending.
        directory: where the cloud assembly is written.
        log: where all that the app says is kept.

    Raises:
        SynthFailedError: the app ended with another exit code than 0.
    """
    settings = json.loads((PROJECT / "cdk.json").read_text("utf-8"))
    context = {**settings["context"], "environment": environment}
    variables = {"CDK_OUTDIR": str(directory), "CDK_CONTEXT_JSON": json.dumps(context), "CDK_VALIDATION": "false"}
    with log.open("w", encoding="utf-8") as output:
        app = subprocess.run(
            settings["app"],
            shell=True,
            cwd=PROJECT,
            env={**os.environ, **variables},
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if app.returncode:
        raise SynthFailedError(f"cdk synth would fail; the app's log: {log}\n{_message(log.read_text('utf-8'))}")


def _message(output: str) -> str:
    """Give what a failed app said before its traceback, or the traceback's last line when it said nothing."""
    said = _TRACEBACK.split(output, maxsplit=1)[0].strip()
    return said or output.strip().rpartition("\n")[2]
