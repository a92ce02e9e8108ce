"""The stand-ins for programs of the distribution: what the real ones print, and with which status they end."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from neuron_constructs.inference.host_user_data import VOLUME_LABEL
from tests.assets import cluster_node, inference_host
from tests.assets.sandbox import ASSETS
from tests.contracts.conftest import DebianPrograms
from tests.slurm.test_smoke_jobs import FI_INFO

pytestmark = pytest.mark.contract

MODEL_SYNC = (ASSETS / "inference/host/model_sync.sh").read_text(encoding="utf-8")


def stand_in(command: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a stub of the inference host."""
    script = ["bash", "-c", inference_host.STUBS[command], command, *arguments]
    return subprocess.run(
        script, env={"PATH": "/usr/bin:/bin", **variables}, capture_output=True, text=True, check=False
    )


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    """A new volume, as a file."""
    file = tmp_path / "volume"
    with file.open("wb") as empty:
        empty.truncate(320 * 2**20)
    return file


def test_fi_info_prints_the_stand_ins_lines(debian: DebianPrograms, tmp_path: Path) -> None:
    (tmp_path / "sys/class/infiniband/rdmap0s0").mkdir(parents=True)
    shown = subprocess.run(
        ["bash", "-c", FI_INFO],
        env={"ROOT": str(tmp_path), "STATE": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    real = debian.run("fi_info", "-p", "tcp", "-t", "FI_EP_RDM")
    absent = debian.run("fi_info", "-p", "nosuch", "-t", "FI_EP_RDM")

    def keys(text: str) -> set[str]:
        return set(re.findall(r"^( *[a-z]+): \S+$", text, re.MULTILINE))

    assert real.returncode == 0, real.stderr
    assert keys(shown) == keys(real.stdout) == {"provider", *(f"    {key}" for key in _LINES)}
    assert absent.returncode != 0
    assert absent.stdout == ""


_LINES = ("fabric", "domain", "version", "type", "protocol")


def test_the_smoke_job_counts_the_domains_of_the_real_list(debian: DebianPrograms) -> None:
    job = (ASSETS / "cluster/smoke/efa.sbatch").read_text(encoding="utf-8")
    (count,) = re.findall(r"fi_info -p efa -t FI_EP_RDM (\| .*)\)\"", job)
    listed = debian.run("fi_info", "-p", "tcp", "-t", "FI_EP_RDM").stdout
    domains = {line.split()[-1] for line in listed.splitlines() if " domain: " in line}

    counted = subprocess.run(["bash", "-c", f"cat {count}"], input=listed, capture_output=True, text=True, check=True)

    assert int(counted.stdout) == len(domains) > 0


def test_an_empty_volume_a_formatted_one_and_a_strange_one(debian: DebianPrograms, volume: Path) -> None:
    """The ends of blkid on which a host formats its volume, or refuses it."""
    (probe,) = re.findall(r"blkid (--probe) \"\$device\" >", MODEL_SYNC)
    (label,) = re.findall(r"blkid (--probe --match-tag LABEL --output value)", MODEL_SYNC)
    (options,) = re.findall(r"mkfs.xfs (.*) \"\$VOLUME_LABEL\"", MODEL_SYNC)

    def blkid(options: str) -> tuple[int, str]:
        done = subprocess.run(["blkid", *options.split(), volume], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.strip()

    empty = blkid(probe), blkid(label)
    formatted = debian.run("mkfs.xfs", *options.split(), VOLUME_LABEL, volume)
    ours = blkid(probe)[0], blkid(label)

    state = str(volume.parent)
    assert empty == ((2, ""), (2, ""))
    assert stand_in("blkid", probe, "x", STATE=state).returncode == 2
    assert (formatted.returncode, formatted.stdout) == (0, "")
    assert ours == (0, (0, VOLUME_LABEL))
    stand_in("mkfs.xfs", *options.split(), VOLUME_LABEL, "x", STATE=state)
    assert stand_in("blkid", *label.split(), "x", STATE=state).stdout == VOLUME_LABEL


def test_lsblk_and_findmnt_know_the_options() -> None:
    columns = re.findall(r"(lsblk|findmnt) ((?:--[a-z]+ )+)([A-Z,]+) ?(/?)", MODEL_SYNC)
    assert len(columns) == 3
    for command, options, names, place in columns:
        done = subprocess.run([command, *options.split(), names, *place], capture_output=True, text=True, check=False)
        assert "unrecognized option" not in done.stderr
        assert "unknown column" not in done.stderr


@pytest.mark.parametrize("path", ["/mnt/models", inference_host.FOLDER.replace("-", "_")])
def test_a_units_name_is_that_of_systemd(debian: DebianPrograms, path: str) -> None:
    arguments = ("--suffix=mount", "--path", path)

    assert stand_in("systemd-escape", *arguments).stdout == debian.run("systemd-escape", *arguments).stdout


def test_rpm_tells_of_a_package_that_is_not_installed_as_the_stand_in_does(
    debian: DebianPrograms, tmp_path: Path
) -> None:
    (tmp_path / "packages").touch()
    query = ("--query", "--queryformat", "%{VERSION}", "aws-neuronx-dkms")

    real = debian.run("rpm", "--dbpath", tmp_path / "rpm", *query)
    shown = subprocess.run(
        ["bash", "-c", cluster_node.RPM, "rpm", *query],
        env={"STATE": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (
        (real.returncode, real.stdout)
        == (shown.returncode, shown.stdout)
        == (1, f"package {query[-1]} is not installed\n")
    )


def units() -> dict[str, str]:
    """The units that are written onto machines, by name; the agent's drop-in with a command, which it does not have."""
    user_data = (ASSETS / "inference/user_data.sh").read_text(encoding="utf-8")
    (drop_in,) = re.findall(r"printf '(\[Unit\].*)' \\$", user_data, re.MULTILINE)
    written = drop_in.replace("\\n", "\n") % "/run/slipway/host-proven"
    found = {
        file.name: file.read_text(encoding="utf-8")
        for file in sorted([*ASSETS.rglob("*.service"), *ASSETS.rglob("*.timer")])
    }
    return found | {"drop-in.service": f"{written}[Service]\nExecStart=/bin/true\n"}


@pytest.mark.parametrize("name", units())
def test_systemd_knows_every_key_of_our_units(debian: DebianPrograms, tmp_path: Path, name: str) -> None:
    unit = tmp_path / name

    def complaints(text: str) -> str:
        unit.write_text(text, encoding="utf-8")
        return debian.run("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", unit).stderr

    assert complaints(units()[name]) == ""
    assert "Unknown key 'Aftr'" in complaints(units()[name].replace("[Unit]\n", "[Unit]\nAftr=x\n"))
