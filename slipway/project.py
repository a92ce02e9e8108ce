"""The project that commands work on: your repository, or Slipway's own checkout. It has the tools of others, too."""

from pathlib import Path

from slipway.bundle import BUNDLE, IS_CHECKOUT


def _project() -> Path:
    """Return the nearest folder, from the working directory upwards, with `cdk.json` and `environments/`.

    Without one it is the checkout that Slipway runs from. An installed wheel has none: commands that need a project
    find no environment in the working directory, and say so.
    """
    try:
        here = Path.cwd()
    except FileNotFoundError:
        return BUNDLE
    found = (
        each for each in (here, *here.parents) if (each / "cdk.json").is_file() and (each / "environments").is_dir()
    )
    return next(found, BUNDLE if IS_CHECKOUT else here)


PROJECT = _project()
"""Everything that commands write is in folders of it: `.plan`, `.judge`, `.rehearsal`, `.tools`."""

INSTALLATION = "make setup" if IS_CHECKOUT else "slipway setup"
"""The command that installs the tools of a project."""


CDK_FOLDER = Path(".tools", "cdk")
"""Where `slipway setup` installs the CDK CLI, within a project."""


def node_modules_of(project: Path) -> Path:
    """Return the folder with the CDK CLI, its template differ and the AWS SDK for JavaScript."""
    of_checkout = project / "node_modules"
    return of_checkout if (of_checkout / "aws-cdk").is_dir() else project / CDK_FOLDER / "node_modules"


def cdk_of(project: Path) -> Path:
    """Return a project's own CDK CLI, the pinned one."""
    return node_modules_of(project) / ".bin" / "cdk"


def parallelcluster_of(project: Path) -> Path:
    """Return the folder with the programs of aws-parallelcluster, which has a virtual environment of its own."""
    return project / ".tools" / "parallelcluster" / "bin"
