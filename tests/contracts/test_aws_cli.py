"""The stand-ins for the AWS CLI against the real one, which talks to an S3 emulator on loopback."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from tests.assets import test_training_image_build
from tests.assets.inference_host import AWS, PREFIX
from tests.assets.sandbox import ASSETS
from tests.contracts.real_packages import unpacked
from tests.unit import test_image_mirror_script

pytestmark = pytest.mark.contract

PACKAGES = ("awscli", "colorama", "docutils", "pyasn1", "rsa")
BUCKET = "bucket"
MODEL = {"config.json": "{}", "weights/model.neff": "N" * 4096}
# What the hosts ask for, with a command's options as the scripts have them.
SYNC = "--region us-west-2 s3 sync --only-show-errors --delete"
LIST = "--region us-west-2 --output json s3api list-objects-v2"

Cli = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    """The real CLI, and a bucket with a model."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    account = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-west-2"}
    environment = account | {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "HOME": str(tmp_path_factory.mktemp("home")),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(str(unpacked(name)) for name in PACKAGES),
    }
    s3: Any = boto3.client(
        "s3",
        endpoint_url=environment["AWS_ENDPOINT_URL"],
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )
    s3.create_bucket(Bucket=BUCKET)
    for name, content in MODEL.items():
        s3.put_object(Bucket=BUCKET, Key=f"{PREFIX}/{name}", Body=content.encode())

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "awscli", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)

    yield run
    server.stop()


@pytest.fixture
def stand_in(tmp_path: Path) -> Cli:
    """The stand-in of the inference hosts, and a bucket with the same model."""
    for name, content in MODEL.items():
        file = tmp_path / "state" / "bucket" / PREFIX / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {"STATE": str(tmp_path / "state"), "PATH": os.environ["PATH"]}
        command = [sys.executable, str(AWS), *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)

    return run


def tree(folder: Path) -> dict[str, str]:
    return {str(file.relative_to(folder)): file.read_text() for file in sorted(folder.rglob("*")) if file.is_file()}


def test_the_scripts_have_the_options_that_are_compared() -> None:
    script = (ASSETS / "inference/host/model_sync.sh").read_text(encoding="utf-8").replace("\\\n", " ")
    said = re.sub(r" +", " ", script.replace('"$SLIPWAY_REGION"', "us-west-2"))

    assert f"aws {SYNC} " in said
    assert f"aws {LIST} " in said


def test_a_copy_leaves_the_same_files(real: Cli, stand_in: Cli, tmp_path: Path) -> None:
    """Of what a killed copy left: a temporary file goes, a file that was cut comes whole, a whole one stays."""
    source, copies = f"s3://{BUCKET}/{PREFIX}/", {}
    for name, cli in {"real": real, "stand-in": stand_in}.items():
        folder = tmp_path / name
        (folder / "weights").mkdir(parents=True)
        (folder / "weights/model.neff").write_text("N" * 7)
        (folder / "weights/model.neff.4fA9b1").write_text("N" * 7)
        done = [cli(*shlex.split(SYNC), source, str(folder)) for _ in range(2)]
        assert [(each.returncode, each.stdout) for each in done] == [(0, "")] * 2, done
        copies[name] = tree(folder)

    assert copies["real"] == copies["stand-in"] == MODEL


def test_a_list_is_the_same_and_null_where_nothing_is(real: Cli, stand_in: Cli) -> None:
    for prefix, found in ((PREFIX, [[f"{PREFIX}/{name}", len(text)] for name, text in MODEL.items()]), ("x", None)):
        ask = (*shlex.split(LIST), "--bucket", BUCKET, "--prefix", f"{prefix}/", "--query", "Contents[].[Key,Size]")

        answers = [json.loads(cli(*ask).stdout) for cli in (real, stand_in)]

        assert answers == [found, found]


def test_text_of_a_query_that_finds_nothing_is_none_as_the_builds_stand_ins_say(real: Cli) -> None:
    ask = (
        *shlex.split(LIST.replace("json", "text")),
        "--bucket",
        BUCKET,
        "--prefix",
        "x",
        "--query",
        "Contents[0].Key",
    )

    assert real(*ask).stdout == "None\n"
    assert "echo None" in test_image_mirror_script.AWS
    assert "echo None" in test_training_image_build.AWS


def test_what_is_not_there_fails_a_copy(real: Cli, tmp_path: Path) -> None:
    """A failed copy of the cluster nodes' stand-in ends with 1, too."""
    failed = real("s3", "cp", "--only-show-errors", f"s3://{BUCKET}/nothing", str(tmp_path / "file"))
    copied = real("s3", "cp", "--only-show-errors", f"s3://{BUCKET}/{PREFIX}/config.json", str(tmp_path / "file"))

    assert (failed.returncode, copied.returncode, copied.stdout) == (1, 0, "")
    assert (tmp_path / "file").read_text() == "{}"


def test_the_health_checks_metric_is_understood(real: Cli, tmp_path: Path) -> None:
    """The command of count_drain, as systemd-run is given it, with values in the place of variables."""
    script = (ASSETS / "cluster/health_check.sh").read_text(encoding="utf-8")
    body = script.split("count_drain() {")[1].split("\n}")[0]
    (tmp_path / "systemd-run").write_text('#!/bin/bash\nwhile [[ "$1" != aws ]]; do shift; done\nprintf "%s\\0" "$@"\n')
    (tmp_path / "systemd-run").chmod(0o755)
    values = "read_settings() { stack_name=team cfn_region=us-west-2 cfn_scheduler_queue_name=train; }; ROOT= "
    bash = shutil.which("bash")
    assert bash
    done = subprocess.run(
        [bash, "-euc", f"{values} METRIC_NAMESPACE=Slipway/Cluster\ncount_drain() {{{body}\n}}\ncount_drain"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    _, *arguments = done.stdout.split("\0")[:-1]

    sent = real(*arguments)

    assert sent.returncode == 0, sent.stderr
    assert arguments[:2] == ["cloudwatch", "put-metric-data"]
