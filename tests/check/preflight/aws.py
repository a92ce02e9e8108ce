"""An AWS account that answers what a test says, through real boto3 clients; what no test says goes to moto."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from types import SimpleNamespace
from typing import Any

import boto3
import botocore.session
from botocore.exceptions import ParamValidationError
from botocore.loaders import Loader
from botocore.model import OperationModel
from botocore.validate import validate_parameters

from slipway.aws.account import Account

REGION = "us-west-2"
ACCOUNT_ID = "123456789012"


@cache
def _models() -> Loader:
    """The services' models, read once: making clients is most of what these tests take."""
    return Loader(include_default_search_paths=True)


@dataclass(frozen=True)
class Refusal:
    """An error that AWS answers with.

    Attributes:
        code: for example `AccessDenied`, `ThrottlingException` or `ParameterNotFound`.
        message: what it says.
    """

    code: str
    message: str = "said the test"


Reply = Mapping[str, Any] | Refusal | Callable[[Mapping[str, Any]], Mapping[str, Any] | Refusal | None]
"""An answer as boto3 returns it, an error, or a function of the call's parameters; a function that returns none leaves
the call to moto."""


@dataclass(frozen=True)
class Call:
    """One call of an API.

    Attributes:
        service: boto3's name of the service.
        operation: for example `DescribeVpcs`.
        signing_name: what IAM calls the service, nearly always.
        parameters: as boto3 was given them.
    """

    service: str
    operation: str
    signing_name: str
    parameters: Mapping[str, Any]

    @property
    def name(self) -> str:
        """For example `ec2.DescribeVpcs`."""
        return f"{self.service}.{self.operation}"


@dataclass
class Aws:
    """The account.

    Attributes:
        replies: what it answers, by `service.Operation`; `*` stands for every operation.
        refused_call: number of the one call, from 0, that is refused with `refusal`.
        calls: what it was asked.
        clients: the clients, which all accounts of it share.
        now: what time it is; the machine's, when left out.
        http_status: what a HEAD request to a public address gets.
    """

    replies: dict[str, Reply] = field(default_factory=dict)
    refused_call: int | None = None
    refusal: Refusal = Refusal("AccessDenied")
    http_status: int = 200
    now: datetime | None = None
    calls: list[Call] = field(default_factory=list)
    clients: dict[tuple[str, str], Any] = field(default_factory=dict)
    _session: boto3.Session | None = None
    # Checks run in threads: the call that a thread is in.
    _current: threading.local = field(default_factory=threading.local)

    def account(self) -> Account:
        """Return the account as the checks see it."""
        if self._session is None:
            core = botocore.session.get_session()
            core.register_component("data_loader", _models())
            self._session = boto3.Session(botocore_session=core, region_name=REGION)
            self._session.events.register("before-parameter-build.*.*", self._note)
            self._session.events.register("before-call.*.*", self._answer)
        return _Asked(REGION, self._session, self)

    def _note(self, params: Mapping[str, Any], model: OperationModel, **_: Any) -> None:
        service = model.service_model
        self._current.call = Call(service.service_name, model.name, service.signing_name, dict(params))
        self._current.number = len(self.calls)
        self.calls.append(self._current.call)

    def _answer(self, model: OperationModel, **_: Any) -> Any:
        call: Call = self._current.call
        if self.refused_call == self._current.number:
            return _http(400), _error(self.refusal)
        reply = self.replies.get(call.name, self.replies.get("*"))
        if callable(reply):
            reply = reply(call.parameters)
        if reply is None:
            return None
        if isinstance(reply, Refusal):
            return _http(400), _error(reply)
        if model.output_shape:
            try:
                validate_parameters(reply, model.output_shape)
            except ParamValidationError as error:
                # Checks take boto3's errors for AWS's.
                raise AssertionError(f"{call.name} never answers so: {error}") from error
        return _http(200), {**reply, "ResponseMetadata": {}}


class _Asked(Account):
    """An account whose public web pages answer what the test says, too."""

    def __init__(self, region: str, session: boto3.Session, aws: Aws) -> None:
        super().__init__(region, session, aws.clients)
        self.clock = lambda: aws.now or datetime.now(UTC)
        self._aws = aws

    def http_status(self, url: str) -> int:
        assert url.startswith("https://")
        return self._aws.http_status


def _http(status: int) -> Any:
    return SimpleNamespace(status_code=status)


def _error(refusal: Refusal) -> Mapping[str, Any]:
    return {"Error": {"Code": refusal.code, "Message": refusal.message}, "ResponseMetadata": {}}
