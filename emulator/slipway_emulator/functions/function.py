"""A Lambda function as the emulator keeps it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_SHORTEST_TIMEOUT = 60
"""Seconds. Lambda's default of 3 is meant for a warm sandbox, not for a process that starts beside five others."""


@dataclass(frozen=True)
class LambdaFunction:
    """A function and the template properties that decide how it runs."""

    arn: str
    name: str
    region: str
    properties: Mapping[str, Any]

    @property
    def runtime(self) -> str:
        """Such as ``python3.12`` or ``nodejs22.x``."""
        return str(self.properties["Runtime"])

    @property
    def handler(self) -> str:
        """``module.function``."""
        return str(self.properties["Handler"])

    @property
    def role(self) -> str:
        """ARN of the role that it runs as."""
        return str(self.properties["Role"])

    @property
    def timeout(self) -> int:
        """Seconds after which the process is ended."""
        return max(int(self.properties.get("Timeout", 3)), _SHORTEST_TIMEOUT)

    @property
    def environment(self) -> dict[str, str]:
        """The function's own variables."""
        variables = self.properties.get("Environment", {}).get("Variables", {})
        return {name: str(value) for name, value in variables.items()}

    @property
    def layers(self) -> list[str]:
        """ARNs of layer versions, first applied first."""
        return list(self.properties.get("Layers", []))

    @property
    def log_group(self) -> str:
        """Where Lambda writes the function's log; it creates the group when it does not exist."""
        configured = self.properties.get("LoggingConfig", {}).get("LogGroup")
        return str(configured or f"/aws/lambda/{self.name}")


@dataclass(frozen=True)
class Layer:
    """A layer version: where its archive is."""

    arn: str
    bucket: str
    key: str
    region: str
