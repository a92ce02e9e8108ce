"""One run of `slipway destroy`: synthesize, look, ask, do, look again."""

import shlex
from dataclasses import dataclass, fields
from pathlib import Path

import typer

from slipway.assembly.choice import NotChosenError, chosen_assembly
from slipway.aws.account import Account, open_account
from slipway.aws.refusals import UNANSWERED, words_of
from slipway.errors import FailedError, RefusedError
from slipway.project import PROJECT
from slipway.remove.scope import Scope, read_scope
from slipway.remove.teardown.announcement import announcement
from slipway.remove.teardown.inspection import Inspection, inspect
from slipway.remove.teardown.programs import Programs
from slipway.remove.teardown.teardown import Teardown


@dataclass(frozen=True)
class Answers:
    """What the command line answers beforehand.

    Attributes:
        yes: ask nothing.
        with_running_jobs: running jobs do not stop it.
        without_export: files that are not in their bucket yet, or may not be, do not stop it either.
        unprotect: take termination protection, and the load balancers' deletion protection, off.
    """

    yes: bool
    with_running_jobs: bool
    without_export: bool
    unprotect: bool


def run(environment: str | None, assembly: Path | None, answers: Answers, *, node_timeout_seconds: float) -> None:
    """Destroy an environment.

    Args:
        environment: name or file of an environment; it is synthesized.
        assembly: cloud assembly of it, instead.
        answers: what the command line answers beforehand.
        node_timeout_seconds: longest wait for compute nodes to terminate.

    Raises:
        RefusedError: nothing was changed.
        FailedError: something still exists that should not.
        UnprovenError: nothing else does, but AWS did not let everything be looked at.
        KeyboardInterrupt: the user stopped it; its text says how to go on.
    """
    programs = Programs.of_project(PROJECT)
    try:
        folder = chosen_assembly(environment, assembly, "destroy", despite_findings=True)
    except NotChosenError as error:
        raise RefusedError(str(error)) from error
    scope = read_scope(folder)
    account = open_account(scope.region, scope.account)
    try:
        found = inspect(scope, account)
    except UNANSWERED as error:
        raise RefusedError(f"AWS does not say what exists: {words_of(error)}. Nothing was changed") from error
    teardown = Teardown(scope, found, account, programs, folder, node_timeout_seconds, typer.echo)
    if not found.found_nothing:
        _confirm(scope, found, account, answers)
    try:
        if found.found_nothing:
            typer.echo(
                f"nothing of environment {scope.environment} is deployed in account {account.id}, {scope.region}: it "
                "is destroyed, or these credentials are another account's. Looking for what it left"
            )
            _finish(teardown, answers)
        else:
            _destroy(teardown)
    except UNANSWERED as error:
        raise FailedError(f"AWS does not answer, or refuses: {words_of(error)}. Run this again") from error
    except KeyboardInterrupt as interrupt:
        again = shlex.join(_command(environment, assembly, answers))
        raise KeyboardInterrupt(f"stopped; what CloudFormation has begun goes on. `{again}` finishes it") from interrupt


def _command(environment: str | None, assembly: Path | None, answers: Answers) -> list[str]:
    """Return what a user types to go on."""
    words = ["slipway", "destroy", *(("-e", environment) if environment else ("--assembly", str(assembly)))]
    return words + [f"--{each.name.replace('_', '-')}" for each in fields(answers) if getattr(answers, each.name)]


def _confirm(scope: Scope, found: Inspection, account: Account, answers: Answers) -> None:
    """Say what will happen, and ask.

    Raises:
        RefusedError: the answer is no, or a flag is missing.
    """
    typer.echo("\n".join(announcement(scope, found, account)) + "\n")
    _refuse_what_kubernetes_made(found)
    if not answers.unprotect:
        _refuse_protected(found)
    _refuse_losses(found, answers)
    if answers.yes:
        return
    try:
        if scope.deletes_data:
            confirmed = typer.prompt(f"Data will be lost. Type the environment's name ({scope.environment})")
            agreed = confirmed == scope.environment
        else:
            agreed = typer.confirm("Destroy it?")
    except typer.Abort as error:
        raise RefusedError("no answer; --yes asks nothing. Nothing was changed") from error
    if not agreed:
        raise RefusedError("not confirmed. Nothing was changed")


def _refuse_losses(found: Inspection, answers: Answers) -> None:
    """Refuse to end jobs, and to delete files that are nowhere else, for which no flag was given.

    Raises:
        RefusedError: a flag is missing; the message names all that are.
    """
    said = []
    if not answers.with_running_jobs:
        if found.running_jobs:
            named = ", ".join(f"{job.id} of {job.user}" for job in found.running_jobs)
            said.append(f"jobs run ({named}): wait for them, or use --with-running-jobs")
        if found.probably_busy:
            said.append(
                f"compute nodes of {', '.join(found.probably_busy)} are there, and probably jobs on them (run `squeue` "
                "on the head node): wait for them, or use --with-running-jobs"
            )
    if not answers.without_export:
        said += [
            f"{'; '.join((*export.pending, *export.unknown))}: fix that, or use --without-export"
            for export in found.exports
            if not export.done
        ]
    if said:
        raise RefusedError("\n".join((*said, "Nothing was changed")))


def _refuse_protected(found: Inspection) -> None:
    said = [f"{name} has termination protection" for name in found.protected]
    said += [f"load balancer {arn.split('/')[-2]} has deletion protection" for arn in found.protected_load_balancers]
    if said:
        raise RefusedError(f"{', '.join(said)}; --unprotect takes it off. Nothing was changed")


def _refuse_what_kubernetes_made(found: Inspection) -> None:
    """Refuse what would outlive its cluster. Interfaces that nothing uses, and groups, go afterwards.

    Raises:
        RefusedError: there is a load balancer or a volume.
    """
    said = [
        f"{made} was made by the Kubernetes cluster {cluster}"
        for cluster, all_made in found.made_by_kubernetes.items()
        for made in all_made
        if "load balancer" in made.kind or made.kind == "volume"
    ]
    if said:
        raise RefusedError(
            f"{'; '.join(said)}: no stack deletes that. Delete the Service or the PersistentVolumeClaim that it is of "
            "(`kubectl get service,persistentvolumeclaim --all-namespaces`). Nothing was changed"
        )


def _destroy(teardown: Teardown) -> None:
    teardown.empty_clusters()
    teardown.end_job_nodes()
    teardown.end_inference()
    teardown.take_protection_off()
    # Now, not when it was looked: somebody may have made one in the hour that nodes took to terminate.
    backups = teardown.backups_so_far()
    teardown.delete_stacks()
    teardown.sweep_after_kubernetes()
    teardown.delete_last_backups(backups)
    teardown.delete_log_groups(teardown.left_log_groups())
    teardown.verify()
    typer.echo(f"environment {teardown.scope.environment} is destroyed")


def _finish(teardown: Teardown, answers: Answers) -> None:
    """Delete the log groups that an interrupted teardown left, and look at the rest."""
    left = teardown.left_log_groups()
    for name in left:
        typer.echo(f"log group {name} is left")
    try:
        agreed = bool(left) and (answers.yes or typer.confirm("Delete these log groups?"))
    except typer.Abort:
        agreed = False
    if agreed:
        teardown.delete_log_groups(left)
    teardown.verify()
