"""One run of `slipway sbom`: read what is pinned, and write it."""

from pathlib import Path

import typer

from slipway.assembly.environment_files import environment_file
from slipway.bundle import BUNDLE
from slipway.config import InvalidEnvironment, load_environment
from slipway.errors import RefusedError
from slipway.review.sbom.document import document
from slipway.review.sbom.environment import environment_parts
from slipway.review.sbom.parts import npm_parts, python_parts

TOOL = "slipway"
"""Where the parts of the tool itself are."""


def run(environment: str, output: Path) -> None:
    """Write the bill of materials.

    Args:
        environment: name or file of an environment.
        output: file to write; its folder is made.

    Raises:
        RefusedError: the environment file is invalid, or the file cannot be written.
    """
    try:
        content = load_environment(environment_file(environment))
        tool = (
            *python_parts(BUNDLE / "locks" / "requirements.txt", TOOL),
            *npm_parts(BUNDLE / "package-lock.json", TOOL),
        )
        text = document(content.name, (*tool, *environment_parts(content)))
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text, "utf-8")
    except (InvalidEnvironment, OSError) as error:
        raise RefusedError(str(error)) from error
    typer.echo(output)
