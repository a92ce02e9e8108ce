"""An inference host made of a directory: runs the user data that the construct renders, and what it leaves behind."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import zipfile
from functools import cache
from pathlib import Path

from neuron_constructs.proxy import Proxy
from slipway import facts
from tests.assets.sandbox import ASSETS, Outcome, Sandbox
from tests.inference_hosts import SOURCES, hosts

SCRIPTS = ASSETS / "inference" / "host"
AWS = Path(__file__).with_name("aws_for_inference_hosts.py")
PREFIX = "tanuki-8b/v1"
FOLDER = f"/mnt/models/{PREFIX}"
AMI_FSTAB = "UUID=1 / xfs defaults,noatime 1 1\n"
DROP_IN = "/etc/systemd/system/ecs.service.d/slipway.conf"
LOG = "/var/log/slipway-host.log"
SHARD = "checkpoint/weights/tp0_sharded_checkpoint.safetensors"
# As optimum-neuron compiles one, for one core: its source is beside the stand-in of tests/jobs/publishing_case.py.
MODEL = {
    "config.json": '{"model_type": "llama"}',
    "neuron_config.json": "{}",
    "model.pt": "N" * 4096,
    SHARD: "W" * 512,
}

# Nothing hangs in these tests that is not meant to: a limit is there to be found too long.
LIMITS = ("DEVICE", "INSTALL", "MOUNT", "DOCKER", "IMAGE", "GROUP", "REPLACE", "WATCHDOG")
SHORT = {f"SLIPWAY_{name}_SECONDS": "0" for name in LIMITS}

# The runtime library of tgi's image, and the driver of the hosts' image that is pinned for it.
RUNTIME = "2.26.42.0"
DRIVER = "2.28.0.0"

# What systemd mounts is the bucket's folder, the file system with all folders, or the host's own volume.
MOUNTED = {
    "mountpoint": f'mkdir -p "$ROOT{FOLDER}"; cp -r "$STATE/bucket/{PREFIX}/." "$ROOT{FOLDER}"',
    "lustre": 'mkdir -p "$ROOT/mnt/models"; cp -r "$STATE/bucket/." "$ROOT/mnt/models"',
    "sync": 'mkdir -p "$ROOT/mnt/models"',
}
# What each does for real, and where that is written. "Guess": nothing was found or tried.
# blkid        util-linux 2.38, blkid(8): status 2 where a probe finds no signature.
# curl         EC2 user guide, "Use the Instance Metadata Service": token and instance-id below /latest.
# docker       Docker CLI 25.0 (that of aws/amazon-ecs-ami @a2532d3): `pull --quiet`, `login --password-stdin`.
# findmnt      util-linux 2.38, findmnt(8). That the AMI's root is a partition of nvme0n1: guess.
# lsblk        util-linux 2.38, lsblk(8); models: EC2 user guide, "Map Amazon EBS volumes to NVMe device names".
# modprobe     that it fails where Lustre's module does not fit the kernel: guess.
# mount-s3     Mountpoint 1.24 has --memory-target; the rest of its help is left out.
# rpm          rpm(8): status 0 for an installed package.
# systemctl    systemd 252; that ecs.service starts Docker and waits for user data: aws/amazon-ecs-ami @a2532d3,
#              scripts/enable-services.sh (enables ecs alone) and amazon-ecs-init's ecs.service.
# systemd-escape  systemd 252, tried on 2026-11-22: mnt-models-tanuki\x2d8b-v1.mount.
# uname        a kernel of al2023-ami-minimal-2023.12 (kernel 6.1); its patch level is made up.
STUBS = {
    "blkid": """case "$*" in
*LABEL*) [[ ! -e "$STATE/label" ]] || cat "$STATE/label" ;;
*) [[ -e "$STATE/label" ]] || exit 2 ;;
esac""",
    "curl": """case "$*" in
*api/token*) echo TOKEN ;;
*instance-id*) printf i-0123456789abcdef0 ;;
*) exit 22 ;;
esac""",
    "dnf": 'printf "%s\\n" "$@" >>"$STATE/installed"',
    "docker": "",
    "findmnt": "echo /dev/nvme0n1p1",
    "lsblk": """case "$*" in
*PKNAME*) echo nvme0n1 ;;
*) echo "/dev/nvme0n1 Amazon Elastic Block Store"
  echo "/dev/nvme1n1 Amazon EC2 NVMe Instance Storage"
  echo "/dev/nvme2n1 Amazon Elastic Block Store" ;;
esac""",
    "mkfs.xfs": 'printf "%s" "$3" >"$STATE/label"',
    "modprobe": "",
    "mount-s3": "printf -- '--allow-other\\n  --memory-target <MiB>\\n'",
    "mountpoint": '[[ -e "$STATE/mounted" ]]',
    "rpm": '[[ -e "$STATE/installed" ]] && grep -qx "$2" "$STATE/installed"',
    "systemctl": 'if [[ "$1 $2" == "start mnt-models"*.mount ]]; then . "$STATE/mount.sh"; : >"$STATE/mounted"; fi',
    "systemd-escape": r"""name="${*: -1}"; name="${name#/}"; name="${name//-/\\x2d}"
printf '%s.mount\n' "${name//\//-}" """,
    "uname": "echo 6.1.163-200.300.amzn2023.x86_64",
}


PUBLIC_IMAGE = "ghcr.io/huggingface/text-generation-inference:3.3.5-neuron"
PRIVATE_IMAGE = "111122223333.dkr.ecr.us-west-2.amazonaws.com/engines/tgi:3.3.5-neuron"


@cache
def user_data(
    source: str, published: bool, warm_pool_count: int, runtime: str | None = RUNTIME, proxy: Proxy | None = None
) -> str:
    """Return the user data that the construct renders."""
    found = hosts(
        source=SOURCES[source],
        is_published=published,
        warm_pool_count=warm_pool_count,
        model_files=facts.inference_engine("tgi").model_files,
        neuron_runtime=runtime,
        proxy=proxy,
    )
    return found.user_data


class InferenceHost(Sandbox):
    """An inf2.xlarge of an Auto Scaling group, and the bucket with a model."""

    def __init__(
        self,
        directory: Path,
        source: str = "mountpoint",
        *,
        published: bool = False,
        warm: int = 0,
        proxy: Proxy | None = None,
    ) -> None:
        super().__init__(directory)
        self.source = source
        self._user_data = user_data(source, published, warm, proxy=proxy)
        for name in ("cut", "disown", "head", "ls", "mktemp", "sort", "tail", "tee"):
            if program := shutil.which(name):
                (self.programs / name).symlink_to(program)
        (self.programs / "python3").symlink_to(sys.executable)
        for command, body in STUBS.items():
            self.stub(command, body)
        self.stub("aws", f'exec "{sys.executable}" "{AWS}" "$@"')
        self.bucket = self.state / "bucket" / PREFIX
        self.put_model(published=published)
        (self.state / "mount.sh").write_text(f"{MOUNTED[source]}\n", encoding="utf-8")
        self.set_group("Warmed:Pending:Wait" if warm else "Pending:Wait")
        self._pack_scripts()
        # One device file for each device: aws-neuron-sdk @81ce03a, about-neuron/security.rst line 61.
        for path in ("/dev/null", "/dev/console", "/dev/neuron0"):
            self.write(path)
        # MODULE_VERSION of the driver without its build, as in aws-neuronx-dkms 2.27.4.0, neuron_module.c line 23; the
        # kernel shows it with a newline (kernel/module/sysfs.c).
        self.write("/sys/module/neuron/version", f"{DRIVER}\n")
        self.write("/etc/fstab", AMI_FSTAB)
        # That it is there, and without a newline at its end: guess. The recipe of the AMI writes the same line into
        # /var/lib/ecs/ecs.config (aws/amazon-ecs-ami @a2532d3, scripts/enable-ecs-agent-inferentia-support.sh line 76).
        self.write("/etc/ecs/ecs.config", "ECS_ENABLE_INF_SUPPORT=true")

    def _pack_scripts(self) -> None:
        with zipfile.ZipFile(self.state / "host.zip", "w") as archive:
            for script in sorted(SCRIPTS.iterdir()):
                if script.is_file():
                    archive.write(script.resolve(), script.name)

    def put_model(self, *, published: bool) -> None:
        """Put a model into the bucket, as a published version with its manifest where that is said."""
        for name, content in MODEL.items():
            file = self.bucket / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")
        if published:
            files = {
                name: {"size": len(content), "sha256": hashlib.sha256(content.encode()).hexdigest()}
                for name, content in MODEL.items()
            }
            (self.bucket / "slipway-manifest.json").write_text(json.dumps({"files": files}), encoding="utf-8")

    def set_group(self, state: str, *, wanted_version: int = 1) -> None:
        """Say what the Auto Scaling group holds of the host, and which launch template it has by now."""
        (self.state / "group").write_text(f"hosts-group\t{state}\t1", encoding="utf-8")
        (self.state / "wanted").write_text(str(wanted_version), encoding="utf-8")

    def boot(self, **environment: str) -> Outcome:
        """Run the user data, each wait with a single attempt unless the environment says otherwise."""
        script = self.state / "user-data"
        # The last line is the CDK's own and knows no ROOT.
        text = self._user_data.replace(">> /etc/ecs/ecs.config", f'>> "{self.root}/etc/ecs/ecs.config"')
        assert str(self.root) in text
        text = text.replace("SLIPWAY_HOLD_SECONDS=300", "SLIPWAY_HOLD_SECONDS=0")
        script.write_text(text, encoding="utf-8")
        return self.run(script, **SHORT | environment)

    def reboot(self, state: str, *, wanted_version: int = 1) -> None:
        """Stop the host and start it: what is in /run is gone, and so is what was mounted."""
        for path in (self.root / "run", self.state / "mounted"):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        if self.source != "sync":
            shutil.rmtree(self.root / "mnt", ignore_errors=True)
        self.set_group(state, wanted_version=wanted_version)

    def service(self, unit: str, **environment: str) -> Outcome:
        """Run what a unit runs, with its settings; its lines go into the host's log, as the unit has it."""
        settings = dict(line.split("=", 1) for line in self.read("/etc/slipway/host.conf").splitlines())
        command = self.read(f"/etc/systemd/system/{unit}").split("/bin/bash /opt", 1)[1].split(" 2>&1")[0]
        script, *arguments = command.split()
        outcome = self.run(self.root / f"opt{script}", *arguments, **settings | SHORT | environment)
        with (self.root / LOG.lstrip("/")).open("a", encoding="utf-8") as log:
            log.write(outcome.stdout + outcome.stderr)
        return outcome

    @property
    def is_proven(self) -> bool:
        """Whether the ECS agent may start."""
        return (self.root / "run/slipway/host-proven").exists()

    def sent_reason(self) -> str:
        """Return what the host wrote into the log group."""
        (event,) = json.loads((self.state / "log-events").read_text(encoding="utf-8"))
        return str(event["message"])
