"""docs/restricted-networks.md lists the hosts that a proxy lets through: each that facts and scripts name, no other."""

import re
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

import pytest

from slipway import facts
from slipway.config import load_environment
from slipway_jobs.exporters import exporters
from slipway_jobs.importing.presets import presets
from slipway_jobs.python_packages import PYPI
from slipway_stacks.settings.proxy import proxy_bypass
from tests.assembly import PROJECT, environment_path

TEXT = (PROJECT / "docs" / "restricted-networks.md").read_text(encoding="utf-8")
TABLE = TEXT.partition("<!-- proxy hosts")[2].partition("<!-- /proxy hosts -->")[0]
ROWS = [line.strip("| ").split(" | ") for line in TABLE.splitlines() if line.startswith("| `")]
PATHS = re.compile(r"`((?:slipway|assets)/[^`]+)`")

# docker.io is a name of images; Docker asks this host for them (docs.docker.com, Allowlist for Docker Desktop).
REGISTRY_HOSTS = {"docker.io": "registry-1.docker.io"}
HUB = {"hf": "huggingface.co"}


def hosts_of(addresses: Iterable[str]) -> set[str]:
    return {urlsplit(address).hostname or "" for address in addresses}


def registries(images: Iterable[str]) -> set[str]:
    return {REGISTRY_HOSTS.get(host, host) for host in (image.split("/", 1)[0] for image in images)}


def named() -> Mapping[str, set[str]]:
    """The hosts that a file names, by its path. What only Kubernetes needs is left out: it has no proxy."""
    stacks = facts.training_stacks().values()
    return {
        "slipway/facts/data/operating_systems.yaml": hosts_of(
            row.neuron_repository for row in facts.operating_systems().values()
        ),
        "slipway/facts/data/training_stacks.yaml": hosts_of(
            address for row in stacks for address in row.python_sources.values()
        ),
        "slipway/facts/data/inference_engines.yaml": registries(
            row.image for row in facts.inference_engines().values()
        ),
        "slipway/facts/data/cluster_images.yaml": registries([facts.cluster_image("engine-proxy").image]),
        "assets/jobs/slipway_jobs/python_packages.py": hosts_of([PYPI]),
        "assets/jobs/slipway_jobs/importing/presets.yaml": {
            HUB[preset.source.partition(":")[0]] for preset in presets().values()
        },
    }


def listed() -> dict[str, set[str]]:
    """The first host of each row of the page that names a file of this repository, by the file."""
    found: dict[str, set[str]] = {}
    for hosts, _, source in ROWS:
        if path := PATHS.search(source):
            found.setdefault(path[1], set()).add(re.findall(r"`([^`]+)`", hosts)[0])
    return found


def test_the_page_lists_what_facts_and_scripts_name() -> None:
    assert listed() == named()


def test_what_exports_models_asks_no_other_index() -> None:
    indexes = hosts_of(address for exporter in exporters().values() for address in exporter.python_sources.values())

    assert indexes <= set().union(*listed().values())


def test_every_row_has_somebody_who_asks_and_a_source() -> None:
    assert len(ROWS) > 10
    assert all(len(row) == 3 and all(row) for row in ROWS)


@pytest.mark.parametrize("name", ["localhost", "169.254.170.23", "fd00:ec2::254", ".pcluster"])
def test_the_page_names_what_goes_past_the_proxy(name: str) -> None:
    assert name in proxy_bypass(load_environment(environment_path("proxied")))
    assert f"`{name}`" in TEXT


def test_the_page_names_each_entry_in_general() -> None:
    environment = load_environment(environment_path("proxied"))
    for entry in proxy_bypass(environment):
        general = entry.removeprefix(".").replace(environment.region, "REGION")
        in_words = "compute.internal" in entry or "/" in entry
        assert in_words or general in TEXT
