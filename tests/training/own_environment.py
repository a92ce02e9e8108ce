"""The commands of docs/own-code.md that make an environment for a script over that of the training stack."""

import re
import subprocess
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "own-code.md"


def make_own_environment(folder: Path, stack: Path) -> Path:
    """Run the page's commands, up to the one that installs packages.

    Args:
        folder: stands for /fsx.
        stack: the training stack's Python environment.

    Returns:
        The new environment.
    """
    apps = folder / "apps" / "neuron"
    apps.mkdir(parents=True)
    (apps / "current").symlink_to(stack)
    text = PAGE.read_text(encoding="utf-8")
    [lines] = re.findall(
        r"```console\n(/apps/neuron/current/bin/python -m venv .*?\n)/fsx/\S+pip install", text, re.DOTALL
    )
    commands = lines.replace("/fsx", str(folder)).replace("/apps/neuron", str(apps))
    subprocess.run(["bash", "-ec", commands], check=True)
    return folder / "envs" / "mine"
