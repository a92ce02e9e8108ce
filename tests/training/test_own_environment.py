"""An environment for a script that docs/own-code.md's commands make over that of the training stack."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.training.own_environment import make_own_environment


def test_it_sees_the_packages_of_the_training_stack_and_installs_its_own(tmp_path: Path) -> None:
    mine = make_own_environment(tmp_path, Path(sys.prefix))

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
