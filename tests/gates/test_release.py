"""`make release`: what the workflow `release` publishes."""

import subprocess
import tomllib

from tests.assembly import PROJECT


def test_the_changelog_begins_with_the_version() -> None:
    version = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    headings = [line for line in (PROJECT / "CHANGELOG.md").read_text("utf-8").splitlines() if line.startswith("## ")]

    assert headings[0].split()[1] == version


def test_it_takes_the_notes_of_a_version_alone() -> None:
    """The recipe's own program, over a changelog with three versions."""
    [recipe] = [line for line in (PROJECT / "Makefile").read_text("utf-8").splitlines() if "awk '/^## /" in line]
    program = recipe.split("'")[1].replace("$$", "$")
    text = "# Changelog\n\n## 2.0.0 (2026-12-01)\n\n* new\n\n## 1.0.0 (2026-11-01)\n\n* old\n\n## 0.1.0\n"
    given = {"PATH": "/usr/bin:/bin", "version": "1.0.0"}
    run = subprocess.run(["awk", program], input=text, env=given, capture_output=True, text=True, check=True)

    assert run.stdout == "## 1.0.0 (2026-11-01)\n\n* old\n\n"
