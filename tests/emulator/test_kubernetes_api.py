"""The stand-in for a cluster's API: what kubectl needs, and what a deployment must not get away with."""

import base64
import json
import subprocess
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from slipway_emulator.kubernetes_api.certificate import make_certificate
from slipway_emulator.kubernetes_api.kinds import kinds_of_chart
from slipway_emulator.kubernetes_api.objects import Objects
from slipway_emulator.kubernetes_api.refusal import RefusalError
from slipway_emulator.kubernetes_api.server import ApiServer, answer
from tests.kubernetes.kubectl import unpack_kubectl

Manifest = dict[str, Any]
LABEL = "slipway/prune"
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "jobs", "labels": {LABEL: ""}}}


def config_map(name: str = "settings", namespace: str = "jobs", **more: Any) -> Manifest:
    """A config map that the label marks."""
    metadata = {"name": name, "namespace": namespace, "labels": {LABEL: ""}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "1"}, **more}


DEFINITION: Manifest = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "trains.example.com", "labels": {LABEL: ""}},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "trains", "singular": "train", "kind": "Train", "listKind": "TrainList"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}},
            {"name": "v0", "served": False, "storage": False, "schema": {"openAPIV3Schema": {"type": "object"}}},
        ],
    },
}
TRAIN = {"apiVersion": "example.com/v1", "kind": "Train", "metadata": {"name": "first", "namespace": "jobs"}}


@pytest.fixture
def objects() -> Objects:
    """What a new cluster holds."""
    return Objects("1.35")


def post(objects: Objects, path: str, manifest: Manifest) -> HTTPStatus:
    """Ask for an object's creation; answers the status, a refusal's too."""
    try:
        return answer(objects, "POST", path, json.dumps(manifest).encode())[0]
    except RefusalError as refusal:
        return refusal.code


@pytest.mark.parametrize(
    ("path", "manifest", "status"),
    [
        ("/api/v1/namespaces/default/configmaps", config_map(), HTTPStatus.CREATED),
        ("/api/v1/namespaces/jobs/configmaps", config_map(), HTTPStatus.NOT_FOUND),
        ("/api/v1/namespaces", {**NAMESPACE, "metadata": {"name": "default"}}, HTTPStatus.CONFLICT),
        ("/api/v1/namespaces/default/configmaps", config_map(dat={}), HTTPStatus.BAD_REQUEST),
        ("/apis/example.com/v1/namespaces/default/trains", TRAIN, HTTPStatus.NOT_FOUND),
    ],
)
def test_what_is_refused(path: str, manifest: Manifest, status: HTTPStatus, objects: Objects) -> None:
    assert post(objects, path, manifest) == status


def test_a_patch_of_something_else_than_kubectl_apply_is_refused(objects: Objects) -> None:
    post(objects, "/api/v1/namespaces", NAMESPACE)
    with pytest.raises(RefusalError, match="only patches of kubectl apply"):
        answer(objects, "PATCH", "/api/v1/namespaces/jobs", b'{"metadata": {}}')


def test_the_kinds_of_a_chart_are_served_once_it_is_installed(objects: Objects) -> None:
    path = "/apis/kueue.x-k8s.io/v1beta1/resourceflavors"
    flavor = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ResourceFlavor", "metadata": {"name": "trn1"}}
    assert post(objects, path, flavor) == HTTPStatus.NOT_FOUND
    objects.serve(kinds_of_chart("kueue"))
    assert post(objects, path, flavor) == HTTPStatus.CREATED


class Kubectl:
    """Real kubectl, pointed at a stand-in."""

    def __init__(self, binary: Path, server: ApiServer, certificate: bytes, folder: Path) -> None:
        self._binary, self._folder = binary, folder
        cluster = {
            "server": server.endpoint,
            "certificate-authority-data": base64.b64encode(certificate).decode(),
        }
        settings = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "here", "cluster": cluster}],
            "users": [{"name": "me", "user": {"token": "k8s-aws-v1.test"}}],
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
            "current-context": "here",
        }
        (folder / "kubeconfig").write_text(json.dumps(settings), encoding="utf-8")

    def __call__(self, *command: str, manifests: list[Manifest]) -> "subprocess.CompletedProcess[str]":
        """Run a command as the CDK's function does: all manifests in one file."""
        file = self._folder / "manifest.yaml"
        file.write_text("".join(json.dumps(manifest) for manifest in manifests), encoding="utf-8")
        verb, *options = command
        return subprocess.run(
            [str(self._binary), verb, "--kubeconfig", str(self._folder / "kubeconfig"), "-f", str(file), *options],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env={"HOME": str(self._folder)},
        )


@pytest.fixture(scope="module")
def kubectl_binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kubectl of the CDK's layer."""
    return unpack_kubectl(tmp_path_factory.mktemp("kubectl"))


@pytest.fixture
def kubectl(kubectl_binary: Path, objects: Objects, tmp_path: Path) -> Iterator[Kubectl]:
    """Kubectl for a server of the objects."""
    context, certificate = make_certificate(tmp_path)
    server = ApiServer(objects, context)
    yield Kubectl(kubectl_binary, server, certificate, tmp_path)
    server.close()


def names(objects: Objects, path: str) -> list[str]:
    """The names of the objects behind a path."""
    _, found = answer(objects, "GET", path, b"")
    return [item["metadata"]["name"] for item in found["items"]]


def test_kubectl_creates_changes_prunes_and_deletes(kubectl: Kubectl, objects: Objects) -> None:
    path = "/api/v1/namespaces/jobs/configmaps"
    created = kubectl("create", "--save-config", manifests=[NAMESPACE, config_map(), config_map("other"), DEFINITION])
    assert created.returncode == 0, created.stderr
    assert kubectl("create", "--save-config", manifests=[TRAIN]).returncode == 0

    wanted = [NAMESPACE, config_map(data={"a": "2"}), DEFINITION]
    applied = kubectl("apply", "--prune", "-l", LABEL, manifests=wanted)
    assert applied.returncode == 0, applied.stderr
    assert names(objects, path) == ["settings"]
    assert answer(objects, "GET", f"{path}/settings", b"")[1]["data"] == {"a": "2"}
    assert names(objects, "/apis/example.com/v1/trains") == ["first"]

    deleted = kubectl("delete", manifests=wanted)
    assert deleted.returncode == 0, deleted.stderr
    assert "jobs" not in names(objects, "/api/v1/namespaces")
    assert names(objects, "/api/v1/configmaps") == []


def test_kubectl_tells_a_field_that_does_not_exist(kubectl: Kubectl) -> None:
    refused = kubectl("create", manifests=[NAMESPACE, config_map(dat={"a": "1"})])
    assert refused.returncode == 1
    assert "'dat' was unexpected" in refused.stderr


def test_kubectl_without_a_token_is_refused(kubectl: Kubectl, tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(file.read_text(encoding="utf-8").replace("k8s-aws-v1", "other"), encoding="utf-8")
    refused = kubectl("create", manifests=[NAMESPACE])
    assert refused.returncode == 1
    assert "the server has asked for the client to provide credentials" in refused.stderr
