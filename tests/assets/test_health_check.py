"""The health check: what it finds, whom it tells, and that it drains a node once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.assets.health_node import NEURON_TREE, NODE_NAME, HealthNode

DRAINED = "MetricName=DrainedNodes,Unit=Count,Value=1,Dimensions="
HARDWARE = f"{NEURON_TREE}/neuron3/stats/hardware"


@pytest.fixture
def node(tmp_path: Path) -> HealthNode:
    return HealthNode(tmp_path)


def test_a_healthy_node_passes_in_silence_and_without_asking_slurmctld(node: HealthNode) -> None:
    outcome = node.check()

    assert (outcome.status, outcome.stdout, outcome.stderr) == (0, "", "")
    assert {call.split()[0] for call in outcome.calls} == {"stat", "df"}


def test_a_node_without_accelerators_needs_no_driver_and_no_interfaces(tmp_path: Path) -> None:
    assert HealthNode(tmp_path, neuron=0, efa=0).check().status == 0


def test_interfaces_are_not_counted_where_none_are_expected(node: HealthNode) -> None:
    node.expect(efa=0)

    assert node.check().status == 0


def remove_a_device(node: HealthNode) -> None:
    (node.root / "dev" / "neuron7").unlink()


def remove_an_interface(node: HealthNode) -> None:
    (node.root / "sys/class/infiniband/rdmap3s0").unlink()


def load_another_driver(node: HealthNode) -> None:
    node.write("/sys/module/neuron/version", "2.25.4.0\n")


def unload_the_driver(node: HealthNode) -> None:
    (node.root / "sys/module/neuron/version").unlink()


def count_a_memory_error(node: HealthNode) -> None:
    node.write(f"{HARDWARE}/mem_ecc_uncorrected", "2\n")


def count_an_sram_error_in_a_directory(node: HealthNode) -> None:
    (node.root / HARDWARE.lstrip("/") / "sram_ecc_uncorrected").unlink()
    node.write(f"{HARDWARE}/sram_ecc_uncorrected/total", "1\n")


def report_an_unhealthy_component(node: HealthNode) -> None:
    node.write(f"{HARDWARE}/health_status/unhealthy_components", "hbm,link_efa\n")


def unmount_fsx(node: HealthNode) -> None:
    node.remember(fsx_type="ext2/ext3")


def lose_the_lustre_servers(node: HealthNode) -> None:
    node.stub("stat", "exec sleep 5")


def fill_the_root_disk(node: HealthNode) -> None:
    node.remember(free_mebibytes="  12")


def forget_what_to_expect(node: HealthNode) -> None:
    (node.root / "etc/slipway/node.conf").unlink()
    for device in (node.root / "dev").glob("neuron[0-9]*"):
        device.unlink()


@pytest.mark.parametrize(
    ("break_it", "reason"),
    [
        (remove_a_device, "15 of 16 Neuron devices"),
        (remove_an_interface, "7 of 8 EFA interfaces"),
        (load_another_driver, "Neuron driver 2.25.4.0 with runtime 2.30.51.0, pinned is driver 2.26.10.0"),
        (unload_the_driver, "Neuron driver not loaded with runtime 2.30.51.0, pinned is driver 2.26.10.0"),
        (count_a_memory_error, "neuron3 mem_ecc_uncorrected: 2"),
        (count_an_sram_error_in_a_directory, "neuron3 sram_ecc_uncorrected: 1"),
        (report_an_unhealthy_component, "neuron3 unhealthy: hbm,link_efa"),
        (unmount_fsx, "/fsx is not a mounted Lustre file system"),
        (lose_the_lustre_servers, "/fsx does not answer within 2 s"),
        (fill_the_root_disk, "12 MiB free on /"),
        (forget_what_to_expect, "no /etc/slipway/node.conf"),
    ],
)
def test_a_node_that_lacks_something_is_drained_with_the_reason(
    node: HealthNode, break_it: Callable[[HealthNode], None], reason: str
) -> None:
    break_it(node)

    outcome = node.check(SLIPWAY_FSX_SECONDS="2")

    assert outcome.status == 1
    assert outcome.stderr == f"slipway health check: {reason}\n"
    assert outcome.calls_of("logger") == [f"logger --tag slipway health check: {reason}"]
    assert outcome.calls_of("scontrol")[-1] == (
        f"scontrol update nodename={NODE_NAME} state=drain reason=slipway: {reason}"
    )


def test_everything_that_is_wrong_is_in_one_line(node: HealthNode) -> None:
    remove_a_device(node)
    remove_an_interface(node)

    assert node.check().stderr == "slipway health check: 15 of 16 Neuron devices; 7 of 8 EFA interfaces\n"


@pytest.mark.parametrize("healthy", ["", "healthy", "none", "0"])
def test_a_health_status_that_names_no_component_is_no_fault(node: HealthNode, healthy: str) -> None:
    node.write(f"{HARDWARE}/health_status/unhealthy_components", healthy)

    assert node.check().status == 0


def test_a_moved_health_status_is_found(node: HealthNode) -> None:
    node.write(f"{NEURON_TREE}/neuron0/health_status/unhealthy_components", "sram\n")

    assert "neuron0 unhealthy: sram" in node.check().stderr


def test_counters_of_single_cores_are_not_looked_at(node: HealthNode) -> None:
    node.write(f"{NEURON_TREE}/neuron0/neuron_core0/stats/mem_ecc_uncorrected", "9\n")

    assert node.check().status == 0


def test_a_node_is_drained_and_counted_once(node: HealthNode) -> None:
    remove_a_device(node)

    first, second = node.check(), node.check()

    assert len([call for call in first.calls if "state=drain" in call]) == 1
    assert first.calls_of("systemd-run") == [
        "systemd-run --quiet --collect --property=RuntimeMaxSec=60"
        " aws cloudwatch put-metric-data --region us-east-1 --namespace Slipway/Neuron"
        f" --metric-data {DRAINED}[{{Name=ClusterName,Value=team}}]"
        f" {DRAINED}[{{Name=ClusterName,Value=team}},{{Name=Queue,Value=train}}]"
    ]
    assert second.status == 1
    assert not [call for call in second.calls if "update" in call or call.startswith("systemd-run")]


def test_a_reason_that_somebody_else_gave_stays(node: HealthNode) -> None:
    remove_a_device(node)
    node.remember(node="NodeName=train-dy-trn1-1 State=MIXED+CLOUD+DRAIN Reason=maintenance at noon")

    assert not [call for call in node.check().calls if "update" in call]


def test_without_a_node_name_it_only_reports(node: HealthNode) -> None:
    remove_a_device(node)

    outcome = node.check(node_name="")

    assert outcome.status == 1
    assert "15 of 16 Neuron devices" in outcome.stderr
    assert not outcome.calls_of("scontrol")


def test_a_slurmctld_that_does_not_answer_is_said_and_still_fails_the_prolog(node: HealthNode) -> None:
    remove_a_device(node)
    node.stub("scontrol", "exit 1")

    outcome = node.check()

    assert outcome.status == 1
    assert f"slurmctld did not drain {NODE_NAME}" in outcome.stderr


def test_a_metric_that_cannot_be_sent_does_not_hide_the_drain(node: HealthNode) -> None:
    remove_a_device(node)
    node.stub("systemd-run", "exit 1")

    outcome = node.check()

    assert "no metric DrainedNodes was sent" in outcome.stderr
    assert "did not drain" not in outcome.stderr
