"""A real nginx with the container's own script and arguments, in front of an engine that asks for no key."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import httpx2
import openai
import pytest
from moto import mock_aws

from slipway import facts
from slipway.operate.endpoint.keys import Keys
from tests.assembly import PROJECT
from tests.contracts.real_packages import unpacked
from tests.engine_task_stack import container, environment, synthesized
from tests.operate.rotate_key.account import Account, rotate

pytestmark = pytest.mark.contract

OLD, NEW, PREVIOUS_ONE = "Sesame-0pen", "a.b+C/d_e~==", "G0ne"
Proxy = Callable[[str], str]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


@pytest.fixture(scope="module")
def engine_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A stand-in engine without a key."""
    template, row = synthesized("vllm-hf", with_key=True), facts.inference_engine("vllm-hf")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port, number = listener.getsockname()[1], listener.fileno()
        log = tmp_path_factory.mktemp("engine") / "log"
        own = ("--engine", "vllm-hf", "--published-port", str(row.port), "--listener", str(number), "--log", str(log))
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.endpoint.stand_in_engine", *own, "--scale", "1"],
            cwd=PROJECT,
            env={name: value for name, value in environment(template).items() if isinstance(value, str)}
            | {"PATH": os.environ["PATH"]},
            pass_fds=(number,),
        )
    with _ended(process):
        yield port


@pytest.fixture
def proxy(engine_port: int, tmp_path: Path) -> Iterator[Proxy]:
    """Start the proxy with a secret's text; returns its address when it is healthy."""
    running = list[subprocess.Popen[bytes]]()

    def start(keys: str) -> str:
        process, address = _start(keys, engine_port, tmp_path)
        running.append(process)
        for _ in range(600):
            assert process.poll() is None, (tmp_path / "log").read_text()
            try:
                if httpx2.get(f"{address}/health", verify=False).status_code == 200:
                    return address
            except httpx2.TransportError:
                pass
            time.sleep(0.1)
        raise AssertionError((tmp_path / "log").read_text())

    yield start
    for process in running:
        with _ended(process):
            pass


def _start(keys: str, engine_port: int, directory: Path) -> tuple[subprocess.Popen[bytes], str]:
    described = container(synthesized("vllm-hf", with_key=True), "Proxy")
    [variable] = [secret["Name"] for secret in described["Secrets"]]
    _, _, health_path, seconds = described["Command"]
    port, root = _free_port(), unpacked("debian") / "root"
    # As in the task, but on loopback, and with the ports that are free here.
    arguments = [f"127.0.0.1:{port}", str(engine_port), health_path, seconds]
    with (directory / "log").open("ab") as log:
        process = subprocess.Popen(
            [*described["EntryPoint"], *arguments],
            env={"PATH": f"{root / 'usr/sbin'}:/usr/bin:/bin", "TMPDIR": str(directory), variable: keys},
            stderr=log,
        )
    return process, f"https://127.0.0.1:{port}"


def client(address: str, key: str) -> openai.OpenAI:
    http_client = openai.DefaultHttpxClient(verify=False, trust_env=False)
    return openai.OpenAI(base_url=f"{address}/v1", api_key=key, http_client=http_client, max_retries=0)


def opens(address: str, key: str) -> bool:
    try:
        return bool(client(address, key).models.list().data)
    except openai.AuthenticationError:
        return False


def test_both_keys_are_valid_during_a_rotation_and_one_after_it(proxy: Proxy) -> None:
    """Engines took one key: one of the two got 401."""
    begun, rotated, finished = Keys(OLD, coming=NEW), Keys(NEW, previous=OLD), Keys(NEW)

    for keys, valid in ((Keys(OLD), {OLD}), (begun, {OLD, NEW}), (rotated, {OLD, NEW}), (finished, {NEW})):
        address = proxy(keys.text)
        assert {key for key in (OLD, NEW, PREVIOUS_ONE) if opens(address, key)} == valid


def test_no_client_is_shut_out_by_the_command_that_rotates(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks of before and after run side by side while they are replaced; clients change when they like."""
    with mock_aws():
        account = Account(monkeypatch)
        account.deploy()
        results = rotate(), rotate("--finish")
        assert [result.exit_code for result in results] == [0, 0], results
        both, only_new = account.seen_by_tasks
    rotated = Keys.of(only_new).current

    assert opens(proxy(OLD), OLD)
    assert all(opens(proxy(both), key) for key in (OLD, rotated))
    assert opens(proxy(only_new), rotated)
    assert not opens(proxy(only_new), OLD)


@pytest.mark.parametrize("header", [f"bearer {OLD}", f"BEARER {OLD}", f"Bearer   {OLD}", f"Bearer {OLD} "])
def test_the_scheme_has_no_case_and_spaces_may_surround_a_key(proxy: Proxy, header: str) -> None:
    """RFC 9110, sections 5.5 and 11.4; TGI took a scheme in any case as well."""
    assert _status(proxy(f"{NEW},{OLD}"), f"Authorization: {header}") == 200


@pytest.mark.parametrize(
    "headers",
    [
        ["Authorization: Bearer "],
        ["Authorization:"],
        ["Authorization: Bearer\t" + OLD],
        [f"Authorization: Bearer{OLD}"],
        [f"Authorization: Bearer {OLD}, Bearer {NEW}"],
        [f"Authorization: Bearer {OLD}", "Authorization: Bearer wrong"],
        ["Authorization: Bearer wrong", f"Authorization: Bearer {OLD}"],
        [f"Authorization: Bearer {OLD}", f"Authorization: Bearer {OLD}"],
        [f"X-Authorization: Bearer {OLD}"],
        [f"Authorization : Bearer {OLD}"],
    ],
)
def test_a_header_that_clients_never_send_opens_nothing(proxy: Proxy, headers: list[str]) -> None:
    assert _status(proxy(OLD), *headers) in (400, 401)


def _status(address: str, *headers: str) -> int:
    """Return the answer's status to headers as they are: HTTP clients correct them."""
    host, _, port = address.removeprefix("https://").partition(":")
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    lines = ["GET /v1/models HTTP/1.1", "Host: engine", "Connection: close", *headers, "", ""]
    with socket.create_connection((host, int(port)), 30) as plain, context.wrap_socket(plain) as connection:
        connection.sendall("\r\n".join(lines).encode())
        return int(connection.makefile("rb").readline().split()[1])


@pytest.mark.parametrize("text", [OLD, f"{OLD},{NEW}", f"{OLD},,{NEW}"])
def test_nothing_but_a_whole_key_opens(proxy: Proxy, text: str) -> None:
    address = proxy(text)
    wrong = ["", "Bearer", OLD, f"Bearer {OLD.swapcase()}", f"Bearer {OLD[:-1]}", f"Bearer {OLD}x"]
    wrong += [f"Bearer {text},", f"Bearer {NEW.replace('.', 'x')}", "Bearer ,", f"Basic {OLD}", "Bearer .*"]

    for path in ("/v1/models", "/metrics", "/health/", "/v1/../metrics", "/"):
        for header in wrong:
            answer = httpx2.get(f"{address}{path}", headers={"Authorization": header} if header else {}, verify=False)
            assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_api_key"), (path, header)


def test_the_health_check_needs_no_key_and_leads_nowhere_else(proxy: Proxy) -> None:
    address = proxy(OLD)
    assert httpx2.get(f"{address}/health", verify=False).json() == {"path": "/health"}
    raw = httpx2.URL(f"{address}/").copy_with(raw_path=b"/v1/models/../../health")
    assert httpx2.get(raw, verify=False).json() == {"path": "/health"}


def test_an_answer_comes_word_by_word(proxy: Proxy) -> None:
    asking = client(proxy(OLD), OLD)
    model = asking.models.list().data[0].id
    pace = {"stand_in": {"tokens": 6, "seconds_per_token": 0.3}}
    arrivals = [
        time.monotonic()
        for chunk in asking.completions.create(model=model, prompt="x", stream=True, extra_body=pace)
        if chunk.choices and chunk.choices[0].text
    ]
    assert len(arrivals) == 6
    assert all(later - earlier > 0.1 for earlier, later in pairwise(arrivals))


def test_a_long_prompt_passes(proxy: Proxy) -> None:
    asking = client(proxy(OLD), OLD)
    model = asking.models.list().data[0].id
    answer = asking.completions.create(model=model, prompt="x " * 2_000_000, max_tokens=1)
    assert answer.usage is not None
    assert answer.usage.prompt_tokens > 1_000_000


def test_it_speaks_tls_only_and_each_task_has_a_certificate_of_its_own(proxy: Proxy) -> None:
    def certificate(address: str) -> str:
        return ssl.get_server_certificate(("127.0.0.1", int(address.rpartition(":")[2])))

    first, second = proxy(OLD), proxy(OLD)
    assert certificate(first) != certificate(second)
    assert httpx2.get(first.replace("https", "http")).status_code == 400


@pytest.mark.parametrize(
    ("text", "said"), [("", "is empty"), (",,", "is empty"), ('x"~. 1; #', "RFC 6750"), ("two words", "RFC 6750")]
)
def test_a_secret_that_is_no_key_stops_the_task(engine_port: int, tmp_path: Path, text: str, said: str) -> None:
    process, _ = _start(text, engine_port, tmp_path)
    assert process.wait(60) == 1
    log = (tmp_path / "log").read_text()
    assert said in log
    assert not text or text not in log
