"""One run of `slipway deploy`: synthesize, look, run the CDK CLI, watch, say what failed first."""

import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import typer

from slipway.assembly.cdk_cli import deployment, explain_failure
from slipway.assembly.choice import FOLDER, NotChosenError, chosen_assembly, own_folder
from slipway.assembly.folder_lock import FolderTakenError
from slipway.assembly.process_groups import ProcessGroup
from slipway.assembly.stacks import ENVIRONMENT_TAG
from slipway.aws.account import Account, open_account
from slipway.aws.refusals import UNANSWERED, words_of
from slipway.aws.stacks import DeployedStack, deployed_stacks
from slipway.errors import FailedError, RefusedError
from slipway.operate.deploy.display import Display
from slipway.operate.deploy.troubleshooting import advice
from slipway.operate.deploy.watch import ABANDONED, Watch
from slipway.project import INSTALLATION, PROJECT, cdk_of
from slipway.remove.scope import Scope, read_scope
from slipway.review.cost.estimate import estimate
from slipway.review.report.wording import duration
from slipway.terminal import screen

POLL_SECONDS = 5.0
"""How often CloudFormation is asked; its API allows a few requests a second in an account."""


def run(environment: str | None, given: Path | None) -> None:
    """Deploy an environment.

    Args:
        environment: name or file of an environment; it is synthesized.
        given: cloud assembly of it, instead: what is deployed is what somebody has planned.

    Raises:
        RefusedError: nothing was changed.
        FailedError: a stack failed.
        KeyboardInterrupt: the user stopped it; its text says what stands.
    """
    cdk = cdk_of(PROJECT)
    if not cdk.exists():
        raise RefusedError(f"{cdk} is missing; `{INSTALLATION}` installs it. Nothing was changed")
    try:
        assembly = chosen_assembly(environment, given, "deploy")
        scope = read_scope(assembly)
        # Nothing is written beside an assembly that somebody else made.
        folder = assembly.parent if given is None else own_folder(FOLDER / "deploy-assembly" / scope.environment)
    except (FolderTakenError, NotChosenError) as error:
        raise RefusedError(str(error)) from error
    account = open_account(scope.region, scope.account)
    try:
        deployed = deployed_stacks(account.client("cloudformation"))
        _refuse(scope, deployed)
        clusters = [cluster.name for cluster in scope.clusters]
        watch = Watch(assembly, scope.stacks, clusters, deployed, account)
    except UNANSWERED as error:
        raise RefusedError(f"AWS does not say what exists: {words_of(error)}. Nothing was changed") from error
    _announce(scope, account, watch)
    again = shlex.join(("slipway", "deploy", *(("-e", environment) if environment else ("--assembly", str(given)))))
    _deploy(again, cdk, assembly, folder, watch)


def _refuse(scope: Scope, deployed: dict[str, DeployedStack]) -> None:
    """Refuse to touch another owner's stack, and one that CloudFormation works on.

    Raises:
        RefusedError: there is one.
    """
    there = [deployed[name] for name in scope.app_stack_names if name in deployed]
    foreign = [stack.name for stack in there if stack.tags.get(ENVIRONMENT_TAG) != scope.environment]
    if foreign:
        raise RefusedError(
            f"{', '.join(foreign)} is deployed, but without the tag of environment {scope.environment!r}: another "
            "owner's stack of the same name. Nothing was changed"
        )
    busy = [
        f"{stack.name} ({stack.status})"
        for stack in there
        if stack.status.endswith("_IN_PROGRESS") and stack.status != ABANDONED
    ]
    if busy:
        raise RefusedError(
            f"CloudFormation still works on {', '.join(busy)}. Run this again when it is done. Nothing was changed"
        )


def _announce(scope: Scope, account: Account, watch: Watch) -> None:
    hourly = estimate(scope.stacks).idle_usd_per_hour
    typer.echo(
        f"environment {scope.environment}: {len(scope.stacks)} stacks to account {account.id}, {scope.region}; about "
        f"{duration(watch.seconds_left)} by mean create times; ${hourly:.2f} an hour when it is idle, by list prices"
    )


def _deploy(again: str, cdk: Path, assembly: Path, folder: Path, watch: Watch) -> None:
    log, outputs = folder / "cdk.log", folder / "outputs.json"
    display = Display(screen(), watch)
    # `--force`: without it the CLI skips a stack that only reads another value from another stack.
    arguments = (*deployment(assembly, outputs), "--force", "--no-notices")
    variables = {**os.environ, "AWS_REGION": watch.region, "CDK_DISABLE_CLI_TELEMETRY": "true"}
    group = ProcessGroup([str(part) for part in (cdk, *arguments)], variables, folder, log)
    try:
        with display.shown():
            code = _watched(group, watch, display)
    except KeyboardInterrupt as interrupt:
        group.end()
        raise KeyboardInterrupt("\n".join(_what_stands(again, watch, log))) from interrupt
    if code:
        raise FailedError(_explained(watch, log))
    typer.echo(f"deployed in {display.elapsed}")
    for stack, values in json.loads(outputs.read_text("utf-8")).items() if outputs.exists() else ():
        typer.echo("\n".join((f"\n{stack}", *(f"  {key}: {value}" for key, value in values.items()))))


def _watched(group: ProcessGroup, watch: Watch, display: Display) -> int:
    while True:
        try:
            code: int | None = group.wait(POLL_SECONDS)
        except subprocess.TimeoutExpired:
            code = None
        try:
            display.news(watch.look())
            display.silence = ""
        except UNANSWERED as error:
            display.silence = f"AWS does not say how far it is: {words_of(error)}"
            display.news(())
        if code is not None:
            return code


def _explained(watch: Watch, log: Path) -> str:
    first = watch.first_failure()
    if first is None:
        said = explain_failure(log.read_text("utf-8", errors="replace"))
        lines = [f"the CDK CLI failed:\n{said}"]
    else:
        said = first.reason
        lines = [f"failed first: {first.stack}/{first.logical_id} ({first.type}), {first.status}: {said}"]
    lines += advice(said)
    return "\n".join((*lines, f"all that the CDK CLI said: {log}"))


def _what_stands(again: str, watch: Watch, log: Path) -> Iterator[str]:
    yield "stopped; what CloudFormation has begun goes on:"
    try:
        watch.look()
    except UNANSWERED as error:
        yield f"  AWS does not say how far it is: {words_of(error)}"
    yield from (f"  {stack.name}: {stack.status or 'not there'}" for stack in watch.stacks)
    yield (
        f"When no stack is IN_PROGRESS, `{again}` continues. What stands bills; "
        f"`{again.replace('deploy', 'destroy', 1)}` deletes it. The CDK CLI's output: {log}"
    )
