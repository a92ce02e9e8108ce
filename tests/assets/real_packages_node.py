"""A cluster node with a real apt, dpkg and pip that see the node's directory only, and package sources on loopback."""

from __future__ import annotations

from pathlib import Path

from tests.assets.cluster_node import KERNEL, LOCK, ClusterNode
from tests.assets.package_source import Deb, PackageSource, build_deb
from tests.assets.sandbox import Outcome

PINS = dict(pin.split("=") for pin in LOCK["SYSTEM_PACKAGES"].strip("()").split())
NODE_PACKAGES = {name: version for name, version in PINS.items() if name != "aws-neuronx-oci-hook"}
SUFFIX = "-838c7fc8b"
HEADERS = f"linux-headers-{KERNEL}"
TOOLS = tuple(f"/opt/aws/neuron/bin/{name}" for name in ("neuron-ls", "neuron-top", "neuron-monitor"))

# The driver's package builds the module when it is configured. Files make it fail as a broken compiler would, and cut
# the whole installation off by ending dpkg, the parent of this script.
BUILD_DRIVER = """
test ! -e "$STATE/no-compiler"
if test -e "$STATE/cut-off"; then rm "$STATE/cut-off"; kill -9 "$PPID"; fi
printf '%s\\n' VERSION >"$STATE/driver"
"""

# dpkg as the tests may run it, as root or not: it works below $ROOT, runs the packages' scripts without a chroot and
# writes no log of this machine.
DPKG = 'exec {program} --root="$ROOT" --log="$ROOT/var/log/dpkg.log" --force-not-root --force-script-chrootless "$@"'
DPKG_QUERY = 'exec {program} --root="$ROOT" "$@"'
APT = 'APT_CONFIG="$STATE/apt.conf" exec {program} "$@"'
# The package managers call many programs of this machine, such as tar and gpgv.
SYSTEM_PATH = "export PATH=/usr/sbin:/usr/bin:/sbin:/bin\n"
APT_CONF = """
Dir "{root}/";
Dir::State::status "{root}/var/lib/dpkg/status";
Dir::Bin::dpkg "{programs}/dpkg";
APT::Architecture "amd64";
APT::Architectures {{ "amd64"; }};
APT::Sandbox::User "root";
Acquire::Languages "none";
"""
STATUS = f"""Package: linux-image-{KERNEL}
Status: install ok installed
Architecture: all
Version: 6.8.0
Maintainer: Slipway's tests <tests@example.com>
Description: the running kernel
"""
# Metadata stays a stub; everything else may go to loopback only.
CURL = """
case "$*" in
  *169.254.169.254*) {metadata} ;;
  *" http://127.0.0.1:"*) exec {program} "$@" ;;
  *) exit 6 ;;
esac
"""


def real(program: str) -> str:
    """Return the path of a program of this machine."""
    for folder in ("/usr/bin", "/bin", "/usr/sbin", "/sbin"):
        path = Path(folder, program)
        if path.exists():
            return str(path)
    raise AssertionError(f"the tests need {program}, as every Debian and Ubuntu has it")


def neuron_debs(directory: Path, pins: dict[str, str]) -> list[Path]:
    """Build the Neuron packages in these versions."""
    return [
        build_deb(
            Deb(
                name,
                f"{version}{SUFFIX}",
                programs=TOOLS if name == "aws-neuronx-tools" else (),
                postinst=BUILD_DRIVER.replace("VERSION", version) if name == "aws-neuronx-dkms" else "",
            ),
            directory,
        )
        for name, version in pins.items()
    ]


class RealPackagesNode(ClusterNode):
    """An Ubuntu node whose package managers are real and whose package sources are on loopback."""

    def __init__(self, directory: Path, source: PackageSource, operating_system: str = "ubuntu2204") -> None:
        super().__init__(directory, operating_system)
        self.source = source
        for command in ("apt-get", "apt-mark"):
            self.stub(command, SYSTEM_PATH + APT.format(program=real(command)))
        self.stub("dpkg", SYSTEM_PATH + DPKG.format(program=real("dpkg")))
        self.stub("dpkg-query", DPKG_QUERY.format(program=real("dpkg-query")))
        self.stub("curl", CURL.format(program=real("curl"), metadata=self._bodies["curl"]))
        (self.state / "apt.conf").write_text(APT_CONF.format(root=self.root, programs=self.programs))
        for folder in (
            "lib/dpkg/info",
            "lib/dpkg/updates",
            "lib/apt/lists/partial",
            "log/apt",
            "cache/apt/archives/partial",
        ):
            (self.root / "var" / folder).mkdir(parents=True)
        (self.root / "etc/apt/preferences.d").mkdir()
        self.write("/var/lib/dpkg/status", STATUS)
        self.write(f"/var/lib/dpkg/info/linux-image-{KERNEL}.list", "/.\n")
        self.write("/etc/apt/sources.list", f"deb [trusted=yes] {source.address}/ubuntu jammy main\n")
        self.stub("gpg", SYSTEM_PATH + f'exec {real("gpg")} "$@"')
        self.pin()

    def pin(self, **keys: str) -> None:
        """Write the lock file with the repository on loopback and the fingerprint of the key that has signed it."""
        fingerprint = (self.source.directory / "neuron" / "fingerprint").read_text()
        self.lock(**{"PACKAGE_REPOSITORY": f"{self.source.address}/neuron", "PACKAGE_KEY": fingerprint} | keys)

    def set_up(self, **environment: str) -> Outcome:
        """Run the queue's custom action; a failed package manager is not called a second time."""
        once = {"SLIPWAY_PACKAGE_SECONDS": "60", "SLIPWAY_RETRY_PAUSE_SECONDS": "60"}
        return self.set_up_compute(**(once | environment))

    def run_apt(self, *arguments: str) -> Outcome:
        """Run apt-get on the node as an administrator would."""
        script = self.write("/apt.sh", 'apt-get "$@"\n')
        return self.run(script, *arguments)

    def modification_times(self) -> dict[str, int]:
        """Return when each file below the root was last written.

        Without the scripts, which each run fetches again, and apt's cache, which apt-mark renews to read the holds.
        """
        renewed = {self.root / "opt/slipway/cluster", self.root / "var/cache/apt"}
        files = [path for path in self.root.rglob("*") if renewed.isdisjoint(path.parents) and not path.is_dir()]
        return {str(path): path.lstat().st_mtime_ns for path in files}

    def installed(self) -> dict[str, str]:
        """Return every package that dpkg has configured, with its version."""
        return {
            package["Package"]: package["Version"]
            for package in self._packages()
            if package["Status"].endswith(" ok installed")
        }

    def held(self) -> set[str]:
        """Return the packages that dpkg holds."""
        return {package["Package"] for package in self._packages() if package["Status"].startswith("hold ")}

    def _packages(self) -> list[dict[str, str]]:
        stanzas = self.read("/var/lib/dpkg/status").strip().split("\n\n")
        return [dict(line.split(": ", 1) for line in stanza.splitlines() if ": " in line) for stanza in stanzas]
