"""The CDK app: one environment file becomes four to six stacks."""

import json
import sys
from collections.abc import Callable

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks, HIPAASecurityChecks, NIST80053R5Checks, PCIDSS321Checks

from slipway.assembly.environment_files import WrongChoiceError, environment_file
from slipway.bundle import BUNDLE
from slipway.config import InvalidEnvironment, Problem, load_with_notices
from slipway_stacks.environment import build_environment
from slipway_stacks.validation.clusters import cluster_rules
from slipway_stacks.validation.cost_ceiling import cost_ceiling
from slipway_stacks.validation.wiring import wiring_rules

DEFAULT = "default"
"""The environment of a `cdk` command without `-c environment=...`."""


def warn_of(notices: list[Problem], app: cdk.App) -> None:
    """Have the CDK CLI print each notice as a warning, of which `--strict` makes an error.

    They hang on the first stack: the CLI does not read annotations of the app itself.
    """
    stack = next(child for child in app.node.children if cdk.Stack.is_stack(child))
    for notice in notices:
        cdk.Annotations.of(stack).add_warning_v2(f"slipway:{notice.rule}", str(notice))


def main(change: Callable[[cdk.App], None] | None = None) -> int:
    """Synthesize the environment of `-c environment=NAME` and return the exit code.

    Args:
        change: what your repository changes in the app before it is synthesized: it acknowledges a warning, or adds a
            stack of your own.

    Returns:
        0: done; 1: the environment file has problems, all printed; 2: `-c environment=` names no environment.
    """
    # The feature flags that the templates are tested with: a repository that uses the wheel has none in its cdk.json.
    app = cdk.App(context=json.loads((BUNDLE / "cdk.json").read_text("utf-8"))["context"])
    choice = app.node.try_get_context("environment")
    try:
        # An empty name is none: `-c environment=$NAME` with a variable that is not set must not mean another one.
        file = environment_file(DEFAULT if choice is None else str(choice))
        environment, notices = load_with_notices(file)
    except WrongChoiceError as wrong:
        print(f"-c environment={choice}: {wrong}", file=sys.stderr)
        return 2
    except InvalidEnvironment as invalid:
        print(invalid, file=sys.stderr)
        return 1
    build_environment(app, environment)
    warn_of(notices, app)
    cdk.Validations.of(app).add_plugins(
        AwsSolutionsChecks(app),
        NIST80053R5Checks(app),
        HIPAASecurityChecks(app),
        PCIDSS321Checks(app),
        cluster_rules(),
        wiring_rules(),
        cost_ceiling(file, environment),
    )
    if change:
        change(app)
    app.synth()
    return 0
