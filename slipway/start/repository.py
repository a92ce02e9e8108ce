"""Writes a new repository: whole, or not at all."""

import shutil
import tempfile
from importlib import metadata
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from slipway.bundle import BUNDLE
from slipway.check.az.run import NothingAskedError, run
from slipway.config import InvalidEnvironment, load_environment
from slipway.errors import RefusedError
from slipway.start.environment_text import check, environment_text
from slipway.start.wish import Wish
from slipway.terminal import screen

_FILES = {
    "app.py.j2": "app.py",
    "cdk.json.j2": "cdk.json",
    "requirements.txt.j2": "requirements.txt",
    "gitignore.j2": ".gitignore",
    "README.md.j2": "README.md",
}
"""Templates, and what they become."""

_TEMPLATES = Path(__file__).with_name("templates")


def write_repository(folder: Path, wish: Wish) -> None:
    """Write the repository into a new or an empty folder.

    Raises:
        RefusedError: the folder has something in it, or the wish cannot be fulfilled. Nothing was written.
    """
    check(wish)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RefusedError(f"{folder} is not empty: name a new folder. Nothing was written")
    parent = folder.resolve().parent
    if not parent.is_dir():
        raise RefusedError(f"{parent} does not exist. Nothing was written")
    with tempfile.TemporaryDirectory(dir=parent, prefix=f".{folder.resolve().name}.") as name:
        draft = Path(name) / "repository"
        _write(draft, wish)
        if folder.exists():
            folder.rmdir()
        shutil.move(draft, folder)


def _write(folder: Path, wish: Wish) -> None:
    environments = folder / "environments"
    environments.mkdir(parents=True)
    shutil.copyfile(BUNDLE / "environments" / "schema.json", environments / "schema.json")
    # As they are: what GitHub fills in looks like what a template fills in.
    shutil.copytree(_TEMPLATES / "workflows", folder / ".github" / "workflows")
    file = environments / f"{wish.name}.yaml"
    file.write_text(environment_text(wish), "utf-8")
    _choose_zones(file, wish)
    templates = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,
    )
    for template, target in _FILES.items():
        text = templates.get_template(template).render(wish=wish, version=metadata.version("slipway"))
        (folder / target).write_text(text, "utf-8")


def _choose_zones(file: Path, wish: Wish) -> None:
    """Replace the pattern's zones by those of Slipway's own data; `slipway az` asks AWS later."""
    console = screen(quiet=True)
    try:
        found = run(file, region=None, offline=True, dry_run=False, console=console)
        load_environment(file)
    except (InvalidEnvironment, NothingAskedError) as error:
        raise RefusedError(f"{error}\nNothing was written") from error
    if not found:
        raise RefusedError(
            f"{wish.region} has no zone with all that --size {wish.size} needs: choose another Region or size. "
            "Nothing was written"
        )
