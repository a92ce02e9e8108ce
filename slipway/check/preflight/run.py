"""One run of `slipway preflight`: synthesize, ask, report."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import typer
from botocore.exceptions import BotoCoreError
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

import slipway.check.preflight.checks  # noqa: F401 - importing it registers the checks
from slipway.assembly.choice import NotChosenError, chosen_assembly
from slipway.aws.account import Account
from slipway.aws.refusals import UNANSWERED
from slipway.check.preflight.check import CHECKS, Check
from slipway.check.preflight.checks.prove_capacity import announcement
from slipway.check.preflight.needs import Needs, read_needs
from slipway.check.preflight.preflight import Preflight, preflight
from slipway.check.preflight.report import print_preflight
from slipway.errors import RefusedError
from slipway.terminal import moves, screen


def choose(only: Sequence[str], skip: Sequence[str], *, capacity: bool) -> tuple[Check, ...]:
    """Return the checks to run, by id.

    Args:
        only: their ids; all when empty.
        skip: ids to leave out.
        capacity: run those too that make something that bills.

    Raises:
        RefusedError: an id is unknown, or belongs to a check that must be asked for with --prove-capacity; or none is
            left.
    """
    unknown = [name for name in (*only, *skip) if name not in CHECKS]
    if unknown:
        raise RefusedError(f"there is no check {', '.join(unknown)}; the checks are {', '.join(sorted(CHECKS))}")
    billing = [name for name in only if CHECKS[name].stage == "capacity"]
    if billing and not capacity:
        raise RefusedError(f"{', '.join(billing)} makes something that bills: say --prove-capacity")
    chosen = [check for name, check in sorted(CHECKS.items()) if name not in skip and (not only or name in only)]
    chosen = [check for check in chosen if capacity or check.stage != "capacity"]
    if not chosen:
        raise RefusedError("no check is left: --skip leaves out all that --check names")
    return tuple(chosen)


def run(
    environment: str | None,
    assembly: Path | None,
    stacks: Sequence[str],
    checks: Sequence[Check],
    *,
    as_json: bool,
    strict: bool,
    yes: bool,
) -> int:
    """Ask, report, and return the exit code.

    Args:
        environment: name of an environment; it is synthesized.
        assembly: cloud assembly of it, instead.
        stacks: the stacks to ask about; all when empty.
        checks: what to ask.
        as_json: print the answers as JSON, in place of the report.
        strict: what was not checked, and a warning, count as failed.
        yes: do not ask before something is made that bills.

    Raises:
        RefusedError: nothing could be asked, or somebody said no.
    """
    try:
        needs = read_needs(chosen_assembly(environment, assembly, "preflight"), stacks)
    except NotChosenError as error:
        raise RefusedError(str(error)) from error
    if any(check.stage == "capacity" for check in checks):
        _confirm(needs, yes=yes)
    found = _ask(needs, checks)
    if as_json:
        print(found.model_dump_json(indent=2))
    else:
        print_preflight(found, screen())
    return found.exit_code(strict=strict)


def _confirm(needs: Needs, *, yes: bool) -> None:
    """Say what a proof of capacity makes and costs, and ask.

    Raises:
        RefusedError: the answer is no, or there is none.
    """
    said = announcement(needs)
    if said is None:
        return
    typer.echo(said, err=True)
    try:
        if not yes and not typer.confirm("Go on?", err=True):
            raise RefusedError("not confirmed: nothing was asked")
    except typer.Abort as error:
        raise RefusedError("no answer; --yes asks nobody. Nothing was asked of AWS") from error


def _ask(needs: Needs, checks: Sequence[Check]) -> Preflight:
    try:
        account = Account.in_region(needs.region, needs.account)
    except BotoCoreError as error:
        # A profile that does not exist.
        raise RefusedError(f"no AWS account: {error}. Log in, or set AWS_PROFILE") from error
    if any(check.stage != "offline" for check in checks):
        _log_in(account)
    columns = (TextColumn("asking AWS"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    console = screen(errors=True)
    with Progress(*columns, console=console, transient=True, disable=not moves(console)) as bar:
        task = bar.add_task("", total=len(checks))
        return preflight(checks, needs, account, lambda done: bar.update(task, advance=1, description=done.title))


def _log_in(account: Account) -> None:
    """Let boto3 fetch its credentials before a progress bar overwrites what it asks for: an MFA code.

    Raises:
        RefusedError: it asks for a code, and nobody can type one; or the credentials are another account's.
    """
    try:
        # Whether AWS takes them is PF01's to say.
        with suppress(*UNANSWERED):
            _ = account.caller
    except EOFError as error:
        raise RefusedError(
            "the profile asks for an MFA code, and there is no terminal to type it in. Use credentials that need none: "
            "`aws sts get-session-token` or an assumed role, in the environment"
        ) from error
