"""`slipway endpoint check` and `slipway endpoint load`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slipway.assembly.choice import EnvironmentOption
from slipway.console import JsonOption, reports_errors

if TYPE_CHECKING:
    from slipway.operate.endpoint.addressing import Address

FAILED = 1
"""Exit code when a check failed, or errors ended a load test."""

endpoint = typer.Typer(
    help="Ask an OpenAI-compatible endpoint as its users do. The key comes from the environment variable "
    "OPENAI_API_KEY; with -e from the environment's own secret or user pool.",
    no_args_is_help=True,
)

_Url = Annotated[str | None, typer.Option("--url", help="Base URL of any endpoint, such as https://HOST/v1.")]
_Model = Annotated[
    str | None, typer.Option("--model", help="With -e a model's name in the file, with --url the id that clients send.")
]
_ConnectTo = Annotated[
    str | None,
    typer.Option(
        "--connect-to",
        metavar="HOST:PORT",
        help="Connect there, as to a port forwarding; name and certificate stay the URL's.",
    ),
]
_CaFile = Annotated[
    Path | None,
    typer.Option("--ca-file", exists=True, dir_okay=False, help="Private certificate authorities to trust too (PEM)."),
]
_Timeout = Annotated[
    float, typer.Option("--timeout", min=0.1, help="Longest wait for the next byte, in seconds; 10 for a connection.")
]


@endpoint.command()
@reports_errors()
def check(
    *,
    environment: EnvironmentOption = None,
    url: _Url = None,
    model: _Model = None,
    connect_to: _ConnectTo = None,
    ca_file: _CaFile = None,
    timeout: _Timeout = 120,
    as_json: JsonOption = False,
) -> None:
    """Check an endpoint: name, TLS, models, completions, streaming, authentication, what must be closed.

    Exit codes: 0 all is well; 1 a check failed; 2 nothing could be asked.
    """
    import asyncio  # noqa: PLC0415
    import json  # noqa: PLC0415

    # What these import takes time that no other command should wait for.
    from slipway.operate.endpoint.check import report, run  # noqa: PLC0415
    from slipway.terminal import screen  # noqa: PLC0415

    console = screen(quiet=as_json)
    results = []
    address = _address(
        environment=environment, url=url, model=model, connect_to=connect_to, ca_file=ca_file, timeout=timeout
    )
    for target in address.targets():
        report.tell_target(console, target)
        outcomes = asyncio.run(run.check(target, lambda outcome: report.tell(console, outcome)))
        results.append((target, outcomes))
    if as_json:
        typer.echo(json.dumps(report.document(results), indent=2))
    raise typer.Exit(FAILED if report.has_failed(results) else 0)


@endpoint.command()
@reports_errors()
def load(
    *,
    environment: EnvironmentOption = None,
    url: _Url = None,
    model: _Model = None,
    connect_to: _ConnectTo = None,
    ca_file: _CaFile = None,
    timeout: _Timeout = 120,
    concurrency: Annotated[str, typer.Option(help="Clients that ask at a time, level after level.")] = "1,2,4,8",
    requests: Annotated[int, typer.Option(min=1, help="Requests of each level; at least one for each client.")] = 20,
    seconds: Annotated[
        float | None, typer.Option(min=1, help="How long each level goes on asking, instead of --requests.")
    ] = None,
    prompt_tokens: Annotated[int, typer.Option(min=32, help="Tokens of a prompt, about.")] = 256,
    max_tokens: Annotated[int, typer.Option(min=2, help="Tokens after which an answer ends.")] = 128,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing: for scripts.")] = False,
    as_json: JsonOption = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated values instead of a table.")] = False,
) -> None:
    """Measure an endpoint at rising concurrency: time to first token, tokens/s, errors.

    Exit codes: 0 it was measured; 1 errors ended it; 2 nothing was measured; 130 Ctrl-C, with what there was.
    """
    from slipway.operate.endpoint.load.plan import Plan, parse_levels  # noqa: PLC0415
    from slipway.operate.endpoint.load.session import LoadOptions, choose_form, run  # noqa: PLC0415

    address = _address(
        environment=environment, url=url, model=model, connect_to=connect_to, ca_file=ca_file, timeout=timeout
    )
    plan = Plan(
        levels=parse_levels(concurrency),
        requests=requests,
        seconds=seconds,
        prompt_tokens=prompt_tokens,
        max_tokens=max_tokens,
    )
    form = choose_form(as_json=as_json, as_csv=as_csv)
    stopped = run(address, plan, LoadOptions(form, asks=environment is not None and not yes))
    raise typer.Exit(FAILED if stopped else 0)


def _address(
    *,
    environment: str | None,
    url: str | None,
    model: str | None,
    connect_to: str | None,
    ca_file: Path | None,
    timeout: float,
) -> Address:
    """Return whom to ask.

    Raises:
        RefusedError: an option is not of its form.
    """
    from slipway.operate.endpoint.addressing import Address, parse_connect_to  # noqa: PLC0415
    from slipway.operate.endpoint.target import Way  # noqa: PLC0415

    way = Way(connect_to=parse_connect_to(connect_to), ca_file=ca_file, timeout_seconds=timeout)
    return Address(environment, url, model, way)
