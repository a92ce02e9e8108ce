"""AWS's ParallelCluster bucket: at the real addresses, a stand-in for the CloudFormation provider."""

import io
import zipfile
from pathlib import Path

from slipway.rehearsal.emulator import provider
from slipway.rehearsal.emulator.clients import Clients
from slipway.rehearsal.emulator.ledger import Ledger

VERSION = "3.16.1"
"""The release of the ``aws-parallelcluster`` package that the provider calls."""

_FOLDER = Path(provider.__file__).parent
_NOTE = "Here the package comes from a virtual environment; on AWS this archive holds it.\n"


def _archive(name: str, text: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(name, text)
    return content.getvalue()


def seed_parallelcluster(clients: Clients, region: str, ledger: Ledger) -> None:
    """Put the provider's template, its function and its layer where AWS hosts them."""
    bucket = f"{region}-aws-parallelcluster"
    client = clients.get("s3", region)
    location = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
    client.create_bucket(Bucket=bucket, **location)
    root = f"parallelcluster/{VERSION}"
    function = (_FOLDER / "cluster_function.py").read_text(encoding="utf-8")
    objects = {
        f"{root}/templates/custom_resource/cluster.yaml": (_FOLDER / "cluster.yaml").read_bytes(),
        f"{root}/templates/custom_resource/cluster_function.zip": _archive("index.py", function),
        f"{root}/layers/aws-parallelcluster/lambda-layer.zip": _archive("python/NOTE.txt", _NOTE),
    }
    for key, content in objects.items():
        client.put_object(Bucket=bucket, Key=key, Body=content)
    ledger.seed(
        f"ParallelCluster {VERSION} provider in s3://{bucket}",
        "AWS hosts its template there; the stand-in keeps its parameters and outputs and calls the real package",
    )
