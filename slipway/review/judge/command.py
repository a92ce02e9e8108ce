"""`slipway judge`."""

from typing import Annotated

import typer

from slipway.assembly.environment_files import completed_names
from slipway.console import JsonOption, reports_errors

_Names = Annotated[
    list[str] | None, typer.Argument(autocompletion=completed_names, help="Environments; all when left out.")
]


@reports_errors()
def judge(names: _Names = None, *, as_json: JsonOption = False) -> None:
    """Let the real aws-parallelcluster check the clusters of environments. Talks to no AWS.

    Exit codes: 0 all pass; 1 one of them fails; 2 nothing was judged.
    """
    # What these import takes seconds that no other command should wait for.
    from slipway.review.judge.run import run  # noqa: PLC0415

    run(names or [], as_json=as_json)
