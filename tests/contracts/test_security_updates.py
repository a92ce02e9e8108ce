"""The real unattended-upgrade with the configuration of head and login nodes, against archives on loopback."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pysequoia import Tsk

from tests.assets.cluster_node import KERNEL, ClusterNode
from tests.assets.package_source import Deb, PackageSource, build_deb, serve, write_apt_repository
from tests.assets.real_packages_node import APT_CONF, DPKG, SYSTEM_PATH, real
from tests.contracts.conftest import DebianPrograms

pytestmark = pytest.mark.contract

CONFIGURATION = "/etc/apt/apt.conf.d/99-slipway-security-updates"

SECURITY = (
    "openssl",
    "libc6",
    f"linux-image-{KERNEL}",
    "linux-modules-extra-aws",
    "lustre-client-utils",
    "aws-neuronx-dkms",
    "munge",
)
"""What the archive jammy-security has in a newer version; an administrator holds munge."""

UPDATES = ("curl",)
"""What jammy-updates has in a newer version."""

STATUS = """Package: {name}
Status: {want} ok installed
Architecture: all
Version: 1
Maintainer: Slipway's tests <tests@example.com>
Description: {name}
"""

# As Ubuntu's package ships it, with what many people add.
OWN = """Unattended-Upgrade::Allowed-Origins {
  "${distro_id}:${distro_codename}";
  "${distro_id}:${distro_codename}-security";
  "${distro_id}:${distro_codename}-updates";
};
Unattended-Upgrade::Origins-Pattern { "origin=tests"; };
Unattended-Upgrade::Automatic-Reboot "true";
"""


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PackageSource]:
    """Ubuntu's archives, and one of somebody else with a newer openssl."""
    directory = tmp_path_factory.mktemp("archives")
    key = Tsk.generate("Ubuntu <ubuntu@example.com>")
    for suite, names in (("jammy-security", SECURITY), ("jammy-updates", UPDATES)):
        debs = [build_deb(Deb(name, "2"), directory / suite) for name in names]
        write_apt_repository(directory / "served" / suite, suite, debs, key, "Ubuntu")
    stranger = build_deb(Deb("wget", "9"), directory / "stranger")
    write_apt_repository(directory / "served" / "stranger", "jammy-security", [stranger], key, "tests")
    with serve(directory / "served") as source:
        yield source


@pytest.fixture
def node(archives: PackageSource, tmp_path: Path) -> ClusterNode:
    """A login node after its set-up, with Ubuntu's own configuration."""
    node = ClusterNode(tmp_path / "node", "ubuntu2204")
    node.write("/etc/apt/apt.conf.d/50unattended-upgrades", OWN)
    outcome = node.set_up_login()
    assert outcome.status == 0, outcome.stderr
    for folder in ("lib/dpkg/updates", "lib/apt/lists/partial", "log/apt", "cache/apt/archives/partial", "run"):
        (node.root / "var" / folder).mkdir(parents=True)
    (node.root / "etc/apt/preferences.d").mkdir()
    names = (*SECURITY, *UPDATES, "wget")
    node.write(
        "/var/lib/dpkg/status",
        "\n".join(STATUS.format(name=name, want="hold" if name == "munge" else "install") for name in names),
    )
    suites = {"jammy-security": "jammy-security", "jammy-updates": "jammy-updates", "stranger": "jammy-security"}
    node.write(
        "/etc/apt/sources.list",
        "".join(f"deb [trusted=yes] {archives.address}/{folder} {suite} main\n" for folder, suite in suites.items()),
    )
    (node.state / "apt.conf").write_text(APT_CONF.format(root=node.root, programs=node.programs))
    node.stub("dpkg", SYSTEM_PATH + DPKG.format(program=real("dpkg")))
    node.stub("lsb_release", '[[ "$*" == *-i* ]] && echo Ubuntu || echo jammy')
    return node


def upgraded(node: ClusterNode, debian: DebianPrograms) -> set[str]:
    """Return what unattended-upgrade would install."""
    environment = {
        "APT_CONFIG": str(node.state / "apt.conf"),
        "PATH": f"{node.programs}:/usr/sbin:/usr/bin:/sbin:/bin",
        "PYTHONPATH": str(debian.root / "usr/lib/python3/dist-packages"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "ROOT": str(node.root),
        "STATE": str(node.state),
    }
    program, runner = debian.root / "usr/bin/unattended-upgrade", Path(__file__).with_name("run_unattended_upgrade.py")
    # The distribution's own Python: python3-apt is compiled for it.
    commands = (
        [real("apt-get"), "-q", "update"],
        ["/usr/bin/python3", str(runner), str(program), str(node.state), str(node.root)],
    )
    for command in commands:
        outcome = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
        assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    found = re.search(r"^Packages that will be upgraded:(.*)$", outcome.stdout, re.MULTILINE)
    return set(found[1].split()) if found else set()


def test_security_updates_alone_are_installed_and_none_of_what_is_held(
    node: ClusterNode, debian: DebianPrograms
) -> None:
    assert upgraded(node, debian) == {"openssl", "libc6"}


def test_without_the_nodes_configuration_the_kernel_would_move(node: ClusterNode, debian: DebianPrograms) -> None:
    (node.root / CONFIGURATION.lstrip("/")).unlink()

    assert {f"linux-image-{KERNEL}", "aws-neuronx-dkms", "curl", "wget"} <= upgraded(node, debian)


def test_nothing_reboots_or_is_removed(node: ClusterNode) -> None:
    """apt-config reads the files as unattended-upgrade does."""
    shown = subprocess.run(
        [real("apt-config"), "dump"],
        env={"APT_CONFIG": str(node.state / "apt.conf")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    for line in (
        'Unattended-Upgrade::Automatic-Reboot "false";',
        'Unattended-Upgrade::Remove-Unused-Kernel-Packages "false";',
        'APT::Periodic::Enable "0";',
    ):
        assert line in shown.splitlines()


def test_needrestart_lists_services_and_restarts_none(debian: DebianPrograms) -> None:
    """The variable of security_updates.sh counts before every file; `l` is one of the values that it takes."""
    program = (debian.root / "usr/sbin/needrestart").read_text(encoding="utf-8")

    assert "$opt_r = $ENV{NEEDRESTART_MODE} if(!defined($opt_r)" in program
    assert "$opt_r = $nrconf{restart} unless(defined($opt_r));" in program
