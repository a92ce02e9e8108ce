"""Stand-ins for the CDK CLI and the emulator: programs that do what a test wrote down for them."""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from slipway.rehearse.assembly import Assembly
from slipway.rehearse.session import Subject
from slipway.rehearse.toolchain import Toolchain

REGION = "us-west-2"
Line = dict[str, Any]

_CDK = '''#!{python}
"""Does the next step of steps.json and notes how it was called."""
import json, os, pathlib, subprocess, sys, time
here = pathlib.Path(__file__).parent
steps = json.loads((here / "steps.json").read_text())
calls = here / "calls.jsonl"
number = len(calls.read_text().splitlines()) if calls.exists() else 0
with calls.open("a") as file:
    file.write(json.dumps({{"arguments": sys.argv[1:], "variables": dict(os.environ)}}) + "\\n")
step = steps[number]
if sys.argv[1] != step["command"]:
    sys.exit(f"step {{number}} is {{step['command']}}, not {{sys.argv[1]}}")
print(step["output"], flush=True)
option = lambda name: pathlib.Path(sys.argv[sys.argv.index(name) + 1])
if step["assembly"] is not None:
    folder = option("--output")
    folder.mkdir()
    for name, text in step["assembly"].items():
        (folder / name).write_text(text)
if "--outputs-file" in sys.argv:
    option("--outputs-file").write_text(json.dumps(step["outputs"]))
ledger = pathlib.Path(os.environ["HOME"]).parent / "emulator" / "ledger.jsonl"
if step["ledger"]:
    with ledger.open("a") as file:
        file.writelines(json.dumps(line) + "\\n" for line in step["ledger"])
if step["hang"]:
    subprocess.Popen(["sleep", "600"])
    (here / "hangs").touch()
    time.sleep(600)
sys.exit(step["exit_code"])
'''

_EMULATOR = '''
"""Says that it listens, then waits to be stopped."""
import json, os, pathlib, sys, time
folder = pathlib.Path(sys.argv[sys.argv.index("--directory") + 1])
folder.mkdir(parents=True)
(folder / "ledger.jsonl").touch()
print("a line that is no answer", flush=True)
print(json.dumps({"port": 4, "pid": os.getpid()}), flush=True)
time.sleep(600)
'''


class NoRoles:
    """No roles of a deployment: behind the fake emulator is no IAM. tests/rehearse/test_deploy_roles.py has them."""

    def __init__(self, _: Assembly) -> None:
        """Read nothing."""

    def make_execution_policies(self) -> list[str]:
        """Make none."""
        return ["arn:aws:iam::123456789012:policy/deploy-slipway-default-execution-1"]

    def attach_execution_policies(self, arns: list[str]) -> None:
        """Attach none."""

    def limit_deploy_role(self) -> None:
        """Limit none."""

    def make_deployer(self) -> dict[str, str]:
        """Make none."""
        return {"AWS_ACCESS_KEY_ID": "deployer"}


class FakeCdk:
    """A CDK CLI that does the given steps, one for each call."""

    def __init__(self, folder: Path) -> None:
        """Write the program."""
        folder.mkdir(parents=True)
        self._folder = folder
        self.program = folder / "cdk"
        self.program.write_text(_CDK.format(python=sys.executable), encoding="utf-8")
        self.program.chmod(0o755)
        self._steps: list[dict[str, Any]] = []

    def then(
        self,
        command: str,
        *,
        output: str = "",
        exit_code: int = 0,
        ledger: Sequence[Line] = (),
        assembly: Mapping[str, str] | None = None,
        outputs: Mapping[str, Mapping[str, str]] | None = None,
        hang: bool = False,
    ) -> None:
        """Add a step: what the command prints, writes into the ledger and ends with."""
        step = {"command": command, "output": output, "exit_code": exit_code, "ledger": list(ledger), "hang": hang}
        self._steps.append(step | {"assembly": assembly, "outputs": outputs or {}})
        (self._folder / "steps.json").write_text(json.dumps(self._steps), encoding="utf-8")

    @property
    def hangs(self) -> bool:
        """Whether a step that hangs was reached."""
        return (self._folder / "hangs").exists()

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The arguments and variables of every call."""
        text = (self._folder / "calls.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]


def fake_toolchain(folder: Path, cdk: Path, emulator: str = _EMULATOR) -> Toolchain:
    """Programs of which none is real."""
    program = folder / "emulator.py"
    program.write_text(emulator, encoding="utf-8")
    return Toolchain(
        project=folder,
        cdk=cdk,
        emulator=(sys.executable, program),
        executables=Path(sys.executable).parent,
        parallelcluster_python=Path(sys.executable),
        node_modules=folder,
    )


def assembly_files(templates: Mapping[str, Mapping[str, Any]], *, protected: Sequence[str] = ()) -> dict[str, str]:
    """The files of a cloud assembly with these templates: logical id -> resource, by stack."""
    artifacts = {
        name: {
            "type": "aws:cloudformation:stack",
            "environment": f"aws://unknown-account/{REGION}",
            "properties": {"templateFile": f"{name}.json", "terminationProtection": name in protected},
        }
        for name in templates
    }
    manifest = {"version": "48.0.0", "artifacts": artifacts}
    files = {f"{name}.json": json.dumps({"Resources": resources}) for name, resources in templates.items()}
    return {"manifest.json": json.dumps(manifest), **files}


def resource(action: str, stack: str, logical_id: str, type_: str = "AWS::SNS::Topic", **more: Any) -> Line:
    """A ledger line about a resource."""
    line = {"kind": "resource", "action": action, "stack": stack, "logical_id": logical_id, "type": type_}
    return {**line, "backing": "api", "physical_id": f"{stack}-{logical_id}", **more}


ENVIRONMENT = Path(__file__).parents[2] / "environments" / "default.yaml"


def subject(*, keeps_data: bool = False) -> Subject:
    """The default environment."""
    return Subject("default", ENVIRONMENT, keeps_data=keeps_data)


def processes_in(folder: Path) -> list[str]:
    """Command lines of the running processes that were started with something in the folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            seen = (process / "cmdline").read_text(errors="replace") + (process / "environ").read_text(errors="replace")
            command = (process / "cmdline").read_text(errors="replace").replace("\0", " ")
        except OSError:
            continue
        if str(folder) in seen and process.name != str(os.getpid()):
            found.append(command)
    return found


def processes_left_in(folder: Path, seconds: float = 5.0) -> list[str]:
    """Wait until `processes_in` finds none, and return those that are left: a killed process does not end at once."""
    deadline = time.monotonic() + seconds
    while (found := processes_in(folder)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait for something that another process does."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"it did not come to this within {seconds:.0f} s"
        time.sleep(0.05)
