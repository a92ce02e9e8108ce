"""The AWS account that a command reads and changes: one session, and one client for each service and Region."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from threading import Event, Lock, RLock
from typing import Any, Self

import boto3
import httpx2
import jmespath
from botocore.config import Config
from botocore.exceptions import ClientError

from slipway.aws.refusals import UNANSWERED, words_of
from slipway.errors import RefusedError

_CONFIGURATION = Config(
    retries={"mode": "standard", "total_max_attempts": 4}, connect_timeout=5, read_timeout=20, max_pool_connections=16
)
"""Throttled calls are tried again a few times; nobody waits for minutes. Checks that run side by side share clients."""

_ANSWERS_IN = {"pricing": "us-east-1"}
"""Services that answer for all Regions, but in few (AWS Price List user guide, endpoints)."""

ALWAYS_ON = "us-east-1"
"""A Region that no account can switch off."""

SWITCHED_OFF = frozenset({"AuthFailure", "InvalidClientTokenId"})
"""What EC2 and STS say in a Region that the account has not opted in to, whoever asks: the same as of wrong credentials
(Amazon EC2 API reference, "Error codes"; AWS Account Management guide, "Enable or disable AWS Regions")."""

_WAIT_SECONDS = 10


@dataclass(frozen=True)
class Caller:
    """Whose credentials they are.

    Attributes:
        account_id: twelve digits.
        arn: the IAM user, or the session of a role.
    """

    account_id: str
    arn: str


class OtherAccountError(RefusedError):
    """The credentials are another account's than the one that the environment file names."""


@dataclass
class Account:
    """An account and a Region, with the credentials that boto3 finds. Checks in several threads share it.

    Attributes:
        region: AWS Region.
        session: where clients come from.
        interrupted: set when the user wants an end: nothing that bills may begin any more.
        clock: returns the time, with its zone.
        owner: id of the account that the environment file names; None allows any.
    """

    region: str
    session: boto3.Session
    _clients: dict[tuple[str, str], Any] = field(default_factory=dict)
    _listings: dict[str, list[Any]] = field(default_factory=dict)
    _reading: defaultdict[str, RLock] = field(default_factory=lambda: defaultdict(RLock))
    # boto3: clients can be shared by threads, the making of clients by one session cannot.
    _lock: Lock = field(default_factory=Lock)
    interrupted: Event = field(default_factory=Event)
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    owner: str | None = None

    @classmethod
    def in_region(cls, region: str, owner: str | None) -> Self:
        """Return the account of the credentials that boto3 finds; asks nothing yet.

        Args:
            region: AWS Region.
            owner: id of the account that the environment file names; None allows any. `caller` refuses another.

        Raises:
            botocore.exceptions.BotoCoreError: the profile is unknown.
        """
        return cls(region, boto3.Session(region_name=region), owner=owner)

    @property
    def id(self) -> str:
        """The account's twelve digits.

        Raises:
            ClientError, BotoCoreError, ResponseParserError, OtherAccountError: as `caller`.
        """
        return self.caller.account_id

    @property
    def caller(self) -> Caller:
        """Whose credentials these are; needs no permission.

        Raises:
            ClientError: AWS does not take them.
            BotoCoreError, ResponseParserError: there are none, or AWS cannot be reached.
            OtherAccountError: the environment file names another account.
        """
        found = self._identified
        if not isinstance(found, Caller):
            raise found
        if self.owner not in (None, found.account_id):
            raise OtherAccountError(
                f"these credentials are of AWS account {found.account_id} ({found.arn}), the environment file says "
                f'`account: "{self.owner}"`. Use that account\'s (`export AWS_PROFILE=...`), or correct the file. '
                "Nothing was changed"
            )
        return found

    @cached_property
    def _identified(self) -> Caller | Exception:
        """Asked once: a second time would wait for the network, or for a code of MFA, again."""
        try:
            return self._identify()
        except UNANSWERED as error:
            return error

    def _identify(self) -> Caller:
        try:
            identity = self.client("sts").get_caller_identity()
        except ClientError as error:
            if error.response["Error"]["Code"] not in SWITCHED_OFF:
                raise
            identity = self.client("sts", ALWAYS_ON).get_caller_identity()
        return Caller(identity["Account"], identity["Arn"])

    def client(self, service: str, region: str | None = None) -> Any:
        """Return the client of a service, made when first asked for.

        Args:
            service: boto3's name of it, for example `ec2`.
            region: where to ask; the account's Region, or the one where the service answers, when left out.
        """
        key = (service, region or _ANSWERS_IN.get(service, self.region))
        with self._lock:
            if key not in self._clients:
                made: Any = self.session.client(service, region_name=key[1], config=_CONFIGURATION)  # type: ignore[call-overload]
                self._clients[key] = made
            return self._clients[key]

    def http_status(self, url: str) -> int:
        """Return the HTTP status of a HEAD request to a public address, without credentials.

        Raises:
            httpx2.HTTPError: the address does not answer.
        """
        return httpx2.head(url, timeout=_WAIT_SECONDS, follow_redirects=True).status_code

    def listing(self, service: str, operation: str, items: str, **arguments: Any) -> list[Any]:
        """Return everything that an operation lists, page by page; the same listing is asked for once.

        Args:
            service: boto3's name of the service.
            operation: its method, for example `describe_vpcs`.
            items: what the answer calls the list, for example `Vpcs`; a JMESPath expression.
            arguments: what to ask with.

        Raises:
            ClientError: AWS refuses.
            BotoCoreError: AWS does not answer.
        """
        key = f"{service} {operation} {items} {sorted(arguments.items())}"
        with self._lock:
            reading = self._reading[key]
        with reading:
            if key not in self._listings:
                self._listings[key] = list(self._list(service, operation, items, arguments))
            return self._listings[key]

    def _list(self, service: str, operation: str, items: str, arguments: dict[str, Any]) -> Iterator[Any]:
        client = self.client(service)
        if client.can_paginate(operation):
            return (
                item for item in client.get_paginator(operation).paginate(**arguments).search(items) if item is not None
            )
        return iter(jmespath.search(items, getattr(client, operation)(**arguments)) or ())


def open_account(region: str, owner: str | None) -> Account:
    """Find out whose credentials boto3 finds.

    Args:
        region: AWS Region.
        owner: id of the account that the environment file names; None allows any.

    Raises:
        RefusedError: there are none, AWS does not take them, or they are another account's.
    """
    try:
        account = Account.in_region(region, owner)
        _ = account.caller
    except UNANSWERED as error:
        raise RefusedError(
            f"no AWS account: {words_of(error)}. Log in, or set AWS_PROFILE. Nothing was changed"
        ) from error
    return account
