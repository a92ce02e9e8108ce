"""Compute nodes as the health check finds them; the file system's type, syslog, systemd and slurmctld are stubs."""

from __future__ import annotations

from pathlib import Path

from tests.assets.sandbox import ASSETS, Outcome, Sandbox

NODE_NAME = "train-dy-trn1-1"
# Of xla-2.28.1.
DRIVER = "2.26.10.0"
RUNTIME = "2.30.51.0"
HEALTH_CHECK = ASSETS / "cluster" / "health_check.sh"
NEURON_TREE = "/sys/devices/virtual/neuron_device"

STUBS = {
    "df": 'printf "Avail\\n%s\\n" "$(cat "$STATE/free_mebibytes")"',
    "logger": "",
    # What slurmctld knows of the node is a line of $STATE/node.
    "scontrol": """
case "$*" in
  *"show node"*) cat "$STATE/node" ;;
  update*) printf 'State=IDLE+CLOUD+DRAIN Reason=%s\\n' "${*##*reason=}" >"$STATE/node" ;;
esac
""",
    "stat": 'cat "$STATE/fsx_type"',
    "systemd-run": "",
}


class HealthNode(Sandbox):
    """A trn1.32xlarge, or with no device a node of a CPU queue, that has all it should have."""

    def __init__(self, directory: Path, *, neuron: int = 16, efa: int = 8) -> None:
        super().__init__(directory)
        for folder in ("dev", "fsx", "sys/class/infiniband", "opt/slurm"):
            (self.root / folder).mkdir(parents=True)
        # Where the health check looks for Slurm's commands first: all others are found there too.
        (self.root / "opt" / "slurm" / "bin").symlink_to(self.programs)
        self.expect(neuron=neuron, efa=efa)
        self._add_hardware(neuron, efa)
        self.write(
            "/etc/parallelcluster/cfnconfig",
            "stack_name=team\ncfn_preinstall_args=()\ncfn_region=us-east-1\ncfn_scheduler_queue_name=train\n",
        )
        self.remember(free_mebibytes="20000", fsx_type="lustre", node="State=IDLE+CLOUD")
        for command, body in STUBS.items():
            self.stub(command, body)

    def expect(self, *, neuron: int = 16, efa: int = 8, driver: str = DRIVER) -> None:
        """Write what the node's set-up says the node must have."""
        settings = {
            "INSTANCE_TYPE": "trn1.32xlarge",
            "TRAINING_STACK": "xla-2.28.1" if neuron else "none",
            "NEURON_DEVICES": neuron,
            "EFA_INTERFACES": efa,
            "NEURON_DRIVER_VERSION": driver if neuron else "",
            "NEURON_RUNTIME_VERSION": RUNTIME if neuron else "",
        }
        self.write("/etc/slipway/node.conf", "".join(f"{key}={value}\n" for key, value in settings.items()))

    def remember(self, **values: str) -> None:
        """Set what the stubs answer."""
        for name, value in values.items():
            (self.state / name).write_text(f"{value}\n", encoding="utf-8")

    def check(self, node_name: str = NODE_NAME, **environment: str) -> Outcome:
        """Run the health check as slurmd does; without a node name as the set-up does."""
        return self.run(HEALTH_CHECK, **({"SLURMD_NODENAME": node_name} if node_name else {}), **environment)

    def _add_hardware(self, neuron: int, efa: int) -> None:
        # Must not be counted.
        self.write("/dev/null")
        self.write("/dev/neuron_reset")
        if neuron:
            # MODULE_VERSION of the driver, without its build: aws-neuronx-dkms 2.27.4.0, neuron_module.c line 23.
            self.write("/sys/module/neuron/version", f"{DRIVER}\n")
        for number in range(neuron):
            self.write(f"/dev/neuron{number}")
            for counter in ("mem_ecc_uncorrected", "sram_ecc_uncorrected"):
                self.write(f"{NEURON_TREE}/neuron{number}/stats/hardware/{counter}", "0\n")
        for number in range(efa):
            self.write(f"/sys/class/infiniband/rdmap{number}s0")
