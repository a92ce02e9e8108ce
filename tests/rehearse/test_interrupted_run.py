"""Ctrl-C in the middle of a real deployment: nothing of it goes on."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from slipway.project import PROJECT
from slipway.rehearse.ledger import Ledger
from slipway.rehearse.report import Report
from tests.rehearse.fakes import processes_left_in, wait_until

pytestmark = pytest.mark.rehearsal


def test_ctrl_c_during_a_deployment_leaves_no_process(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    ledger = Ledger(folder / "emulator" / "ledger.jsonl")

    def functions_run() -> bool:
        assert process.poll() is None, "the rehearsal ended before its functions were there"
        ledger.poll()
        return any(entry.backing == "lambda" for entry in ledger.resources())

    command = (sys.executable, "-m", "slipway", "rehearse", "--environment", "small", "--directory", tmp_path)
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.DEVNULL) as process:
        try:
            wait_until(functions_run, seconds=600)
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
        finally:
            process.kill()
    assert processes_left_in(folder) == []
    report = Report.model_validate_json((folder / "report.json").read_text(encoding="utf-8"))
    assert report.outcome == "interrupted"
    assert report.phases[-1].name == "deploy"
