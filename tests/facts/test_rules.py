"""The facts satisfy every rule, and every rule notices a fact that breaks it."""

from collections.abc import Callable, Iterator
from inspect import getmembers, isgeneratorfunction
from typing import NamedTuple

import pytest

from . import rules
from .conftest import SpoiledFacts

Rule = Callable[[], Iterator[str]]

RULES: dict[str, Rule] = {
    name: rule
    for name, rule in getmembers(rules, isgeneratorfunction)
    if rule.__module__ == rules.__name__ and not name.startswith("_")
}


class Spoiled(NamedTuple):
    """A change of one fact file, and a piece of the sentence that the rule must then yield."""

    rule: Rule
    file_name: str
    old: str
    new: str
    sentence: str


SPOILED = [
    Spoiled(
        rules.billing_names_types_and_prices,
        "services/ec2.yaml",
        "item: nat_gateway_hour",
        "item: nat_gateway_year",
        "nothing has the price nat_gateway_year",
    ),
    Spoiled(rules.origin_is_dated, "regions.yaml", "as_of: 2026-11-20", "as_of: 2999-01-01", "as_of"),
    Spoiled(rules.yaml_means_what_it_says, "lustre_deployments.yaml", '"2.12"', "2.12", "quote 2.12"),
    Spoiled(rules.yaml_means_what_it_says, "quotas.yaml", "      vpcs:", "      spot_inf:", "spot_inf occurs twice"),
    Spoiled(rules.types_fit_their_family, "instance_types.yaml", "family: trn1\n", "family: trn9\n", "no family trn9"),
    Spoiled(
        rules.types_fit_their_family,
        "instance_types.yaml",
        "neuron_devices: 1\n",
        "neuron_devices: 0\n",
        "0 Neuron devices",
    ),
    Spoiled(
        rules.types_fit_their_family, "instance_types.yaml", "family: trn1n", "family: trn1", "is not of family trn1"
    ),
    Spoiled(
        rules.types_fit_their_family,
        "instance_families.yaml",
        "physical_cores_per_logical_core: 2",
        "physical_cores_per_logical_core: 3",
        "trn2.3xlarge: its cores do not divide",
    ),
    Spoiled(
        rules.interfaces_and_disks_fit,
        "instance_types.yaml",
        "network_cards: 8",
        "network_cards: 7",
        "more EFA interfaces",
    ),
    Spoiled(
        rules.interfaces_and_disks_fit, "instance_types.yaml", "nvme_gb: 474", "nvme_gb: 0", "disks without a size"
    ),
    Spoiled(rules.family_quotas_exist, "instance_families.yaml", "on_demand_trn", "on_demand_tron", "on_demand_tron"),
    Spoiled(rules.family_quotas_exist, "quotas.yaml", "unit: vCPU", "unit: GiB", "on_demand_trn is no quota on vCPUs"),
    Spoiled(rules.quota_codes_differ, "quotas.yaml", "L-2C3B7624", "L-1945791B", "two quotas have this code"),
    Spoiled(
        rules.zone_ids_lie_in_their_region,
        "regions.yaml",
        "usw2-az1",
        "usw1-az1",
        "usw1-az1 is no zone id of us-west-2",
    ),
    Spoiled(rules.offerings_name_known_things, "offerings.yaml", "[trn1.32xlarge]", "[trn1.31xlarge]", "trn1.31xlarge"),
    Spoiled(
        rules.offerings_name_known_things,
        "offerings.yaml",
        "[apne1-az1, apne1-az4]",
        "[apne1-az3]",
        "inf2.xlarge in ap-n",
    ),
    Spoiled(rules.offerings_name_known_things, "offerings.yaml", "[apne1-az1, apne1-az4]", "[]", "offered in no zone"),
    Spoiled(rules.offerings_occur_once, "offerings.yaml", "[trn2.3xlarge]", "[trn1.32xlarge]", "two rows"),
    Spoiled(
        rules.every_type_and_region_is_of_use,
        "offerings.yaml",
        "[inf2.xlarge]",
        "[m6i.large]",
        "ap-northeast-2: offers no acc",
    ),
    Spoiled(
        rules.prices_are_complete,
        "prices.yaml",
        "item: trn1.2xlarge, regions: *priced",
        "item: trn1.2xlarge, regions: []",
        "('trn1.2",
    ),
    Spoiled(rules.prices_are_complete, "prices.yaml", "2_125_gb", "2_126_gb", "lustre_persistent_2_125_gb_month"),
    Spoiled(
        rules.prices_are_complete,
        "prices.yaml",
        "regions: [us-east-2]",
        "regions: [us-east-2, sa-east-1]",
        "not a priced region",
    ),
    Spoiled(rules.prices_occur_once, "prices.yaml", "regions: [us-east-2]", "regions: [us-east-1]", "two rows"),
    Spoiled(
        rules.prices_agree_with_offerings,
        "prices.yaml",
        "note: not offered in this region",
        "note: none",
        "trn2.3xlarge in us-e",
    ),
    Spoiled(
        rules.training_stacks_pin_everything,
        "training_stacks.yaml",
        "aws-neuronx-tools",
        "aws-neuron-tools",
        "aws-neuronx-tools is",
    ),
    Spoiled(
        rules.training_stacks_pin_everything,
        "training_stacks.yaml",
        "neuronx-cc: 2.15.128.0",
        'neuronx-cc: "2.*"',
        "no exact version",
    ),
    Spoiled(
        rules.training_stacks_fit_where_they_run,
        "training_stacks.yaml",
        "families: [trn2]",
        "families: [trn1]",
        "TorchNeuron",
    ),
    Spoiled(rules.training_stacks_fit_where_they_run, "training_stacks.yaml", "[trn2]", "[trn7]", "no family trn7"),
    Spoiled(
        rules.training_stacks_fit_where_they_run,
        "training_stacks.yaml",
        "[ubuntu2204, ubuntu2404]",
        "[alinux2023]",
        "no wheels",
    ),
    Spoiled(rules.training_stacks_fit_where_they_run, "operating_systems.yaml", '"2.35"', '"2.34"', "needs glibc 2.35"),
    Spoiled(
        rules.training_images_have_what_they_are_built_from,
        "efa_installers.yaml",
        "    1.47.0:",
        "    1.46.0:",
        "xla-2.28.1: no EFA installer 1.47.0",
    ),
    Spoiled(
        rules.training_images_have_what_they_are_built_from,
        "cluster_images.yaml",
        "training-base-ubuntu2404",
        "training-base-ubuntu2604",
        "native-2.33: no base image of ubuntu2404",
    ),
    Spoiled(
        rules.training_stacks_are_named_after_their_release,
        "training_stacks.yaml",
        "xla-2.28.1",
        "xla-2.27",
        "not its name",
    ),
    Spoiled(
        rules.training_stacks_are_named_after_their_release,
        "training_stacks.yaml",
        "native-2.33:",
        "xla-2.33:",
        "not its name",
    ),
    Spoiled(
        rules.parallelcluster_releases_are_sound,
        "parallelcluster_releases.yaml",
        "[ubuntu2204,",
        "[ubuntu2004,",
        "ubuntu2004",
    ),
    Spoiled(rules.parallelcluster_releases_are_sound, "parallelcluster_releases.yaml", "^[a-z]", "^[A-Z]", "trn1-32xl"),
    Spoiled(rules.engines_can_run, "inference_engines.yaml", ":3.3.5-neuron", ":latest", "no pinned tag"),
    Spoiled(
        rules.engines_can_run,
        "inference_engines.yaml",
        "stop_timeout_seconds: 120",
        "stop_timeout_seconds: 60",
        "drained",
    ),
    Spoiled(
        rules.engines_can_run,
        "inference_engines.yaml",
        "neuron_release: 2.24.0",
        "neuron_release: 2.24.1",
        "no exporter",
    ),
    Spoiled(rules.engines_can_run, "inference_engines.yaml", "replaced_by: vllm-hf", "replaced_by: vllm", "no row"),
    Spoiled(
        rules.engines_can_run,
        "inference_engines.yaml",
        'MODEL_ID: "{model_directory}"',
        'MODEL_ID: "{model_name}"',
        "never told where",
    ),
    Spoiled(
        rules.engines_hide_their_other_paths,
        "inference_engines.yaml",
        "health_path: /",
        "health_path: ",
        "is not a path",
    ),
    Spoiled(
        rules.engines_hide_their_other_paths,
        "inference_engines.yaml",
        "inference_paths: [/v1/chat/completions,",
        "inference_paths: [/a, /b, /v1/chat/completions,",
        "do not fit",
    ),
    Spoiled(
        rules.engines_hide_their_other_paths, "inference_engines.yaml", "- /info\n", "- /health\n", "/health is there 2"
    ),
    Spoiled(
        rules.engines_can_run,
        "inference_engines.yaml",
        'MODEL_ID: "{',
        'model-id: "{',
        "model-id is not an env",
    ),
    Spoiled(
        rules.engines_can_run, "inference_engines.yaml", "[inf2, trn1]", "[inf2, cpu]", "cpu has no Neuron devices"
    ),
    Spoiled(
        rules.drivers_work_with_their_runtime_libraries,
        "training_stacks.yaml",
        "aws-neuronx-dkms: 2.26.10.0",
        "aws-neuronx-dkms: 2.29.0.0",
        "xla-2.28.1: Neuron driver 2.29.0.0 with runtime library 2.30.51.0: nrt_init() fails, that library needs one "
        "below 2.29",
    ),
    Spoiled(
        rules.drivers_work_with_their_runtime_libraries,
        "kubernetes_versions.yaml",
        ", 1.36.2-20260625: 2.28.0.0",
        "",
        "xla-2.28.1: no image of Kubernetes 1.36 has a driver for it",
    ),
    Spoiled(
        rules.drivers_work_with_their_runtime_libraries,
        "inference_engines.yaml",
        "machine_image: ecs-neuron-al2023-20260618",
        "machine_image: ecs-neuron-al2023-20260805",
        "tgi: Neuron driver 2.29.0.0 with runtime library 2.26.42.0",
    ),
    Spoiled(
        rules.drivers_work_with_their_runtime_libraries,
        "machine_images.yaml",
        "ecs-neuron-al2023-20260805:",
        "ecs-neuron-al2023-20260806:",
        "vllm-aws: no machine image",
    ),
    Spoiled(
        rules.machine_images_do_not_float,
        "machine_images.yaml",
        "neuron/al2023-ami-ecs-neuron-hvm-2023.0.20260618-kernel-6.1-x86_64/",
        "neuron/recommended/",
        "names no release",
    ),
    Spoiled(
        rules.lustre_deployments_are_sound,
        "lustre_deployments.yaml",
        'version: "2.15"',
        'version: "2.10"',
        "default version",
    ),
    Spoiled(
        rules.lustre_deployments_are_sound, "lustre_deployments.yaml", "[1018, 1023]", "[1023, 1018]", "port range"
    ),
    Spoiled(
        rules.open_zfs_deployments_are_sound,
        "open_zfs_deployments.yaml",
        "smallest_capacity_gib: 64",
        "smallest_capacity_gib: 524289",
        "above the largest",
    ),
    Spoiled(
        rules.open_zfs_deployments_are_sound,
        "open_zfs_deployments.yaml",
        "[20001, 20003]",
        "[20003, 20001]",
        "port range",
    ),
    Spoiled(rules.database_engines_are_pinned, "database_engines.yaml", "version: 8.4.10", "version: 8.0.46", "8.0.46"),
    Spoiled(rules.prices_are_complete, "prices.yaml", "_1_mbps_month", "_2_mbps_month", "open_zfs_single_az_1_mbps"),
    Spoiled(rules.prices_are_complete, "database_instance_types.yaml", "db.m5.large", "db.m5.huge", "db.m5.huge"),
    Spoiled(rules.create_times_name_resource_types, "services/ec2.yaml", "AWS::EC2::VPC:", "AWS::VPC:", "AWS::VPC"),
]


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_the_facts_satisfy(rule: Rule) -> None:
    assert list(rule()) == []


@pytest.mark.parametrize("spoiled", SPOILED, ids=lambda spoiled: f"{spoiled.rule.__name__}: {spoiled.sentence}")
def test_a_rule_notices(spoiled: Spoiled, spoiled_facts: SpoiledFacts) -> None:
    spoiled_facts.replace(spoiled.file_name, spoiled.old, spoiled.new)
    assert any(spoiled.sentence in problem for problem in spoiled.rule())


def test_every_rule_has_a_spoiled_fact() -> None:
    assert {spoiled.rule.__name__ for spoiled in SPOILED} == set(RULES)
