"""`slipway judge`."""

from typing import Annotated

import typer

from slipway.console import reports_errors


@reports_errors()
def judge(names: Annotated[list[str] | None, typer.Argument(help="Environments; all when left out.")] = None) -> None:
    """Let the real aws-parallelcluster check the clusters of environments. Talks to no AWS.

    Exit codes: 0 all pass; 1 one of them fails; 2 nothing was judged.
    """
    # What these import takes seconds that no other command should wait for.
    from slipway.review.judge.run import run  # noqa: PLC0415

    run(names or [])
