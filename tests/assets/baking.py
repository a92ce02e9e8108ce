"""Runs the script that bakes an image on a machine which then boots as a node."""

from __future__ import annotations

from neuron_constructs.cluster.image_build import bake_script
from tests.assets.cluster_node import STACK, ClusterNode
from tests.assets.sandbox import ASSETS, Outcome


def bake(machine: ClusterNode, *stacks: str, operating_system: str = "ubuntu2204", **environment: str) -> Outcome:
    """Run the script of these training stacks as Image Builder downloads it."""
    return run_bake(machine, bake_script(ASSETS / "cluster", stacks or (STACK,), operating_system), **environment)


def run_bake(machine: ClusterNode, script: str, **environment: str) -> Outcome:
    """Run the one script that Image Builder downloads: no arguments, no bucket, no Neuron device."""
    for device in machine.root.glob("dev/neuron*"):
        device.unlink()
    for command in ("unattended-upgrade", "needrestart"):
        machine.stub(command)
    component = machine.state / "script-component"
    component.write_text(script, encoding="utf-8")
    outcome = machine.run(component, **{"SLIPWAY_PACKAGE_SECONDS": "0", "SLIPWAY_PIP_SECONDS": "30", **environment})
    assert not outcome.calls_of("aws")
    assert not [call for call in outcome.calls_of("curl") if "169.254.169.254" in call]
    return outcome
