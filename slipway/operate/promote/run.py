"""One run of `slipway promote`: the first person's review, or the second person's copy."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import typer
from botocore.exceptions import BotoCoreError, ClientError

from slipway.assembly.environment_files import WrongChoiceError, environment_file
from slipway.aws.account import open_account
from slipway.aws.refusals import explained
from slipway.aws.stacks import find_stack, outputs
from slipway.config import InvalidEnvironment, load_environment
from slipway.errors import FailedError, RefusedError
from slipway.operate.promote.copying import Copy
from slipway.operate.roll_out.published import MANIFEST_NAME, ModelBucket, digest_of_content

_FORMS = {
    "--from": (r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/?", "s3:// and the name of a model bucket"),
    "--source-account": (r"[0-9]{12}", "the 12 digits of an AWS account"),
    "--manifest-sha256": (r"[0-9a-f]{64}", "the 64 hexadecimal digits that the review printed"),
}
_VERSION = re.compile(r"[^/]+/[^/]+")


@dataclass(frozen=True)
class Source:
    """Where a version comes from, and which one it is.

    Attributes:
        bucket: name of the model bucket that has it.
        account: AWS account of that bucket.
        digest: SHA-256 of its manifest, as the review printed it.
    """

    bucket: str
    account: str
    digest: str

    @staticmethod
    def of(url: str | None, account: str | None, digest: str | None) -> Source:
        """Return what the command line says.

        Raises:
            RefusedError: something is missing, or has another form.
        """
        given = {"--from": url, "--source-account": account, "--manifest-sha256": digest}
        wrong = [
            f"{option} must be {words}"
            for option, (pattern, words) in _FORMS.items()
            if not re.fullmatch(pattern, given[option] or "")
        ]
        if wrong:
            lines = "\n".join(f"- {line}" for line in wrong)
            raise RefusedError(
                f"{lines}\n`slipway promote --review` prints all of it for the reviewer. Nothing was copied"
            )
        return Source(str(url).removeprefix("s3://").rstrip("/"), str(account), str(digest))


def refuse_source(*given: str | None) -> None:
    """Refuse what says where a version comes from, where it is only looked at.

    Raises:
        RefusedError: something was given.
    """
    if any(given):
        raise RefusedError("--review reads the model bucket of -e: write it without --from and what belongs to it")


@dataclass(frozen=True)
class Place:
    """Where an environment keeps its models."""

    environment: str
    bucket: ModelBucket


def show(environment: str, version: str) -> None:
    """Check a version where it was published, and print the command for the second person.

    Args:
        environment: a name in environments/, or a file that ends in .yaml.
        version: `MODEL/VERSION`.

    Raises:
        RefusedError: it is not published, or not whole.
    """
    prefix = _prefix(version)
    with _refusals():
        place = _find_place(environment)
        manifest = place.bucket.manifest(prefix)
        published = place.bucket.parsed(prefix, manifest)
        faults = place.bucket.faults(published, typer.echo)
    if faults:
        lines = "\n".join(f"- {fault}" for fault in faults)
        raise RefusedError(f"{prefix} is not what its manifest says:\n{lines}")
    typer.echo(f"{prefix}: {published.summary()}")
    typer.echo("To promote it, run with the environment that serves:")
    typer.echo(
        f"slipway promote -e ENVIRONMENT {shlex.quote(prefix)} --from s3://{place.bucket.name} "
        f"--source-account {place.bucket.owner} --manifest-sha256 {digest_of_content(manifest)}"
    )


def copy(environment: str, version: str, source: Source, *, yes: bool) -> None:
    """Copy a version into an environment's model bucket.

    Args:
        environment: a name in environments/, or a file that ends in .yaml: the one that gets it.
        version: `MODEL/VERSION`.
        source: where it comes from.
        yes: ask nothing.

    Raises:
        RefusedError: nothing was copied.
        FailedError: the copy is not complete.
    """
    prefix = _prefix(version)
    with _refusals():
        place = _find_place(environment)
        wanted = _wanted(prefix, source, place)
        there = place.bucket.find_manifest(prefix)
        if there not in {None, wanted.manifest}:
            raise RefusedError(
                f"s3://{place.bucket.name}/{prefix}/ has another manifest: a version never changes. Publish another "
                "one. Nothing was copied"
            )
        names = wanted.missing()
    if there and not names:
        typer.echo(f"{prefix} is in s3://{place.bucket.name} already, and is what its manifest says")
        return
    if there:
        raise RefusedError(f"{prefix} was promoted, and has lost {', '.join(names)}. Publish another version")
    typer.echo(f"{prefix}: {wanted.published.summary()}")
    typer.echo(f"copies {len(names)} files and {MANIFEST_NAME} from s3://{source.bucket} of account {source.account}")
    typer.echo(f"to environment {place.environment}, account {place.bucket.owner}, s3://{place.bucket.name}")
    if not yes and not _agreed():
        raise RefusedError("not confirmed. Nothing was copied")
    try:
        wanted.carry_out(names)
    except (BotoCoreError, ClientError) as error:
        raise FailedError(f"{explained(error)}. Not complete: the same command goes on where it stopped") from error
    typer.echo(f"{prefix} is promoted; then: slipway roll-out -e {shlex.quote(environment)} {shlex.quote(prefix)}")


def _wanted(prefix: str, source: Source, place: Place) -> Copy:
    """Return the copy of the version that was reviewed.

    Raises:
        RefusedError: the source is the target, or the manifest is another one than was reviewed.
    """
    if source.bucket == place.bucket.name:
        raise RefusedError(f"s3://{source.bucket} is the bucket of environment {place.environment} itself")
    bucket = ModelBucket(place.bucket.s3, source.bucket, source.account)
    try:
        manifest = bucket.manifest(prefix)
    except ClientError as error:
        raise RefusedError(
            f"{explained(error)}. Either s3://{source.bucket} is not a bucket of account {source.account}, or "
            "`storage.model_readers` there does not name your role, or your role's policy, or the policy of the key in "
            "`kms.key_arn` there, does not allow it. Nothing was copied"
        ) from error
    if digest_of_content(manifest) != source.digest:
        raise RefusedError(
            f"the manifest of {prefix} in s3://{source.bucket} has SHA-256 {digest_of_content(manifest)}, and "
            f"{source.digest} was reviewed: it was replaced since. Find out by whom. Nothing was copied"
        )
    return Copy(bucket, place.bucket, bucket.parsed(prefix, manifest), manifest, typer.echo)


def _find_place(environment: str) -> Place:
    """Find an environment's model bucket, with the credentials that boto3 finds.

    Raises:
        RefusedError: there is no such environment, or it is not deployed.
    """
    try:
        found = load_environment(environment_file(environment))
    except (WrongChoiceError, InvalidEnvironment) as invalid:
        raise RefusedError(str(invalid)) from invalid
    account = open_account(found.region, found.account)
    name = f"slipway-{found.name}-storage"
    stack = find_stack(account.client("cloudformation"), name)
    if stack is None:
        raise RefusedError(f"{name} is not deployed in account {account.id}: whose credentials are these?")
    # Of the session: S3 takes longer to copy a large file than the account's clients wait for an answer.
    s3 = account.session.client("s3")
    return Place(found.name, ModelBucket(s3, outputs(stack)["ModelBucket"], account.id))


@contextmanager
def _refusals() -> Iterator[None]:
    """Say what AWS answers before anything was copied."""
    try:
        yield
    except ClientError as error:
        raise RefusedError(f"{explained(error)}. Nothing was copied") from error
    except BotoCoreError as error:
        raise RefusedError(f"no AWS account: {error}. Log in, or set AWS_PROFILE; nothing was copied") from error


def _prefix(version: str) -> str:
    if not _VERSION.fullmatch(version.strip("/")):
        raise RefusedError(f"{version!r} is not a version: write MODEL/VERSION, for example tanuki-8b/v1")
    return version.strip("/")


def _agreed() -> bool:
    try:
        return typer.confirm("Do it?")
    except typer.Abort as error:
        raise RefusedError("no answer; --yes asks nothing. Nothing was copied") from error
