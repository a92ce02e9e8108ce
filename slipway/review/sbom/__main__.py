"""`python -m slipway.review.sbom`: write the bill of materials of an environment, a CycloneDX 1.6 document in JSON."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from slipway.assembly.choice import RequiredEnvironment
from slipway.assembly.environment_files import environment_file
from slipway.assembly.synthesis import PROJECT
from slipway.config import InvalidEnvironment, load_environment
from slipway.console import run
from slipway.review.sbom.document import document
from slipway.review.sbom.environment import environment_parts
from slipway.review.sbom.parts import npm_parts, python_parts

TOOL = "slipway"
"""Where the parts of the tool itself are."""


def main(
    environment: RequiredEnvironment,
    output: Annotated[Path, typer.Option(metavar="FILE", help="File to write.")],
) -> None:
    """Write what Slipway and an environment run. Talks to no AWS.

    Exit codes: 0 written; 2 the environment file is invalid, or the file cannot be written.
    """
    try:
        content = load_environment(environment_file(environment))
        tool = (
            *python_parts(PROJECT / "locks" / "requirements.txt", TOOL),
            *npm_parts(PROJECT / "package-lock.json", TOOL),
        )
        text = document(content.name, (*tool, *environment_parts(content)))
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text, "utf-8")
    except (InvalidEnvironment, OSError) as error:
        print(error, file=sys.stderr)
        raise typer.Exit(2) from error
    print(output)


if __name__ == "__main__":
    run(main)
