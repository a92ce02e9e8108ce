"""A recipe means the same on Slurm and on Kubernetes: commands, environment variables and numbers of processes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import pytest

from tests.jobs.kubernetes.manifest_case import NAMES, SECRET, placed
from tests.jobs.kubernetes.script_runs import Record, script_run

OF_THE_SCHEDULER = re.compile(
    r"(SLURM|OMPI|SLIPWAY_(SUBMISSION|RESTART|NODE|NODES|NODE_GROUP)$|POD|JOB|PWD$|OLDPWD$|SHLVL$|TMPDIR$|_$)\w*"
    r"|FI_EFA_USE_HUGE_PAGE$"
)
"""Variables by which a scheduler tells a process where it is, and the shell's own; and that pods use no huge pages."""


def told(record: Record, directory: Path) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Return what a process was told, without what only one scheduler says."""

    def plain(text: str) -> str:
        text = text.replace(str(directory), "").replace("/opt/slurm/bin:", "")
        text = re.sub(r".*/tmp\.\w{10}$", "MKTEMP", text)
        return re.sub(r"(slipway-compile-cache-\w+)/[^/]+/", r"\1/NODE/", text)

    variables = {name: plain(value) for name, value in record.environment.items() if not OF_THE_SCHEDULER.match(name)}
    # In a pod, train finds the PATH of compile, and puts the same before and behind it.
    variables["PATH"] = ":".join(dict.fromkeys(variables["PATH"].split(":")))
    return tuple(plain(word) for word in record.arguments), tuple(sorted(variables.items()))


@pytest.mark.parametrize("name", NAMES)
def test_commands_variables_and_processes_are_the_same(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = {}
    # More nodes do the same, and take their time here.
    nodes = placed(name, None)[0].recipe.hardware.nodes
    launchers: tuple[Literal["torchrun", "mpi"] | None, ...] = (None, "torchrun", "mpi")
    for launcher in launchers:
        directory = tmp_path / (launcher or "slurm")
        on = script_run(directory, monkeypatch, name, launcher, nodes=min(nodes, 3))
        on.tell("writes-no-attempts")
        statuses = on.whole_chain()
        assert set(statuses) == {0}, [file.read_text() for file in Path(on.run.directory, "logs").iterdir()]
        records = on.records()
        seen[launcher] = sorted(told(record, directory) for record in records)

        started = [record for record in records if "--nnodes" in record.arguments and "-m" in record.arguments[:1]]
        hardware = on.run.recipe.hardware
        for purpose in ("compile", "train"):
            of_purpose = [record for record in started if record.option("--purpose") == purpose]
            ranks = sorted(int(record.option("--node_rank")) for record in of_purpose)
            assert ranks == list(range(hardware.nodes))
            assert {int(record.option("--nnodes")) for record in of_purpose} == {hardware.nodes}
            workers = sum(int(record.option("--nproc_per_node")) for record in of_purpose)
            assert workers == on.run.world_size
            assert {record.option("--master_addr") for record in of_purpose} == {"10.0.0.1"}

    assert seen["torchrun"] == seen[None]
    assert seen["mpi"] == seen[None]


def test_the_token_of_hugging_face_reaches_prepare_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on = script_run(tmp_path / "u", monkeypatch, "tiny-llama", "torchrun", secret=SECRET)

    assert set(on.whole_chain()) == {0}
    with_token = {record.arguments[1] for record in on.records() if "HF_TOKEN" in record.environment}
    assert with_token == {"slipway_training.prepare"}
    assert not [file for file in Path(on.run.directory, "scripts").iterdir() if "HF_TOKEN" in file.read_text()]
