"""What a published model is for: a deployed endpoint on the emulator, and the answer that a client of it gets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from slipway.operate.roll_out import update
from tests.assembly import PROJECT
from tests.emulator.running import RunningEmulator
from tests.endpoint.running_endpoint import running_endpoint
from tests.endpoint.stack_values import rolled_out_parameters


@contextmanager
def emulated_account(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningEmulator]:
    """Run the emulator, and have this process's AWS clients ask it."""
    emulator = RunningEmulator(folder / "emulator", ("--node-modules", str(PROJECT / "node_modules")))
    monkeypatch.setattr(update, "POLL_SECONDS", 0.05)
    (folder / "config").write_text("[default]\ns3 =\n  addressing_style = path\n")
    for name, value in {
        "AWS_ENDPOINT_URL": emulator.endpoint,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_CONFIG_FILE": str(folder / "config"),
    }.items():
        monkeypatch.setenv(name, value)
    yield emulator
    assert emulator.stop() == 0


def answer(template: Mapping[str, Any], model: str, served: str, folder: Path) -> str:
    """Return what openai's client is answered through the rules of a synthesized template.

    Args:
        template: the inference stack's.
        model: its name.
        served: what the stack's parameter says after a roll-out: the tasks of the template serve it.
        folder: for certificates and logs.
    """
    parameters = {rolled_out_parameters(template)[model]["served"]: served}
    with running_endpoint(template, folder, parameters=parameters) as running:
        client = running.client(model)
        assert client.models.list().data[0].id == running.model_id(model)
        completion = client.chat.completions.create(
            model=running.model_id(model), messages=[{"role": "user", "content": "Hello"}], max_tokens=8
        )
        return completion.choices[0].message.content or ""
