"""`slipway promote`."""

from typing import Annotated

import typer

from slipway.assembly.choice import RequiredEnvironment
from slipway.console import reports_errors


@reports_errors(interrupted="stopped; what was copied stays, and the same command goes on")
def promote(
    version: Annotated[str, typer.Argument(metavar="MODEL/VERSION", help="As it was published.")],
    *,
    environment: RequiredEnvironment,
    review: Annotated[
        bool, typer.Option("--review", help="Check a version where it was published, and print its manifest's SHA-256.")
    ] = False,
    source: Annotated[
        str | None, typer.Option("--from", metavar="S3_URL", help="Model bucket that has the version: s3://BUCKET.")
    ] = None,
    source_account: Annotated[
        str | None, typer.Option(metavar="ACCOUNT", help="AWS account of that bucket, 12 digits.")
    ] = None,
    manifest_sha256: Annotated[
        str | None, typer.Option(metavar="DIGEST", help="What the review printed, 64 hexadecimal digits.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing: for scripts.")] = False,
) -> None:
    """Copy a version that somebody has reviewed in another account into the model bucket of an environment.

    The first person runs it with --review in the account that published the version, and gives out what it prints.
    The second runs what was printed, with -e of the environment that serves. Then `slipway roll-out` as usual.

    Exit codes: 0 it is there; 1 it is not complete, the same command goes on; 2 nothing was copied.
    """
    # What these import takes seconds that no other command should wait for.
    from slipway.operate.promote.run import Source, copy, refuse_source, show  # noqa: PLC0415

    if review:
        refuse_source(source, source_account, manifest_sha256)
        show(environment, version)
    else:
        copy(environment, version, Source.of(source, source_account, manifest_sha256), yes=yes)
