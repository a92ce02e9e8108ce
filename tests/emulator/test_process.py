"""The emulator as a process: what it listens on, what it leaves."""

import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tests.emulator.running import RunningEmulator, is_alive, template
from tests.emulator.test_functions import stack

_SECONDS = 20
SLEEPER = """
    import os, pathlib, time

    def handler(event, context):
        pathlib.Path(os.environ["TMPDIR"], "sleeper").write_text(str(os.getpid()))
        time.sleep(600)
"""


def wait_for(path: Path) -> str:
    deadline = time.monotonic() + _SECONDS
    while not (path.exists() and path.read_text(encoding="utf-8")):
        assert time.monotonic() < deadline, f"{path} did not appear"
        time.sleep(0.05)
    return path.read_text(encoding="utf-8")


def wait_for_end(pid: int) -> None:
    deadline = time.monotonic() + _SECONDS
    while is_alive(pid):
        assert time.monotonic() < deadline, f"process {pid} is still there"
        time.sleep(0.05)


def start_sleeper(running: RunningEmulator) -> int:
    running.cloudformation.create_stack(StackName="sleeper", TemplateBody=template(stack(SLEEPER, Timeout=600)))
    return int(wait_for(running.directory / "tmp" / "sleeper"))


def test_sigterm_ends_it_with_its_children_and_its_temporary_files(tmp_path: Path) -> None:
    directory, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    elsewhere.mkdir()
    running = RunningEmulator(directory, environment={"TMPDIR": str(elsewhere), "HOME": str(elsewhere)})
    sleeper = start_sleeper(running)
    assert running.stop() == 0
    wait_for_end(sleeper)
    assert {path.name for path in directory.iterdir()} == {
        "emulator.log",
        "home",
        "lambda",
        "ledger.jsonl",
        "permissions.jsonl",
    }
    assert list(elsewhere.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent")
def test_children_die_with_a_killed_emulator(tmp_path: Path) -> None:
    running = RunningEmulator(tmp_path)
    sleeper = start_sleeper(running)
    running.process.kill()
    running.process.wait()
    wait_for_end(sleeper)


def test_it_listens_on_loopback_only(emulator: RunningEmulator) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # sends nothing; tells the address of this machine
        own_address = probe.getsockname()[0]
    if own_address.startswith("127."):
        pytest.skip("this machine has no address but loopback")
    with pytest.raises(OSError, match=r"refused|timed out|unreachable"):
        socket.create_connection((own_address, emulator.port), timeout=2)


def test_taken_port_is_said_in_a_sentence(emulator: RunningEmulator, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "slipway_emulator", "--directory", str(tmp_path)]
    finished = subprocess.run(
        [*command, "--region", "us-west-2", "--port", str(emulator.port)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert finished.returncode == 1
    assert finished.stderr.startswith(f"cannot listen on 127.0.0.1:{emulator.port}: ")
    assert "Traceback" not in finished.stderr


def test_guard_refuses_everything_but_loopback() -> None:
    program = textwrap.dedent("""
        import socket
        from slipway_emulator.functions.runtime import loopback_only
        loopback_only.install()
        for host in ("192.0.2.1", "example.com"):
            try:
                socket.create_connection((host, 80), timeout=1)
            except loopback_only.NotLoopbackError as error:
                print(error)
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname()).close()
            socket.create_connection(("localhost", server.getsockname()[1])).close()
        print("loopback works")
    """)
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == [
        "the rehearsal talks to loopback only; refused: 192.0.2.1",
        "the rehearsal talks to loopback only; refused: example.com",
        "loopback works",
    ]


def test_deviations_and_seeds_are_written_down(emulator: RunningEmulator) -> None:
    assert all(entry["name"] and entry["why"] for entry in emulator.ledger(kind="deviation"))
    assert "s3-bucket-policy-conditions" in {entry["name"] for entry in emulator.ledger(kind="deviation")}
    seeded = " ".join(entry["what"] for entry in emulator.ledger(kind="seed"))
    assert "aws-parallelcluster-3.16.1-amzn2023" in seeded
    assert "s3://us-west-2-aws-parallelcluster" in seeded
