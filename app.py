#!/usr/bin/env python3
"""Slipway's CDK entry point: one environment file becomes five stacks."""

import sys
from pathlib import Path

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks, NIST80053R5Checks

from slipway.spec import InvalidEnvironment, Problem, load_with_notices
from stacks.cluster_validation import ClusterRules
from stacks.cost_ceiling import CostCeiling
from stacks.environment import build_environment

PROJECT = Path(__file__).parent


def environment_file(choice: str) -> Path:
    """Return the file that `-c environment=...` names: a path when it ends in .yaml, else a file in environments/."""
    return Path(choice) if choice.endswith(".yaml") else PROJECT / "environments" / f"{choice}.yaml"


def warn_of(notices: list[Problem], app: cdk.App) -> None:
    """Have the CDK CLI print each notice as a warning, of which `--strict` makes an error.

    They hang on the first stack: the CLI does not read annotations of the app itself.
    """
    stack = next(child for child in app.node.children if cdk.Stack.is_stack(child))
    for notice in notices:
        cdk.Annotations.of(stack).add_warning_v2(f"slipway:{notice.rule}", str(notice))


def main() -> int:
    """Synthesize the chosen environment; print every problem of its file and return 1 if it has any."""
    app = cdk.App()
    file = environment_file(app.node.try_get_context("environment") or "default")
    try:
        environment, notices = load_with_notices(file)
    except InvalidEnvironment as invalid:
        print(invalid, file=sys.stderr)
        return 1
    build_environment(app, environment)
    warn_of(notices, app)
    cdk.Validations.of(app).add_plugins(
        AwsSolutionsChecks(app), NIST80053R5Checks(app), ClusterRules(), CostCeiling(file, environment)
    )
    app.synth()
    return 0


if __name__ == "__main__":
    sys.exit(main())
