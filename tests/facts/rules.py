"""What every row must satisfy, and what rows of different files must agree on.

A rule yields one sentence for each violation. test_rules.py asserts that none does for the facts as they are, and that
each rule does notice a fact that breaks it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from itertools import chain
from typing import Any

import yaml

from slipway import catalogue, facts
from slipway.facts.rows import DATA_DIRECTORY, Row, data_file, raw_rows, read_file
from slipway_jobs.exporters import exporters

YAML_FILES = sorted(path.name for path in DATA_DIRECTORY.glob("*.yaml"))
VERSION = re.compile(r"^\d+(\.\d+)+$")
_VALUES_IN_A_LISTENER_RULE = 5
NOT_OFFERED = "not offered in this region"
SYSTEM_PACKAGES = {
    "aws-neuronx-dkms",
    "aws-neuronx-collectives",
    "aws-neuronx-runtime-lib",
    "aws-neuronx-tools",
    "aws-neuronx-oci-hook",
}
PYTHON_PACKAGES = {
    "xla": {"neuronx-cc", "torch-neuronx", "libneuronxla", "neuronx_distributed"},
    "native": {"neuronx-cc", "torch-neuronx", "nki"},
}


def all_rows() -> Iterator[Row]:
    tables: Iterable[Mapping[Any, Row]] = (
        catalogue.billings(),
        facts.broad_policies(),
        facts.cluster_images(),
        facts.configuration_limits(),
        catalogue.create_times(),
        facts.daemon_pods(),
        facts.database_engines(),
        facts.database_instance_types(),
        facts.efa_installers(),
        facts.helm_charts(),
        facts.inference_engines(),
        facts.instance_families(),
        facts.instance_types(),
        facts.kubernetes_nodes(),
        facts.kubernetes_versions(),
        facts.lustre_deployments(),
        facts.machine_images(),
        facts.training_stacks(),
        facts.offerings(),
        facts.open_zfs_deployments(),
        facts.operating_systems(),
        facts.parallelcluster_releases(),
        facts.prices(),
        facts.quotas(),
        facts.regions(),
        facts.runtime_drivers(),
        facts.script_sources(),
    )
    return chain.from_iterable(table.values() for table in tables)


def origin_is_dated() -> Iterator[str]:
    for row in all_rows():
        if not date(2020, 1, 1) <= row.as_of <= date.today():
            yield f"{row!r}: as_of is not between 2020 and today"


def yaml_means_what_it_says() -> Iterator[str]:
    """No key twice (YAML takes the last one silently); a number with a point is a price, anything else is a version."""
    for name in YAML_FILES:
        root = yaml.compose(data_file(name).read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
        assert root, f"{name} is empty"
        yield from (f"{name}: {problem}" for problem in _node_problems(root))


def _node_problems(node: yaml.Node, key: str = "") -> Iterator[str]:
    if isinstance(node, yaml.MappingNode):
        repeated = [name for name, times in Counter(name.value for name, _ in node.value).items() if times > 1]
        yield from (f"line {node.start_mark.line + 1}: {name} occurs twice" for name in repeated)
        for name, value in node.value:
            yield from _node_problems(value, name.value)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from _node_problems(value, key)
    elif node.tag.endswith(":float") and key != "usd":
        yield f"line {node.start_mark.line + 1}: quote {node.value}, it is no price"


def types_fit_their_family() -> Iterator[str]:
    for kind in facts.instance_types().values():
        family = facts.instance_families().get(kind.family)
        if family is None:
            yield f"{kind.name}: no family {kind.family}"
            continue
        if bool(kind.neuron_devices) != (family.accelerator is not None):
            yield f"{kind.name}: {kind.neuron_devices} Neuron devices in family {family.name}"
        if family.name not in ("cpu", kind.name.partition(".")[0]):
            yield f"{kind.name}: is not of family {family.name}"
        if kind.neuron_cores != kind.neuron_devices * family.neuron_cores_per_device:
            yield f"{kind.name}: {kind.neuron_cores} cores are not devices x cores per device"
        if kind.logical_neuron_cores * family.physical_cores_per_logical_core != kind.neuron_cores:
            yield f"{kind.name}: its cores do not divide into logical cores"


def interfaces_and_disks_fit() -> Iterator[str]:
    for kind in facts.instance_types().values():
        if kind.efa_interfaces > kind.network_cards:
            yield f"{kind.name}: more EFA interfaces than network cards"
        if bool(kind.nvme_volumes) != bool(kind.nvme_gb):
            yield f"{kind.name}: NVMe disks without a size, or a size without disks"


def family_quotas_exist() -> Iterator[str]:
    for family in facts.instance_families().values():
        for key in (family.on_demand_quota, family.spot_quota):
            quota = facts.quotas().get(key)
            if quota is None or quota.unit != "vCPU":
                yield f"{family.name}: {key} is no quota on vCPUs"


def quota_codes_differ() -> Iterator[str]:
    codes = Counter((quota.service_code, quota.quota_code) for quota in facts.quotas().values())
    yield from (f"{code}: two quotas have this code" for code, times in codes.items() if times > 1)


def zone_ids_lie_in_their_region() -> Iterator[str]:
    for region in facts.regions().values():
        area, direction, number = region.name.split("-")
        letters = "".join(word[0] for word in re.findall("north|south|east|west|central", direction))
        pattern = re.compile(rf"^{area}{letters}{number}-az\d$")
        yield from (
            f"{zone} is no zone id of {region.name}" for zone in region.availability_zone_ids if not pattern.match(zone)
        )


def offerings_name_known_things() -> Iterator[str]:
    for offering in facts.offerings().values():
        region = facts.regions().get(offering.region)
        if offering.instance_type not in facts.instance_types() or region is None:
            yield f"{offering.instance_type} in {offering.region}: no such instance type or region"
        elif not set(offering.availability_zone_ids) <= set(region.availability_zone_ids):
            yield f"{offering.instance_type} in {offering.region}: zones that the region does not have"
        if not offering.availability_zone_ids:
            yield f"{offering.instance_type} in {offering.region}: offered in no zone"


def offerings_occur_once() -> Iterator[str]:
    rows = raw_rows(read_file("offerings.yaml"))
    pairs = Counter((kind, row["region"]) for row in rows for kind in row["instance_types"])
    yield from (f"{pair}: two rows" for pair, times in pairs.items() if times > 1)


def every_type_and_region_is_of_use() -> Iterator[str]:
    offered = {
        (row.region, facts.instance_types()[row.instance_type].neuron_devices > 0) for row in facts.offerings().values()
    }
    yield from (f"{name}: offers no accelerated type" for name in facts.regions() if (name, True) not in offered)
    yield from (f"{name}: offers no CPU type" for name in facts.regions() if (name, False) not in offered)
    yield from (f"{name}: offered nowhere" for name in facts.instance_types() if not facts.offering_regions(name))


def prices_are_complete() -> Iterator[str]:
    tiers = [
        f"lustre_{deployment.name.lower()}_{tier}_gb_month"
        for deployment in facts.lustre_deployments().values()
        for tier in deployment.throughputs
    ]
    tiers += [
        f"open_zfs_{deployment.name.lower()}_{unit}_month"
        for deployment in facts.open_zfs_deployments().values()
        for unit in ("gb", "mbps")
    ]
    types = set(facts.instance_types()) | set(facts.database_instance_types())
    items = {item for item, _ in facts.prices()} | types | set(tiers)
    regions = read_file("prices.yaml")["priced_regions"]
    wanted = {(item, region) for item in items for region in regions}
    yield from (f"{pair}: neither a price nor an explicit none" for pair in sorted(wanted - set(facts.prices())))
    yield from (f"{pair}: not a priced region" for pair in sorted(set(facts.prices()) - wanted))


def prices_occur_once() -> Iterator[str]:
    pairs = Counter((row["item"], region) for row in raw_rows(read_file("prices.yaml")) for region in row["regions"])
    yield from (f"{pair}: two rows" for pair, times in pairs.items() if times > 1)


def prices_agree_with_offerings() -> Iterator[str]:
    for price in facts.prices().values():
        if price.region not in facts.regions():
            yield f"{price.item}: {price.region} is no region of the facts"
        elif price.item in facts.instance_types():
            offered = bool(facts.offered_zone_ids(price.item, price.region))
            if offered == (price.note == NOT_OFFERED) or (price.usd is not None and not offered):
                yield f"{price.item} in {price.region}: offered is {offered}, price is {price.usd} ({price.note})"


def training_stacks_pin_everything() -> Iterator[str]:
    for stack in facts.training_stacks().values():
        missing = (SYSTEM_PACKAGES - set(stack.system_packages)) | (
            PYTHON_PACKAGES[stack.framework] - set(stack.python_packages)
        )
        yield from (f"{stack.name}: {package} is not pinned" for package in sorted(missing))
        packages = (stack.system_packages, stack.python_packages, stack.job_packages)
        for package, version in chain.from_iterable(part.items() for part in packages):
            if not VERSION.match(version):
                yield f"{stack.name}: {package} {version} is no exact version"


def training_stacks_fit_where_they_run() -> Iterator[str]:
    for stack in facts.training_stacks().values():
        unknown = set(stack.instance_families) - set(facts.instance_families())
        yield from (f"{stack.name}: no family {name}" for name in sorted(unknown))
        if stack.framework == "native" and "trn1" in stack.instance_families:
            yield f"{stack.name}: TorchNeuron does not run on trn1"
        for name in stack.operating_systems:
            system = facts.operating_systems().get(name)
            if system is None:
                yield f"{stack.name}: no operating system {name}"
            elif system.python_version not in stack.python_versions:
                yield f"{stack.name}: no wheels for Python {system.python_version} of {name}"
            elif _numbers(stack.python_packages["torch-neuronx"]) >= (2, 9) and _numbers(system.glibc_version) < (
                2,
                35,
            ):
                yield f"{stack.name}: PyTorch 2.9 needs glibc 2.35, {name} has {system.glibc_version}"


def training_images_have_what_they_are_built_from() -> Iterator[str]:
    for stack in facts.training_stacks().values():
        if stack.efa_installer is not None and stack.efa_installer not in facts.efa_installers():
            yield f"{stack.name}: no EFA installer {stack.efa_installer}"
        if stack.job_kit and f"training-base-{stack.operating_systems[0]}" not in facts.cluster_images():
            yield f"{stack.name}: no base image of {stack.operating_systems[0]}"
    if list(facts.efa_installers()) != sorted(facts.efa_installers(), key=_numbers):
        yield "the newest EFA installer is not the last"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split("."))


def training_stacks_are_named_after_their_release() -> Iterator[str]:
    for stack in facts.training_stacks().values():
        kind, _, version = stack.name.partition("-")
        if kind not in (stack.framework, "seed") or not f"{stack.release}.".startswith(f"{version}."):
            yield f"{stack.name}: {stack.name} is not its name"
    covered = {family for stack in facts.training_stacks().values() for family in stack.instance_families}
    wanted = {family.name for family in facts.instance_families().values() if family.accelerator}
    yield from (f"{family}: no training stack supports it" for family in sorted(wanted - covered))


def parallelcluster_releases_are_sound() -> Iterator[str]:
    for release in facts.parallelcluster_releases().values():
        unknown = set(release.operating_systems) - set(facts.operating_systems())
        yield from (f"{release.version}: no operating system {name}" for name in sorted(unknown))
        for pattern, good, bad in (
            (release.cluster_name_pattern, "Trainium-1", "1-trainium"),
            (release.queue_name_pattern, "trn1-32xl", "Trn1"),
        ):
            if not re.match(pattern, good) or re.match(pattern, bad):
                yield f"{release.version}: {pattern} should match {good} and not {bad}"
        if release.custom_resource_reserve_seconds >= release.custom_resource_timeout_seconds:
            yield f"{release.version}: CloudFormation gives up before the head node may"
        if release.node_setup_seconds <= 0:
            yield f"{release.version}: no time is left for the set-up of a node"


def drivers_work_with_their_runtime_libraries() -> Iterator[str]:
    for stack in facts.training_stacks().values():
        if problem := facts.driver_problem(stack.driver, stack.runtime):
            yield f"{stack.name}: {problem}"
        if stack.job_kit:
            versions = facts.kubernetes_versions().values()
            unfit = [version.name for version in versions if version.ami_release_for(stack.runtime) is None]
            yield from (f"{stack.name}: no image of Kubernetes {version} has a driver for it" for version in unfit)
    for engine in facts.inference_engines().values():
        image = facts.machine_images().get(engine.machine_image)
        if image is None:
            yield f"{engine.name}: no machine image {engine.machine_image}"
        elif problem := facts.driver_problem(image.neuron_driver, engine.neuron_runtime):
            yield f"{engine.name}: {problem}"


def machine_images_do_not_float() -> Iterator[str]:
    for image in facts.machine_images().values():
        if "recommended" in image.ssm_parameter or image.name.rpartition("-")[2] not in image.ssm_parameter:
            yield f"{image.name}: {image.ssm_parameter} names no release"


def engines_can_run() -> Iterator[str]:
    engines = facts.inference_engines()
    for engine in engines.values():
        tag = engine.image.rpartition(":")[2]
        if "/" in tag or not re.search(r"\d", tag):
            yield f"{engine.name}: {engine.image} has no pinned tag"
        if engine.neuron_release not in exporters() and not engine.needs_compiled:
            yield f"{engine.name}: the job kit has no exporter for Neuron {engine.neuron_release}"
        if engine.stop_timeout_seconds <= engine.drain_seconds:
            yield f"{engine.name}: killed before it has drained"
        for name in engine.environment:
            if not re.match(r"^[A-Z][A-Z0-9_]*$", name):
                yield f"{engine.name}: {name} is not an environment variable"
        for family in engine.instance_families:
            if not facts.instance_family(family).accelerator:
                yield f"{engine.name}: {family} has no Neuron devices"
        if engine.replaced_by is not None and engine.replaced_by not in engines:
            yield f"{engine.name}: replaced by {engine.replaced_by}, which has no row"
        if not any("{model_directory}" in text for text in (*engine.command, *engine.environment.values())):
            yield f"{engine.name}: is never told where the model is"


def engines_hide_their_other_paths() -> Iterator[str]:
    for engine in facts.inference_engines().values():
        paths = (engine.health_path, engine.metrics_path, *engine.inference_paths, *engine.other_paths)
        for path in paths:
            if not path.startswith("/"):
                yield f"{engine.name}: {path} is not a path"
        for path, times in Counter(paths).items():
            if times > 1:
                yield f"{engine.name}: {path} is there {times} times"
        # A rule of a load balancer compares five values: these and, where models share it, a host or a path's prefix.
        if len(engine.inference_paths) > _VALUES_IN_A_LISTENER_RULE - 1:
            yield f"{engine.name}: more than {_VALUES_IN_A_LISTENER_RULE - 1} paths do not fit one listener rule"


def lustre_deployments_are_sound() -> Iterator[str]:
    for deployment in facts.lustre_deployments().values():
        if deployment.default_lustre_version not in deployment.lustre_versions:
            yield f"{deployment.name}: its default version is not allowed"
        if any(first > last for first, last in deployment.ports):
            yield f"{deployment.name}: a port range ends before it begins"


def open_zfs_deployments_are_sound() -> Iterator[str]:
    for deployment in facts.open_zfs_deployments().values():
        if deployment.smallest_capacity_gib > deployment.largest_capacity_gib:
            yield f"{deployment.name}: its smallest capacity is above the largest"
        if any(first > last for first, last in deployment.ports):
            yield f"{deployment.name}: a port range ends before it begins"


def database_engines_are_pinned() -> Iterator[str]:
    for engine in facts.database_engines().values():
        if not VERSION.match(engine.version) or not engine.version.startswith(f"{engine.major_version}."):
            yield f"{engine.name}: {engine.version} is no exact version of {engine.major_version}"


def create_times_name_resource_types() -> Iterator[str]:
    for name in catalogue.create_times():
        if not re.match(r"^(AWS::\w+::\w+|Custom::\w+)$", name):
            yield f"{name} is no CloudFormation resource type"


def billing_names_types_and_prices() -> Iterator[str]:
    items = {item for item, _ in facts.prices()}
    for name, billing in catalogue.billings().items():
        if not re.match(r"^(AWS::\w+::\w+|Custom::[\w-]+)$", name):
            yield f"{name} is no CloudFormation resource type"
        for charge in (*billing.each, *billing.by_use):
            if charge.item is not None and charge.item not in items:
                yield f"{name}: nothing has the price {charge.item}"
