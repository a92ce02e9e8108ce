"""The CDK CLI's command line for a deployment, and what its output says."""

import re
from pathlib import Path

_SUMMARY = "❌"
_FAILURE = re.compile(r"^‣|_FAILED\b|\bError\b|Error:|error: ")
_MOST_LINES = 12
_MOST_CHARACTERS = 400


def deployment(assembly: Path, outputs: Path) -> tuple[str | Path, ...]:
    """Return the arguments that deploy all stacks of an assembly, independent ones at the same time.

    The CLI cannot ask about IAM changes while several stacks are deployed.

    Args:
        assembly: the cloud assembly.
        outputs: JSON file that the CLI writes the stacks' outputs to.
    """
    options = ("--require-approval", "never", "--concurrency", "4", "--progress", "events")
    return ("deploy", "--app", assembly, "--all", *options, "--outputs-file", outputs)


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
