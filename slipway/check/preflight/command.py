"""`slipway preflight`."""

from typing import Annotated

import typer

from slipway.assembly.choice import AssemblyOption, EnvironmentOption
from slipway.console import JsonOption, reports_errors


@reports_errors()
def preflight(
    *,
    environment: EnvironmentOption = None,
    assembly: AssemblyOption = None,
    stack: Annotated[
        list[str] | None, typer.Option(help="Only this stack, by name or role, for example training; repeatable.")
    ] = None,
    check: Annotated[list[str] | None, typer.Option(help="Only this check, for example PF06; repeatable.")] = None,
    skip: Annotated[list[str] | None, typer.Option(help="Not this check; repeatable.")] = None,
    as_json: JsonOption = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 on warnings, and on what could not be checked.")
    ] = False,
    prove_capacity: Annotated[
        bool,
        typer.Option("--prove-capacity", help="Reserve the training nodes for a moment, which bills, and cancel."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --prove-capacity: do not ask before it bills.")] = False,
    policy: Annotated[
        bool, typer.Option("--policy", help="Print the IAM policy that the checks need, and end: nothing is asked.")
    ] = False,
) -> None:
    """Ask AWS, before a deployment, what would make it fail. Reads only, unless --prove-capacity is given.

    Exit codes: 0 nothing failed; 1 something did; 2 nothing could be checked. Checks: `slipway docs preflight`.
    """
    # What these import takes seconds that no other command should wait for.
    from slipway.check.preflight.run import choose, run  # noqa: PLC0415

    checks = choose(check or (), skip or (), capacity=prove_capacity)
    if policy:
        from slipway.check.preflight.policy import policy as written  # noqa: PLC0415

        typer.echo(written(checks))
        return
    exit_code = run(environment, assembly, stack or (), checks, as_json=as_json, strict=strict, yes=yes)
    raise typer.Exit(exit_code)
