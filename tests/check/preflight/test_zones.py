"""PF03, PF04 and PF05."""

from dataclasses import replace
from typing import Any

import pytest

from slipway import facts
from tests.check.preflight.aws import Aws
from tests.check.preflight.conftest import Ask, NeedsFactory


def zone(zone_id: str, state: str = "available") -> dict[str, str]:
    return {"ZoneId": zone_id, "ZoneName": f"us-west-2-{zone_id}", "State": state}


def offered(*zone_ids: str) -> dict[str, Any]:
    return {"InstanceTypeOfferings": [{"Location": zone_id} for zone_id in zone_ids]}


def test_zones_of_the_account_pass(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    aws.replies["ec2.DescribeAvailabilityZones"] = {"AvailabilityZones": [zone("usw2-az1"), zone("usw2-az4")]}
    answers = ask("PF03", needs_of("default"), aws)
    assert [(answer.subject, answer.status) for answer in answers] == [
        ("zone usw2-az1", "passed"),
        ("zone usw2-az4", "passed"),
    ]


def test_a_zone_that_the_account_lacks_or_that_is_down_fails(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    aws.replies["ec2.DescribeAvailabilityZones"] = {"AvailabilityZones": [zone("usw2-az1", "unavailable")]}
    down, absent = ask("PF03", needs_of("default"), aws)
    assert (down.status, absent.status) == ("failed", "failed")
    assert absent.message == "this account has no such zone in us-west-2; it has usw2-az1"
    assert absent.fix == "slipway az -e default"


def test_a_zone_that_is_short_of_something_warns(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    aws.replies["ec2.DescribeAvailabilityZones"] = {
        "AvailabilityZones": [zone("usw2-az1", "constrained"), zone("usw2-az4", "impaired")]
    }
    assert [answer.status for answer in ask("PF03", needs_of("default"), aws)] == ["warning", "warning"]


def test_offered_types_pass(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    answers = ask("PF04", needs_of("default"), aws)
    assert {answer.status for answer in answers} == {"passed"}
    assert {"trn1.32xlarge", "inf2.8xlarge"} <= {answer.subject.split()[0] for answer in answers}


def test_a_type_that_no_zone_of_its_has_fails_and_the_zones_with_it_are_named(
    aws: Aws, ask: Ask, needs_of: NeedsFactory
) -> None:
    aws.replies["ec2.DescribeInstanceTypeOfferings"] = offered("usw2-az3")
    answers = {answer.subject: answer for answer in ask("PF04", needs_of("default"), aws)}
    training = answers["trn1.32xlarge for queue trn1, trn1-32xl"]
    assert training.status == "failed"
    assert training.message == "EC2 does not offer trn1.32xlarge in usw2-az4; us-west-2 has it in usw2-az3"
    assert training.fix == "slipway az -e default"


def test_a_type_that_one_of_its_zones_lacks_warns(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    aws.replies["ec2.DescribeInstanceTypeOfferings"] = offered("usw2-az4")
    answers = {answer.subject: answer for answer in ask("PF04", needs_of("default"), aws)}
    hosts = next(answer for subject, answer in answers.items() if subject.startswith("inf2.8xlarge"))
    assert (hosts.status, "in usw2-az1;" in hosts.message) == ("warning", True)


def test_a_type_that_is_offered_nowhere_fails(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    aws.replies["ec2.DescribeInstanceTypeOfferings"] = offered()
    answers = ask("PF04", needs_of("default"), aws)
    assert {answer.status for answer in answers} == {"failed"}
    assert all("no zone of us-west-2 has it" in answer.message for answer in answers)


def described(name: str, **changes: int) -> dict[str, Any]:
    """What EC2 says of an instance type, as the facts have it but for the changes."""
    row = facts.instance_type(name).model_copy(update=changes)
    return {
        "InstanceType": name,
        "VCpuInfo": {"DefaultVCpus": row.vcpus},
        "NetworkInfo": {
            "MaximumNetworkCards": row.network_cards,
            "EfaInfo": {"MaximumEfaInterfaces": row.efa_interfaces},
        },
        "NeuronInfo": {"NeuronDevices": [{"Count": row.neuron_devices}]},
    }


NAMES = ("m6i.2xlarge", "trn1.32xlarge", "c6i.4xlarge", "inf2.8xlarge")


def test_facts_that_hold_pass(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    aws.replies["ec2.DescribeInstanceTypes"] = {"InstanceTypes": [described(name) for name in NAMES]}
    answers = ask("PF05", needs_of("default"), aws)
    assert {answer.subject: answer.status for answer in answers} == dict.fromkeys(NAMES, "passed")


def test_a_fact_that_no_longer_holds_fails(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    changed = described("trn1.32xlarge", efa_interfaces=16, vcpus=192, neuron_devices=8)
    others = [described(name) for name in NAMES if name not in ("trn1.32xlarge", "inf2.8xlarge")]
    aws.replies["ec2.DescribeInstanceTypes"] = {"InstanceTypes": [changed, *others]}
    answers = {answer.subject: answer for answer in ask("PF05", needs_of("default"), aws)}
    assert answers["trn1.32xlarge"].message == (
        "vCPUs: Slipway believes 128, EC2 says 192; EFA interfaces: Slipway believes 8, EC2 says 16; "
        "Neuron devices: Slipway believes 16, EC2 says 8"
    )
    assert answers["inf2.8xlarge"].message == "EC2 does not know it in this Region"
    assert {name for name, answer in answers.items() if answer.status == "failed"} == {"trn1.32xlarge", "inf2.8xlarge"}


def test_the_facts_agree_with_what_ec2_said_last(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    """moto ships an answer of EC2's DescribeInstanceTypes."""
    answers = [answer for name in ("default", "kubernetes") for answer in ask("PF05", needs_of(name), aws)]
    assert {answer.status for answer in answers} == {"passed"}, answers


@pytest.mark.parametrize(("architecture", "status"), [("x86_64", "passed"), ("arm64", "failed")])
def test_what_ec2_says_of_a_cpu_type_without_facts_is_told(
    architecture: str, status: str, aws: Aws, ask: Ask, needs_of: NeedsFactory
) -> None:
    first, *others = needs_of("default").instance_groups
    needs = replace(needs_of("default"), instance_groups=(replace(first, instance_type="m7i.8xlarge"), *others))
    told = {
        "InstanceType": "m7i.8xlarge",
        "VCpuInfo": {"DefaultVCpus": 32},
        "MemoryInfo": {"SizeInMiB": 131072},
        "ProcessorInfo": {"SupportedArchitectures": [architecture]},
    }
    aws.replies["ec2.DescribeInstanceTypes"] = {"InstanceTypes": [told, *(described(name) for name in NAMES)]}
    answers = {answer.subject: answer for answer in ask("PF05", needs, aws)}
    assert answers["m7i.8xlarge"].status == status
    assert f"EC2 says 32 vCPU, 128 GiB of memory, {architecture}" in answers["m7i.8xlarge"].message
