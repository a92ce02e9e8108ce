"""Run `slipway endpoint` and read what it says."""

import json
from dataclasses import dataclass
from typing import Any

from typer.testing import CliRunner, Result

from slipway.cli import app


def endpoint(*arguments: object, environment: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(app, ["endpoint", *map(str, arguments)], env=environment)


@dataclass(frozen=True)
class Checked:
    """A report of the checks: exit code, and each check by name."""

    exit_code: int
    checks: dict[str, dict[str, Any]]
    output: str

    def found(self, name: str) -> str:
        return str(self.checks[name]["found"])

    def result(self, name: str) -> str:
        return str(self.checks[name]["result"])

    @property
    def failed(self) -> list[str]:
        return [name for name, check in self.checks.items() if check["result"] == "failed"]

    @property
    def skipped(self) -> list[str]:
        return [name for name, check in self.checks.items() if check["result"] == "skipped"]


def check(url: str, *arguments: object, key: str = "") -> Checked:
    """Check an endpoint for machines."""
    result = endpoint("check", "--url", url, "--json", *arguments, environment={"OPENAI_API_KEY": key})
    assert result.exit_code in (0, 1), result.output
    [found] = json.loads(result.stdout)["endpoints"]
    assert all(one["advice"] for one in found["checks"] if one["result"] == "failed")
    return Checked(result.exit_code, {one["check"]: one for one in found["checks"]}, result.output)
