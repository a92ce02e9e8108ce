"""One run of `slipway az`: read, ask, decide, show, write."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from slipway import facts
from slipway.aws.account import Account
from slipway.aws.refusals import UNANSWERED
from slipway.check.az.account_evidence import account_evidence
from slipway.check.az.decision import Decision, NoZoneFitsError, decide
from slipway.check.az.edit import CannotWriteError, edited, write
from slipway.check.az.evidence import Evidence, offline_evidence
from slipway.check.az.table import print_evidence
from slipway.check.az.wanted import Wanted, read_wanted
from slipway.config import InvalidEnvironment
from slipway.config.problems import listed


class NothingAskedError(Exception):
    """Nothing could be found out; the message says why, and what to do."""


def run(path: Path, *, region: str | None, offline: bool, dry_run: bool, console: Console) -> bool:
    """Choose zones for an environment, and write them into its file.

    Args:
        path: the environment file.
        region: a Region to look at; another than the file's is looked at only.
        offline: take the facts' hints instead of asking AWS.
        dry_run: write nothing.
        console: where to report.

    Returns:
        Whether there are zones that fit, and the file has them or would take them.

    Raises:
        InvalidEnvironment: the file is wrong, beside its zones; nothing was asked.
        NothingAskedError: neither AWS nor the facts could tell anything.
        RefusedError: the credentials are another account's.
    """
    wanted = read_wanted(path)
    elsewhere = region not in (None, wanted.region)
    if elsewhere:
        wanted = wanted.in_region(str(region))
    evidence = _evidence(wanted, offline=offline)
    decision: Decision | None = None
    try:
        decision = decide(wanted, evidence)
    except NoZoneFitsError as error:
        print_evidence(wanted, evidence, None, console)
        _say(console, f"{error}\nThe file was not changed.")
        return False
    print_evidence(wanted, evidence, decision, console)
    _say(
        console,
        f"training {decision.training}, others {listed(decision.others, 'and')}: {'; '.join(decision.reasons)}.",
    )
    left = _left(wanted, decision)
    if left:
        _say(
            console,
            f"It was {listed(left, 'and')}. In a deployed environment, a deployment would replace "
            f"{'' if wanted.subnet_zones else 'subnets and '}file systems: `slipway plan` says what.",
        )
    deployed = [zone for zone in left if zone in evidence.deployed]
    if deployed:
        _say(
            console,
            f"{path} was not changed: the environment is deployed in {listed(deployed, 'and')}. Take the zones out "
            "of the file to choose again.",
        )
        return False
    needed = list(_needed_subnets(wanted, decision))
    if needed:
        _say(
            console,
            f"{path} was not changed: the existing VPC needs a subnet in each zone. {' '.join(needed)} Then run this "
            "command again.",
        )
        return False
    if dry_run or elsewhere:
        _say(
            console,
            f"{path} was not changed: {'this is a dry run' if dry_run else f'it is for another Region than {region}'}.",
        )
        return True
    return _write(path, decision, evidence, console)


def _left(wanted: Wanted, decision: Decision) -> list[str]:
    """Return the zones that the file names and that would be so no more."""
    training = [wanted.current] if wanted.current and wanted.current != decision.training else []
    return [*training, *(zone for zone in wanted.current_others if zone not in decision.others)]


def _needed_subnets(wanted: Wanted, decision: Decision) -> Iterator[str]:
    """Say what to do for each chosen zone in which the existing VPC has no subnet."""
    for zone in (decision.training, *decision.others):
        for name in wanted.lacking_subnets(zone):
            yield f"Make one in {zone} and name it in `network.existing.{name}`."


def _evidence(wanted: Wanted, *, offline: bool) -> Evidence:
    try:
        if offline:
            return offline_evidence(wanted)
        account = Account.in_region(wanted.region, wanted.account)
        _ = account.caller
        return account_evidence(wanted, account)
    except facts.UnknownFact as error:
        raise NothingAskedError(str(error)) from error
    except UNANSWERED as error:
        raise NothingAskedError(
            f"AWS does not say what the zones of {wanted.region} offer: {error}. Log in, or set AWS_PROFILE; --offline "
            "takes the zones that Slipway's own data name"
        ) from error


def _write(path: Path, decision: Decision, evidence: Evidence, console: Console) -> bool:
    """Write the file, and say what happened."""
    with path.open(encoding="utf-8", newline="") as file:
        before = file.read()
    try:
        after = edited(before, decision, evidence.source, f"{datetime.now(UTC):%Y-%m-%d}")
        if after == before:
            _say(console, f"{path} says so already.")
            return True
        write(path, after)
    except (CannotWriteError, OSError) as error:
        _say(console, f"{path} was not changed: {error}.")
        return False
    except InvalidEnvironment as invalid:
        _say(
            console, f"{path} was not changed, for with these zones and their comment it would not be valid:\n{invalid}"
        )
        return False
    _say(console, f"written to {path}.")
    return True


def _say(console: Console, text: str) -> None:
    console.print(text, soft_wrap=True, markup=False, highlight=False)
