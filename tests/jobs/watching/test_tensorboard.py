"""`slipway-job tensorboard`: two commands, and nothing in public."""

from __future__ import annotations

import json
import shlex
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from typer.testing import CliRunner, Result

from slipway_jobs.cli import app
from tests.jobs.watching.run_folder import Cluster

ENDPOINT = "AWS_EC2_METADATA_SERVICE_ENDPOINT"


class Metadata(BaseHTTPRequestHandler):
    """An instance metadata service that answers with a token only (IMDSv2)."""

    def do_PUT(self) -> None:
        known = self.path == "/latest/api/token" and self.headers["X-aws-ec2-metadata-token-ttl-seconds"] == "60"
        self._answer(200 if known else 400, "token")

    def do_GET(self) -> None:
        allowed = self.headers["X-aws-ec2-metadata-token"] == "token"
        self._answer(200 if allowed and self.path == "/latest/meta-data/instance-id" else 401, "i-0123456789abcdef0")

    def _answer(self, status: int, text: str) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        pass


@pytest.fixture
def instance(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Be an EC2 instance."""
    with HTTPServer(("127.0.0.1", 0), Metadata) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        monkeypatch.setenv(ENDPOINT, f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
        yield
        server.shutdown()
        thread.join()


def commands(result: Result) -> list[list[str]]:
    """Return the commands in the output, as a shell splits them."""
    return [shlex.split(line) for line in result.stdout.splitlines() if line.startswith("  ")]


@pytest.mark.usefixtures("instance")
def test_commands_for_this_machine_and_ones_own(cluster: Cluster) -> None:
    folder = cluster.submit()
    folder.run.tensorboard_directory.mkdir()

    result = CliRunner().invoke(app, ["tensorboard", "tiny", "--port", "6016"])

    assert (result.exit_code, result.stderr) == (0, "")
    here, own = commands(result)
    assert here[0] == "/apps/neuron/current/bin/tensorboard"
    assert here[1:] == ["--logdir", str(folder.run.tensorboard_directory), "--host", "127.0.0.1", "--port", "6016"]
    options = dict(zip(own[3::2], own[4::2], strict=True))
    assert own[:3] == ["aws", "ssm", "start-session"]
    assert json.loads(options.pop("--parameters")) == {"portNumber": ["6016"], "localPortNumber": ["6016"]}
    assert options == {
        "--region": "us-east-1",
        "--target": "i-0123456789abcdef0",
        "--document-name": "AWS-StartPortForwardingSession",
    }
    assert "http://127.0.0.1:6016" in result.stdout


def test_machine_that_is_no_instance_tells_how_to_find_it(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:9")
    cluster.submit()

    result = CliRunner().invoke(app, ["tensorboard", "tiny"])

    assert result.exit_code == 0
    _, own, find = commands(result)
    assert "INSTANCE_ID" in own
    assert find[:3] == ["aws", "ec2", "describe-instances"]
    assert "Name=tag:parallelcluster:cluster-name,Values=cpu" in find
    assert "The training has not written anything yet to" in result.stderr


@pytest.mark.parametrize(
    "planted", [{"python": "/tmp/evil/python", "region": "$(touch evil)"}, {"directory": "/; evil"}]
)
def test_the_file_of_another_users_run_writes_no_command(cluster: Cluster, planted: dict[str, str]) -> None:
    run = cluster.submit().run
    run.file.write_text(run.model_copy(update=planted).model_dump_json(), encoding="utf-8")

    result = CliRunner().invoke(app, ["tensorboard", "tiny"])

    assert "evil" not in result.stdout


def test_unknown_run_is_a_message(cluster: Cluster) -> None:
    result = CliRunner().invoke(app, ["tensorboard", "none"])

    assert (result.exit_code, result.stdout) == (1, "")
    assert "there is no run none" in result.stderr
