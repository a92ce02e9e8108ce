"""Every object that Slipway puts into the cluster: valid for the cluster's version, pinned, small, without secrets."""

import copy
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from slipway import facts
from slipway.config import load_environment
from tests.assembly import ENVIRONMENTS, Assembly, load, synthesize
from tests.conftest import AssemblyFactory
from tests.kubernetes.installed import Installed
from tests.kubernetes.kubectl import kustomize, unpack_kubectl
from tests.kubernetes.manifest_validation import errors_of
from tests.kubernetes.software_stack import VARIANTS, VERSION, installed
from tests.kubernetes_environments import environments

MANIFEST_BYTES = 200_000
ANNOTATION_BYTES = 262_144
KUBERNETES_ENVIRONMENTS = [name for name in ENVIRONMENTS if load(name).kubernetes]
PAIRS = dict(environments())


@cache
def variant(name: str) -> Installed:
    return installed(**VARIANTS[name])


@pytest.fixture(params=VARIANTS)
def each_variant(request: pytest.FixtureRequest) -> Installed:
    """The software with each set of properties."""
    return variant(request.param)


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the CDK's kubectl."""
    return unpack_kubectl(tmp_path_factory.mktemp("kubectl"))


@pytest.mark.parametrize("version", facts.kubernetes_versions())
def test_every_object_is_valid_for_every_version(each_variant: Installed, version: str) -> None:
    wrong = {each["metadata"]["name"]: errors_of(each, version) for each in each_variant.objects()}

    assert {name: errors for name, errors in wrong.items() if errors} == {}


def assert_all_valid(assembly: Assembly) -> None:
    assert assembly.environment.kubernetes
    objects = Installed(assembly.template("kubernetes")).objects()

    assert len(objects) > 10
    for each in objects:
        assert errors_of(each, assembly.environment.kubernetes.version) == [], each["metadata"]["name"]


@pytest.mark.parametrize("name", KUBERNETES_ENVIRONMENTS)
def test_every_object_of_an_environment_is_valid(assemblies: AssemblyFactory, name: str) -> None:
    assert_all_valid(assemblies(name))


@pytest.mark.parametrize("name", PAIRS)
def test_every_object_is_valid_whatever_is_chosen(name: str, tmp_path: Path) -> None:
    file = tmp_path / "environment.yaml"
    file.write_text(PAIRS[name])

    assert_all_valid(synthesize(load_environment(file), tmp_path))


@pytest.mark.parametrize("name", KUBERNETES_ENVIRONMENTS)
def test_the_job_kits_environment_arrives_whole(assemblies: AssemblyFactory, name: str) -> None:
    found = Installed(assemblies(name).template("kubernetes")).named("ConfigMap", "environment", "slipway")

    assert json.loads(found["data"]["environment.json"])["kubernetes"]["namespace"] == found["metadata"]["namespace"]


def test_kubectl_reads_them_as_one_set(each_variant: Installed, kubectl: Path, tmp_path: Path) -> None:
    objects = each_variant.objects()
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all(objects))
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump({"resources": ["all.yaml"]}))

    run = kustomize(kubectl, tmp_path)

    assert run.returncode == 0, run.stderr
    assert sorted(each["metadata"]["name"] for each in yaml.safe_load_all(run.stdout)) == sorted(
        each["metadata"]["name"] for each in objects
    )


def test_kubectl_refuses_an_object_that_is_there_twice(kubectl: Path, tmp_path: Path) -> None:
    namespace = variant("torchrun").named("Namespace", "slipway")
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all([namespace, namespace]))
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump({"resources": ["all.yaml"]}))

    run = kustomize(kubectl, tmp_path)

    assert run.returncode != 0
    assert "may not add resource with an already registered id" in run.stderr


def change(manifest: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return the object with another value at a path such as `spec.containers.0.image`."""
    changed = copy.deepcopy(manifest)
    *parents, last = (int(part) if part.isdigit() else part for part in path.split("."))
    place: Any = changed
    for part in parents:
        place = place[part]
    place[last] = value
    return changed


@pytest.mark.parametrize(
    ("kind", "name", "path", "value"),
    [
        ("Deployment", "shell", "spec.replicas", "one"),
        ("Deployment", "shell", "spec.template.spec.container", []),
        ("Deployment", "shell", "spec.template.spec.containers.0.img", "typo"),
        ("Deployment", "shell", "spec.selector", {"app": "shell"}),
        ("Service", "tensorboard", "spec.ports.0.port", "http"),
        ("PersistentVolume", "slipway-fsx", "spec.csi.attributes", {}),
        ("NetworkPolicy", "jobs", "spec.egress.0.to.0.ipBlock.except", "169.254.169.254/32"),
        ("Role", "jobs", "rules.0.verbs", "get"),
        ("Namespace", "slipway", "metadata.labels", ["restricted"]),
        ("ValidatingAdmissionPolicy", "slipway-no-load-balancers", "spec.validations.0.cel", "true"),
        ("CustomResourceDefinition", "mpijobs.kubeflow.org", "spec.versions.0.storage", "yes"),
        ("ClusterQueue", "training", "spec.resourceGroups.0.flavors.0.resources.0.nominalQuota", "many"),
        ("ClusterQueue", "training", "spec.queueingStrategy", "LIFO"),
        ("ResourceFlavor", "trn1", "spec.nodeSelector", {}),
        ("LocalQueue", "jobs", "spec", {}),
    ],
)
def test_a_broken_object_is_refused(kind: str, name: str, path: str, value: Any) -> None:
    good = variant("mpi-kueue").named(kind, name)

    assert errors_of(good, VERSION) == []
    assert errors_of(change(good, path, value), VERSION) != []


def test_no_manifest_is_near_a_limit(each_variant: Installed) -> None:
    for objects in each_variant.manifests().values():
        assert len(json.dumps(objects)) < MANIFEST_BYTES
    # kubectl apply keeps each object in an annotation of its own.
    assert max(len(json.dumps(each)) for each in each_variant.objects()) < ANNOTATION_BYTES / 10


def test_no_manifest_holds_a_secret(each_variant: Installed) -> None:
    """CloudFormation shows manifests, and the CDK's function logs them."""
    names = [variable["name"] for container in containers(each_variant) for variable in container.get("env", [])]

    assert "Secret" not in [each["kind"] for each in each_variant.objects()]
    assert [name for name in names if re.search("TOKEN|SECRET|PASSWORD|KEY", name)] == []
    assert not re.search(r"\{\{resolve:|hf_\w{10}|AKIA\w{16}|PRIVATE KEY", json.dumps(each_variant.objects()))


def containers(found: Installed) -> list[dict[str, Any]]:
    """Return all containers of the deployments."""
    pods = [each["spec"]["template"]["spec"] for each in found.objects() if each["kind"] == "Deployment"]
    return [container for pod in pods for container in (*pod["containers"], *pod.get("initContainers", []))]


def test_images_are_pinned(each_variant: Installed) -> None:
    for container in containers(each_variant):
        assert re.search(r"(:(?!latest)[\w.-]+|@sha256:[0-9a-f]{64})$", container["image"]), container["image"]


def test_containers_hold_no_capability_but_one_and_ask_for_what_they_need(each_variant: Installed) -> None:
    for container in containers(each_variant):
        security = container["securityContext"]
        added = {"add": ["CHOWN"]} if container["name"] == "directories" else {}
        assert security["capabilities"] == {"drop": ["ALL"], **added}
        assert security["allowPrivilegeEscalation"] is False
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        assert set(container["resources"]["requests"]) == {"cpu", "memory"}
        assert "memory" in container["resources"]["limits"]


def test_only_the_container_that_makes_directories_is_root(each_variant: Installed) -> None:
    root = [each["name"] for each in containers(each_variant) if not each["securityContext"]["runAsNonRoot"]]

    assert root == ["directories"]
