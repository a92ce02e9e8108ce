"""The documentation's pictures, from the real program: `python -m tests.browser.screenshots` (`make screenshots`).

The plan's pages are the same each time. A terminal shows times, so its pictures differ from run to run.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from slipway.rehearse import phases
from tests.assembly import PROJECT, environment_path
from tests.browser.chromium import ARGUMENTS, EXECUTABLE, variables
from tests.rehearse.sessions import EMPTY_ACCOUNT, emulated
from tests.terminal_picture import drawn, screens

PICTURES = PROJECT / "docs" / "pictures"
EDITS = (
    ("capacity_gib: 4800", "capacity_gib: 9600"),
    ("instance_type: m6i.2xlarge", "instance_type: m6i.4xlarge"),
    ("root_volume_gib: 500", "root_volume_gib: 1000"),
    ("max_count: 4", "max_count: 8"),
    ("monthly_budget_usd: 5000", "monthly_budget_usd: 9000"),
)
"""What the shown change edits in the file of `slipway init`: five lines."""

SCREENS = {"desktop": (1280, 900, "light"), "phone": (390, 844, "light"), "dark": (1280, 900, "dark")}
"""Width, height and colours of the shown part of a page, its beginning."""

COLUMNS = 100
SLIPWAY = (sys.executable, "-m", "slipway")
_THEN = "2026-01-01T00:00:00Z"
_GIT = {
    **{f"GIT_{who}_NAME": "me" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "me@example.com" for who in ("AUTHOR", "COMMITTER")},
    # A commit's id follows from its date, and a plan names the commit.
    **{f"GIT_{who}_DATE": _THEN for who in ("AUTHOR", "COMMITTER")},
}


def planned(folder: Path) -> Path:
    """Return the page of a plan: a repository of one's own whose environment file is edited.

    Args:
        folder: an empty one.
    """
    repository = folder / "mine"
    environment = {**os.environ, **_GIT}

    def run(*command: str | Path) -> None:
        subprocess.run(command, cwd=repository, env=environment, check=True, stdout=subprocess.DEVNULL)

    wish = ("--size", "default", "--region", "us-west-2", "--orchestrator", "slurm", "--endpoint")
    subprocess.run([*SLIPWAY, "init", repository, *wish], check=True, stdout=subprocess.DEVNULL)
    # As `slipway setup` leaves it, from the project's own tools.
    for tool, target in (("cdk/node_modules", "node_modules"), ("parallelcluster", ".tools/parallelcluster")):
        link = repository / ".tools" / tool
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to((PROJECT / target).resolve())
    run("git", "init", "--quiet", "--initial-branch", "main")
    run("git", "add", "--all")
    run("git", "commit", "--quiet", "--message", "First")
    file = repository / "environments" / "mine.yaml"
    text = file.read_text(encoding="utf-8")
    for old, new in EDITS:
        assert text.count(old) == 1, f"the file of slipway init no longer has {old!r} once: adapt the edits"
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")
    run(*SLIPWAY, "plan", "-e", "mine", "--base", "main", "--html", "plan.html")
    return repository / "plan.html"


def photograph(page: Path, folder: Path, browser: Browser) -> Mapping[str, int]:
    """Write the beginning of a page as each screen shows it, and return the whole page's height in pixels by screen."""
    heights = {}
    for name, (width, height, scheme) in SCREENS.items():
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if scheme == "dark" else "light",
            offline=True,
        )
        tab = context.new_page()
        tab.goto(page.as_uri())
        heights[name] = int(tab.evaluate("document.documentElement.scrollHeight"))
        tab.screenshot(path=folder / f"plan-{name}.png")
        context.close()
    return heights


def deployment(folder: Path) -> str:
    """Return the terminal in the middle of a deployment to the emulator."""
    with emulated(environment_path("small"), folder, (*EMPTY_ACCOUNT, phases.bootstrap)) as session:
        assert session.emulated is not None
        shown = screens((*SLIPWAY, "deploy", "-e", "small"), PROJECT, session.emulated.variables, COLUMNS)
    # The last screens have the outputs too.
    moving = [screen for screen in shown if len(screen) == len(shown[len(shown) // 2])]
    return drawn(moving[len(moving) // 2], title="slipway deploy -e small", width=COLUMNS)


def rehearsal(folder: Path) -> str:
    """Return the terminal at the end of a rehearsal."""
    command = (*SLIPWAY, "rehearse", "-e", "small", "--directory", folder)
    *_, last = screens(command, PROJECT, os.environ, COLUMNS)
    lines = [line.replace(f"{folder}/", ".rehearsal/") for line in last]
    return drawn(lines, title="slipway rehearse -e small", width=COLUMNS)


def main() -> None:
    """Write all pictures, and print how high the plan's pages are."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        page = planned(folder)
        browser = playwright.chromium.launch(
            executable_path=EXECUTABLE, args=list(ARGUMENTS), env={**variables(folder)}
        )
        for screen, height in photograph(page, PICTURES, browser).items():
            print(f"plan, {screen}: {height} px high")
        browser.close()
    for file, picture in (("deploy.svg", deployment), ("rehearse.svg", rehearsal)):
        folder = Path(tempfile.mkdtemp())
        (PICTURES / file).write_text(picture(folder), encoding="utf-8")
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
