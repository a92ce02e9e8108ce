"""What the head node gives to all nodes: health check, prolog and smoke jobs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from neuron_constructs.cluster.configuration import HEALTH_CHECK_PROGRAM
from tests.assets.sandbox import ASSETS, Outcome, Sandbox

CLUSTER = ASSETS / "cluster"
PROLOG = "opt/slurm/etc/scripts/prolog.d/10_slipway_health_check"
SMOKE_JOBS = ["all_reduce.sbatch", "efa.sbatch", "fsx.sbatch", "neuron_ls.sbatch"]


@pytest.fixture
def head(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path)


def install(head: Sandbox, function: str) -> Outcome:
    harness = head.state / "harness.sh"
    harness.write_text(
        f'set -euo pipefail\nSCRIPT_DIRECTORY={CLUSTER}\nsource "$SCRIPT_DIRECTORY/health.sh"\n{function}\n',
        encoding="utf-8",
    )
    outcome = head.run(harness)
    assert (outcome.status, outcome.stderr) == (0, "")
    return outcome


def test_the_health_check_is_where_slurms_configuration_looks_for_it(head: Sandbox) -> None:
    install(head, "install_health_check")

    program = head.root / HEALTH_CHECK_PROGRAM.lstrip("/")
    assert program.read_bytes() == (CLUSTER / "health_check.sh").read_bytes()
    assert os.access(program, os.X_OK)


def test_the_prolog_is_the_same_program_and_runs_before_parallelclusters_own(head: Sandbox) -> None:
    head.write("/opt/slurm/etc/scripts/prolog.d/90_pcluster_health_check_manager")
    install(head, "install_health_check")

    prolog = head.root / PROLOG
    # All nodes mount /opt/slurm at the same place, and the link holds wherever that is.
    assert not prolog.readlink().is_absolute()
    assert prolog.resolve() == head.root / HEALTH_CHECK_PROGRAM.lstrip("/")
    assert sorted(path.name for path in prolog.parent.iterdir())[0] == prolog.name


def test_nothing_half_written_is_left_for_slurm_to_run(head: Sandbox) -> None:
    install(head, "install_health_check")

    assert [path.name for path in (head.root / PROLOG).parent.iterdir()] == ["10_slipway_health_check"]
    assert [path.name for path in (head.root / HEALTH_CHECK_PROGRAM.lstrip("/")).parent.iterdir()] == [
        "health_check.sh"
    ]


def test_the_smoke_jobs_are_on_apps_for_everybody(head: Sandbox) -> None:
    install(head, "install_smoke_jobs")

    jobs = head.root / "apps/slipway/smoke"
    assert sorted(path.name for path in jobs.iterdir()) == SMOKE_JOBS
    assert {oct(path.stat().st_mode & 0o777) for path in jobs.iterdir()} == {"0o755"}


@pytest.mark.parametrize("function", ["install_health_check", "install_smoke_jobs"])
def test_a_second_run_changes_nothing_and_a_changed_program_is_replaced(head: Sandbox, function: str) -> None:
    install(head, function)
    programs = [path for path in head.root.rglob("*") if path.is_file() and not path.is_symlink()]
    before = {path: path.stat().st_ino for path in programs}

    install(head, function)
    assert {path: path.stat().st_ino for path in programs} == before

    content = programs[0].read_bytes()
    programs[0].write_text("an older version", encoding="utf-8")
    install(head, function)
    assert programs[0].read_bytes() == content
