"""The rows against EC2's own answers: moto ships what DescribeInstanceTypes and -Offerings said in real regions."""

import gzip
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import pytest
from aws_cdk.region_info import RegionInfo

from slipway import facts

# EC2 states 512 GiB of memory for one Trainium2 chip, which has 96 GiB (Neuron documentation, trn2-arch).
WRONG_DEVICE_MEMORY = {"trn2.3xlarge", "trn2.48xlarge"}


@cache
def ec2_answer(path: str) -> Any:
    compressed = files("moto").joinpath("ec2/resources", path).read_bytes()
    return json.loads(gzip.decompress(compressed))


def described(instance_type: str) -> Mapping[str, Any]:
    answer: Mapping[str, Any] = ec2_answer("instance_types.json.gz")[instance_type]
    return answer


def device_memory_gib(instance_type: str) -> int:
    answer = described(instance_type).get("NeuronInfo", {"TotalNeuronDeviceMemoryInMiB": 0})
    return int(answer["TotalNeuronDeviceMemoryInMiB"]) // 1024


@pytest.mark.parametrize("name", facts.instance_types())
def test_instance_type_is_as_ec2_describes_it(name: str) -> None:
    row, answer = facts.instance_type(name), described(name)
    network, storage = answer["NetworkInfo"], answer.get("InstanceStorageInfo", {"Disks": [], "TotalSizeInGB": 0})
    devices = answer.get("NeuronInfo", {"NeuronDevices": []})["NeuronDevices"]
    assert row.vcpus == answer["VCpuInfo"]["DefaultVCpus"]
    assert row.memory_gib * 1024 == answer["MemoryInfo"]["SizeInMiB"]
    assert row.network_cards == network["MaximumNetworkCards"]
    assert row.efa_interfaces == network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0)
    assert row.nvme_volumes == sum(disk["Count"] for disk in storage["Disks"])
    assert row.nvme_gb == storage["TotalSizeInGB"]
    assert row.neuron_devices == sum(device["Count"] for device in devices)
    assert row.neuron_cores == sum(device["Count"] * device["CoreInfo"]["Count"] for device in devices)
    assert set(row.usage_classes) == set(answer["SupportedUsageClasses"])
    assert {facts.instance_family(row.family).accelerator} - {None} == {device["Name"] for device in devices}


def test_the_name_of_a_cpu_type_says_its_architecture() -> None:
    answers: Mapping[str, Mapping[str, Any]] = ec2_answer("instance_types.json.gz")
    taken = {name: found for name in answers if (found := facts.unpriced_architecture(name))}
    assert {"m7i.8xlarge": "x86_64", "m7a.large": "x86_64", "c7gn.xlarge": "arm64", "a1.large": "arm64"}.items() <= (
        taken.items()
    )
    for name, architecture in taken.items():
        assert architecture in answers[name]["ProcessorInfo"]["SupportedArchitectures"], name
        assert not {"GpuInfo", "NeuronInfo", "FpgaInfo", "InferenceAcceleratorInfo"} & answers[name].keys(), name
    assert not taken.keys() & facts.instance_types().keys()


@pytest.mark.parametrize("name", ["trn1.64xlarge", "inf1.xlarge", "p5.48xlarge", "g5.xlarge", "m7i.8xlarg", "m7i", ""])
def test_what_has_accelerators_or_no_name_of_a_type_is_no_cpu_type(name: str) -> None:
    assert facts.unpriced_architecture(name) is None
    with pytest.raises(facts.UnknownFact):
        facts.devices(name)


def test_device_memory_is_as_ec2_states_it_but_for_trainium_2() -> None:
    differing = {
        name for name, row in facts.instance_types().items() if row.neuron_memory_gib != device_memory_gib(name)
    }
    assert differing == WRONG_DEVICE_MEMORY


@pytest.mark.parametrize("region", facts.regions())
def test_offerings_are_as_ec2_lists_them(region: str) -> None:
    answer = ec2_answer(f"instance_type_offerings/availability-zone-id/{region}.json.gz")
    assert set(facts.region(region).availability_zone_ids) == {row["Location"] for row in answer}
    offered: dict[str, set[str]] = {name: set() for name in facts.instance_types()}
    for row in answer:
        if row["InstanceType"] in offered:
            offered[row["InstanceType"]].add(row["Location"])
    assert {name: set(facts.offered_zone_ids(name, region)) for name in offered} == offered


def test_no_region_with_accelerated_types_is_missing() -> None:
    accelerated = {name for name, row in facts.instance_types().items() if row.neuron_devices}
    folder = files("moto").joinpath("ec2/resources/instance_type_offerings/availability-zone-id")
    names = [entry.name for entry in folder.iterdir() if entry.name.endswith(".json.gz")]
    found = {
        name.removesuffix(".json.gz")
        for name in names
        if any(
            row["InstanceType"] in accelerated
            for row in ec2_answer(f"instance_type_offerings/availability-zone-id/{name}")
        )
    }
    assert found == set(facts.regions())


def test_the_accounts_of_load_balancers_logs_are_the_cdks() -> None:
    assert {name: row.load_balancer_log_account for name, row in facts.regions().items()} == {
        name: RegionInfo.get(name).elbv2_account for name in facts.regions()
    }
