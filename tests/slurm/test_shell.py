"""The commands of docs/own-code.md that open a shell with the Neuron environment on a node of a queue."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.assets.sandbox import ASSETS
from tests.slurm.local_slurm import LocalSlurm
from tests.slurm.training_jobs import TRAINING_PYTHON

pytestmark = pytest.mark.slurm

PAGE = ASSETS.parent / "docs" / "own-code.md"
WRITE_PROFILE = """
source steps.sh
source training_stack.sh
write_profile "$STACK"
"""


@pytest.fixture
def cluster(short_path: Path) -> Iterator[LocalSlurm]:
    with LocalSlurm(short_path / "c", nodes=("cpu-dy-c7i-1", "trn1-dy-trn1-1")) as cluster:
        yield cluster


@pytest.fixture
def home(short_path: Path) -> Path:
    """A home whose login shells read what the set-up of a node writes into /etc/profile.d, with a root of its own."""
    root, stack, home = (short_path / name for name in ("root", "stack", "home"))
    home.mkdir()
    stack.symlink_to(TRAINING_PYTHON.parents[1])
    made = {"SLIPWAY_SETUP_SECONDS": "60", "ROOT": str(root), "STACK": str(stack), "PATH": os.environ["PATH"]}
    subprocess.run(["bash", "-ec", WRITE_PROFILE], env=made, cwd=ASSETS / "cluster", check=True)
    (home / ".bash_profile").write_text(
        f'source {root}/etc/profile.d/slipway-neuron.sh\nSLIPWAY_NEURON_VENV="{root}$SLIPWAY_NEURON_VENV"\n'
    )
    return home


def test_a_shell_on_a_node_has_the_training_environment(cluster: LocalSlurm, home: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    [(shell, activate)] = re.findall(r"^(srun .*?) +# .*\n(\. .*)$", text, re.MULTILINE)
    typed = f"{activate}\npython -c 'import sys, torch; print(\"torch of\", sys.prefix)'\necho on $SLURMD_NODENAME\n"

    # `script` gives srun the terminal that --pty needs.
    said = subprocess.run(
        ["script", "--quiet", "--return", "--command", shell, "/dev/null"],
        input=f"{typed}exit\n",
        env={**cluster.environment, "HOME": str(home), "TERM": "dumb"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert f"torch of {TRAINING_PYTHON.parents[1].resolve()}" in said.stdout, said.stdout + said.stderr
    assert "on trn1-dy-trn1-1" in said.stdout
    assert said.returncode == 0
