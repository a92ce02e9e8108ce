"""The commands of docs/training.md that make an environment for a script over that of the training stack."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "training.md"


def test_it_sees_the_packages_of_the_training_stack_and_installs_its_own(tmp_path: Path) -> None:
    stack = tmp_path / "apps" / "neuron"
    stack.mkdir(parents=True)
    (stack / "current").symlink_to(Path(sys.prefix))
    text = PAGE.read_text(encoding="utf-8")
    [lines] = re.findall(
        r"```console\n(/apps/neuron/current/bin/python -m venv .*?\n)/fsx/\S+pip install", text, re.DOTALL
    )
    commands = lines.replace("/apps/neuron", str(stack)).replace("/fsx", str(tmp_path))

    subprocess.run(["bash", "-ec", commands], check=True)

    mine = tmp_path / "envs" / "mine"
    found = subprocess.run(
        [mine / "bin" / "python", "-c", "import sys, torch; print(sys.prefix, torch.__file__)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    prefix, torch = found.split()
    assert (prefix, torch.startswith(str(Path(sys.prefix).resolve()))) == (str(mine), True)
    listed = subprocess.run([mine / "bin" / "pip", "list"], capture_output=True, text=True, check=True).stdout
    assert re.search(r"^torch +", listed, re.MULTILINE), "pip would install another one"
