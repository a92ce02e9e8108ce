#!/usr/bin/env python3
"""Slipway's CDK entry point: one environment file becomes five stacks."""

import sys
from pathlib import Path

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks, NIST80053R5Checks

from slipway.spec import InvalidEnvironment, load_environment
from stacks.environment import build_environment

PROJECT = Path(__file__).parent


def environment_file(choice: str) -> Path:
    """Return the file that `-c environment=...` names: a path when it ends in .yaml, else a file in environments/."""
    return Path(choice) if choice.endswith(".yaml") else PROJECT / "environments" / f"{choice}.yaml"


def main() -> int:
    """Synthesize the chosen environment; print every problem of its file and return 1 if it has any."""
    app = cdk.App()
    try:
        environment = load_environment(environment_file(app.node.try_get_context("environment") or "default"))
    except InvalidEnvironment as invalid:
        print(invalid, file=sys.stderr)
        return 1
    build_environment(app, environment)
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app), NIST80053R5Checks(app))
    app.synth()
    return 0


if __name__ == "__main__":
    sys.exit(main())
