"""Cloud assemblies for tests: the app synthesized in this process, once for each environment file."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slipway.config import load_environment
from slipway.config.environment import Environment
from slipway.config.training import Training

PROJECT = Path(__file__).parent.parent
_SHIPPED = {path.stem: path for path in sorted((PROJECT / "environments").glob("*.yaml"))}
_VARIANTS = {path.stem: path for path in sorted((PROJECT / "tests" / "environments").glob("*.yaml"))}

SHIPPED = tuple(_SHIPPED)
"""Names of the environments that users start from."""

ENVIRONMENT_FILES = {**_SHIPPED, **_VARIANTS}
"""The files of all environments that tests synthesize, by name."""

ENVIRONMENTS = (*SHIPPED, *_VARIANTS)
"""Names of all environments that tests synthesize: the shipped ones, and variants that use what those do not."""

SLURM_ENVIRONMENTS = tuple(
    name for name, path in ENVIRONMENT_FILES.items() if "\ntraining:" in path.read_text(encoding="utf-8")
)
"""Those of them with a Slurm cluster."""

OWN_STORAGE_ENVIRONMENTS = tuple(
    name for name, path in ENVIRONMENT_FILES.items() if "    existing:" not in path.read_text(encoding="utf-8")
)
"""Those whose file systems and buckets are all Slipway's."""

Template = Mapping[str, Any]
Resources = Mapping[str, Any]


def cdk_context() -> dict[str, Any]:
    """The context that the CDK CLI would hand to the app."""
    context: dict[str, Any] = json.loads((PROJECT / "cdk.json").read_text())["context"]
    return context


@dataclass(frozen=True)
class Assembly:
    """One environment, synthesized."""

    environment: Environment
    directory: Path

    @property
    def training(self) -> Training:
        """The environment's Slurm cluster, which it must have."""
        assert self.environment.training
        return self.environment.training

    def template(self, role: str) -> Template:
        """The template of the stack with this role (`network`, `storage`, ...)."""
        template: Template = self.templates()[f"slipway-{self.environment.name}-{role}"]
        return template

    def templates(self) -> dict[str, Template]:
        """All templates by stack name."""
        return {
            path.name.removesuffix(".template.json"): json.loads(path.read_text())
            for path in sorted(self.directory.glob("*.template.json"))
        }

    def resources(self, role: str, resource_type: str) -> Resources:
        """The resources of one type in one stack, by logical id."""
        found: Resources = {
            logical_id: resource
            for logical_id, resource in self.template(role)["Resources"].items()
            if resource["Type"] == resource_type
        }
        return found

    def resource(self, role: str, resource_type: str) -> Any:
        """The properties of the only resource of a type in one stack."""
        resources = self.resources(role, resource_type)
        assert len(resources) == 1, f"{len(resources)} {resource_type} in {role}"
        return next(iter(resources.values()))["Properties"]


def synthesize(environment: Environment, directory: Path) -> Assembly:
    """Synthesize an environment as app.py does, without the security packs (a gate test runs them)."""
    # Imported here: most tests synthesize nothing, and the CDK starts a Node process.
    import aws_cdk as cdk  # noqa: PLC0415

    from slipway_stacks.environment import build_environment  # noqa: PLC0415

    app = cdk.App(context=cdk_context(), outdir=str(directory))
    build_environment(app, environment)
    app.synth()
    return Assembly(environment, directory)


def environment_path(name: str) -> Path:
    """The environment file of this name."""
    return {**_SHIPPED, **_VARIANTS}[name]


def load(name: str) -> Environment:
    """The environment of this name."""
    return load_environment(environment_path(name))
