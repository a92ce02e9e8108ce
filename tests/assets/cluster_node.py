"""Cluster nodes as they are when ParallelCluster starts the set-up; package managers, S3 and the kernel are stubs."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.assets.sandbox import ASSETS, Outcome, Sandbox

KERNEL = "6.8.0-1063-aws"
NODE_NAME = "train-dy-trn1-1"
ADDRESS = "10.0.64.7"
INSTANCE_TYPE = "trn1.32xlarge"
EXPECTATIONS = ("trn1.2xlarge=1:0", f"{INSTANCE_TYPE}=16:8")
PLAIN = f"{INSTANCE_TYPE}=0:0"
STACK = "xla-2.28.1"

LOCK = {
    "NEURON_RELEASE": "2.28.1",
    "PACKAGE_REPOSITORY": "https://packages.repos.neuron.amazonaws.com",
    "PACKAGE_KEY": "00FA2C1079260870A76D2C285749CAD8646D9185",
    "OPERATING_SYSTEMS": "(ubuntu2204 ubuntu2404 alinux2023)",
    "SYSTEM_PACKAGES": "(aws-neuronx-collectives=2.30.59.0 aws-neuronx-dkms=2.26.10.0 aws-neuronx-oci-hook=2.14.102.0"
    " aws-neuronx-runtime-lib=2.30.51.0 aws-neuronx-tools=2.28.23.0)",
    "PYTHON_VERSION": "3.10",
    "PYTHON_PACKAGES": "(libneuronxla==2.2.15515.0 neuronx-cc==2.23.6484.0 torch-neuronx==2.9.0.2.12.22436)",
    "PYTHON_SOURCES": "('*neuron*=https://pip.repos.neuron.amazonaws.com' torch=https://other.index)",
}

INSTALLER = "jobs/slipway_jobs/python_packages.py"
"""What the head node installs training packages with, in the bucket."""

OS_RELEASES = {
    "ubuntu2204": 'ID=ubuntu\nVERSION_ID="22.04"\nVERSION_CODENAME=jammy\n',
    "ubuntu2404": 'ID=ubuntu\nVERSION_ID="24.04"\nVERSION_CODENAME=noble\n',
    "alinux2023": 'ID="amzn"\nVERSION_ID="2023"\n',
    "rocky9": 'ID="rocky"\nVERSION_ID="9.5"\n',
}

# The real kit is larger; what the set-up does with it is the same.
JOB_KIT = {
    "README.md": "kit\n",
    "recipes/tiny.yaml": "name: tiny\n",
    "requirements.txt": "# nothing\n",
    "slipway_jobs/__main__.py": "print('kit')\n",
    "slipway_jobs/chain/train.sbatch.j2": "#!/bin/bash\n",
}
JOB_ENVIRONMENT = '{"name": "team"}'

# What the set-up reads of it is as in aws-parallelcluster-cookbook (October 2024, commit f75d84c),
# cookbooks/aws-parallelcluster-environment/templates/init/cfnconfig.erb.
CFNCONFIG = "stack_name=trainium\ncfn_region=us-west-2\ncfn_scheduler=slurm\ncfn_cluster_user=ubuntu\n"

# A bucket is a directory; the file "failures" holds how many of the next copies fail. Without a Region the AWS CLI asks
# us-east-1 (AWS CLI user guide, "Configuration and credential file settings"), where the bucket is not.
AWS = """
[[ "${AWS_DEFAULT_REGION:-}" == us-west-2 ]] || { printf 'wrong Region\n' >&2; exit 1; }
failures="$(cat "$STATE/failures" 2>/dev/null || printf 0)"
if ((failures > 0)); then printf '%s' "$((failures - 1))" >"$STATE/failures"; exit 1; fi
source="${*: -2:1}"
cp "$STATE/${source#s3://}" "${*: -1}"
"""

# Installed packages are lines "installed NAME VERSION" of $STATE/packages. The driver is built when its package is
# installed, and its version is then in $STATE/driver.
INSTALL = """
install() {
  sed -i "/^[a-z-]* $1 /d" "$STATE/packages"
  printf 'installed %s %s\\n' "$1" "$2" >>"$STATE/packages"
  case "$1" in
    aws-neuronx-dkms) printf '%s\\n' "${2%%-*}" >"$STATE/driver" ;;
    aws-neuronx-tools)
      mkdir -p "$ROOT/opt/aws/neuron/bin"
      for tool in neuron-ls neuron-top neuron-monitor; do
        : >"$ROOT/opt/aws/neuron/bin/$tool"
        chmod 755 "$ROOT/opt/aws/neuron/bin/$tool"
      done ;;
  esac
}
"""
APT_GET = (
    INSTALL
    + """
for argument in "$@"; do
  case "$argument" in
    *=*\\*) version="${argument#*=}"; install "${argument%%=*}" "${version%\\*}-0a1b2c" ;;
  esac
done
"""
)
DPKG_QUERY = """
format="$3"; shift 3; status=0
for pattern in "$@"; do
  found=0
  while read -r state name version; do
    if [[ "$name" == $pattern ]]; then
      found=1
      line="${format//'${db:Status-Status}'/$state}"
      line="${line//'${Package}'/$name}"
      printf "${line//'${Version}'/$version}"
    fi
  done <"$STATE/packages"
  ((found)) || status=1
done
exit "$status"
"""
DNF = (
    INSTALL
    + """
for argument in "$@"; do
  if [[ "$argument" =~ ^(aws-neuronx-[a-z-]+)-([0-9.]+)\\*$ ]]; then
    install "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
  fi
done
"""
)
RPM = """
while read -r state name version; do
  if [[ "$name" == "${*: -1}" ]]; then printf '%s' "$version"; exit 0; fi
done <"$STATE/packages"
printf 'package %s is not installed\\n' "${*: -1}"
exit 1
"""
CURL = f"""
case "$*" in
  *latest/api/token) printf token ;;
  *"aws-ec2-metadata-token: token"*latest/meta-data/local-ipv4) printf '{ADDRESS}' ;;
  *"aws-ec2-metadata-token: token"*latest/meta-data/instance-type) printf '{INSTANCE_TYPE}' ;;
  *"aws-ec2-metadata-token: token"*latest/meta-data/instance-life-cycle)
    cat "$STATE/life_cycle" 2>/dev/null || printf on-demand ;;
  *--output*GPG-PUB-KEY*) while [[ "$1" != --output ]]; do shift; done; printf key >"$2" ;;
  *--head*/dists/*) exit 0 ;;
  *) exit 99 ;;
esac
"""
# A primary key with its subkey, as GnuPG lists them.
GPG = f"""
printf 'pub:-:2048:1:5749CAD8646D9185:1573493367:::-:\\nfpr:::::::::{LOCK["PACKAGE_KEY"]}:\\n'
printf 'sub:-:2048:1:1111111111111111:1573493367:::-:\\nfpr:::::::::1111111111111111111111111111111111111111:\\n'
"""
MODPROBE = """
loaded="$ROOT/sys/module/neuron"
case "$*" in
  neuron) [[ -e "$loaded/version" ]] || { mkdir -p "$loaded"; cp "$STATE/driver" "$loaded/version"; } ;;
  "--remove neuron") rm -r "$loaded" ;;
esac
"""
# Before the first use /fsx is an automount point; with a file system type asked for, only that one counts.
FINDMNT = """
[[ "$*" == *"--types lustre "*"--mountpoint $ROOT/fsx" ]] || exit 1
printf 'rw,noatime,flock,user_xattr,lazystatfs\\n'
"""
SYSCTL = """
case "$*" in
  "--quiet --load="*) sed -n 's/.*ports = //p' "${2#--load=}" >"$STATE/ports" ;;
  *) cat "$STATE/ports" ;;
esac
"""
PYTHON = """
case "$*" in
  *ensurepip*) [[ -e "$STATE/venv" ]] ;;
  *version_info*) printf '%s\\n' "${0##*python}" ;;
  "-m venv "*)
    mkdir -p "$3/bin" "$3/lib/python${0##*python}/site-packages"
    ln -s "$(dirname "$0")/venv-python" "$3/bin/python" ;;
  *) exit 99 ;;
esac
"""
# pip of an environment; one that is told a folder puts the packages there.
VENV_PYTHON = """
while (($# > 1)) && [[ "$1" != --target ]]; do shift; done
[[ "$1" != --target ]] || mkdir -p "$2"
"""
# What the head node shares. The real one looks at the machine's mounts and disks and has tests of its own; this one
# says what the file "fault" holds, if there is one.
HEALTH_CHECK = '! cat "$STATE/fault" >&2'
STUBS = {
    "apt-mark": "",
    "aws": AWS,
    "curl": CURL,
    "dkms": "",
    "findmnt": FINDMNT,
    "gpg": GPG,
    "lctl": "",
    "modinfo": 'cat "$STATE/driver"',
    "modprobe": MODPROBE,
    "mountpoint": "",
    "python3.10": PYTHON,
    "sysctl": SYSCTL,
    # A node has the first two units, the others do not exist on it.
    "systemctl": '[[ "$1" != cat || "$2" == apt-daily.timer || "$2" == unattended-upgrades.service ]]',
    "uname": f'[[ "$1" == -r ]] && printf "{KERNEL}\\n" || printf "{NODE_NAME}\\n"',
    "venv-python": VENV_PYTHON,
}


class ClusterNode(Sandbox):
    """A node of a Trainium cluster whose scripts bucket holds the real scripts and the generated files."""

    def __init__(self, directory: Path, operating_system: str) -> None:
        super().__init__(directory)
        self.bucket = self.state / "scripts-bucket" / "cluster"
        shutil.copytree(ASSETS / "cluster", self.bucket)
        (self.bucket / "training_stacks").mkdir()
        (self.bucket / INSTALLER).parent.mkdir(parents=True)
        shutil.copy(ASSETS / INSTALLER, self.bucket / INSTALLER)
        self.lock(STACK)
        self.set_stacks(STACK)
        self.set_job_kit(JOB_KIT)
        self._create_files(operating_system)
        self._create_stubs(operating_system)

    def _create_files(self, operating_system: str) -> None:
        self.write("/etc/os-release", OS_RELEASES[operating_system])
        self.write("/etc/hosts", "127.0.0.1 localhost\n")
        self.write("/etc/parallelcluster/cfnconfig", CFNCONFIG)
        self.write("/etc/dnf/dnf.conf", "[main]\ngpgcheck=1\n")
        for folder in ("etc/apt/apt.conf.d", "etc/apt/sources.list.d", "etc/yum.repos.d", "fsx", "apps", "scratch"):
            (self.root / folder).mkdir(parents=True)
        (self.root / "scratch").chmod(0o1777)
        self.write("/dev/disk/by-id/nvme-Amazon_EC2_NVMe_Instance_Storage_AWS0")
        self.write("/opt/slurm/etc/slipway/health_check.sh", f"{HEALTH_CHECK}\n")
        self.add_devices(neuron=16, efa=8)

    def _create_stubs(self, operating_system: str) -> None:
        packages = self.state / "packages"
        for command, body in STUBS.items():
            self.stub(command, body)
        if operating_system.startswith("ubuntu"):
            self.stub("apt-get", APT_GET)
            self.stub("dpkg", "")
            self.stub("dpkg-query", DPKG_QUERY)
            packages.write_text(
                f"installed linux-image-{KERNEL} 1\nconfig-files linux-image-5.15.0-aws 1\ninstalled linux-aws 1\n"
            )
        else:
            self.stub("dnf", DNF)
            self.stub("rpm", RPM)
            packages.write_text("")

    def add_devices(self, neuron: int = 0, efa: int = 0) -> None:
        """Create device entries. Anything else in the same directories must not be counted."""
        self.write("/dev/null")
        for number in range(neuron):
            self.write(f"/dev/neuron{number}").chmod(0o666)
        for number in range(efa):
            self.write(f"/sys/class/infiniband/rdmap{number}s0")

    def lock(self, stack: str = STACK, **changes: str) -> None:
        """Write the lock file of a training stack into the bucket; an empty value leaves the key out."""
        keys = {"TRAINING_STACK": stack} | LOCK | changes
        lines = [f"{key}={value}\n" for key, value in keys.items() if value]
        (self.bucket / "training_stacks" / f"{stack}.sh").write_text("".join(lines), encoding="utf-8")

    def set_stacks(self, *stacks: str, job_kit: str = "yes", users: Mapping[str, int] | None = None) -> None:
        """Say which training stacks and users the cluster has, and whether the job kit runs with one of the stacks."""
        listed = " ".join(f"{name}:{uid}" for name, uid in (users or {}).items())
        (self.bucket / "training_stacks.sh").write_text(
            f"TRAINING_STACKS=({' '.join(stacks)})\nJOB_KIT={job_kit}\nUSERS=({listed})\nNODE_SETUP_SECONDS=750\n",
            encoding="utf-8",
        )

    def set_proxy(self, url: str, bypass: str) -> None:
        """Say that the cluster's nodes have a proxy."""
        with (self.bucket / "training_stacks.sh").open("a", encoding="utf-8") as file:
            file.write(f"PROXY_URL={url}\nPROXY_BYPASS={bypass}\n")

    def set_job_kit(self, files: Mapping[str, str], environment: str = JOB_ENVIRONMENT) -> str:
        """Make these the job kit in the bucket, as the deployment does; return the name of its directory on /apps."""
        kit = self.bucket / "jobs"
        shutil.rmtree(kit, ignore_errors=True)
        installer = Path(INSTALLER).relative_to("jobs").as_posix()
        for name, content in ({installer: (ASSETS / INSTALLER).read_text()} | dict(files)).items():
            (kit / name).parent.mkdir(parents=True, exist_ok=True)
            (kit / name).write_text(content, encoding="utf-8")
        checksums = "".join(
            f"{hashlib.sha256(content.encode()).hexdigest()}  {name}\n" for name, content in sorted(files.items())
        )
        (kit / "files.sha256").write_text(checksums, encoding="utf-8")
        (kit / "environment.json").write_text(environment, encoding="utf-8")
        return hashlib.sha256(checksums.encode()).hexdigest()[:16]

    def set_up_compute(self, *expectations: str, stack: str = STACK, **environment: str) -> Outcome:
        """Run the queue's custom action as ParallelCluster does."""
        return self.run_custom_action(
            "compute", "scripts-bucket", "cluster/", stack, *(expectations or EXPECTATIONS), **environment
        )

    def set_up_head(self, **environment: str) -> Outcome:
        """Run the head node's custom action as ParallelCluster does."""
        return self.run_custom_action("head", "scripts-bucket", "cluster/", **environment)

    def set_up_login(self, **environment: str) -> Outcome:
        """Run the login nodes' custom action as ParallelCluster does."""
        return self.run_custom_action("login", "scripts-bucket", "cluster/", **environment)

    def run_custom_action(self, *arguments: str, **environment: str) -> Outcome:
        """Run node_configured.sh with these arguments."""
        # The kit is many files: on a busy machine they take more than the second that the others get.
        limits = {"JOB_KIT": "60"} | dict.fromkeys(("DOWNLOAD", "PACKAGE", "PIP", "DEVICE"), "0")
        return self.run(
            ASSETS / "cluster" / "node_configured.sh",
            *arguments,
            **{f"SLIPWAY_{name}_SECONDS": value for name, value in limits.items()} | environment,
        )


def assert_failed(outcome: Outcome, step: str, reason: str = "") -> None:
    """Check that the node was refused, with the step and the reason where ParallelCluster reports them."""
    assert outcome.status != 0
    for output in (outcome.stdout, outcome.stderr):
        assert f"FAILED at step '{step}'" in output
    assert reason in outcome.stderr
    assert "node ready" not in outcome.stdout
