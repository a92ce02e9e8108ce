"""The calls of the Kubernetes API that the kit makes, in one namespace, with one-line errors for the user.

It calls from a pod of the cluster, as the pod's service account. How the API behaves:
https://kubernetes.io/docs/reference/using-api/api-concepts/.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import urllib3
from kubernetes import client  # type: ignore[import-untyped]
from kubernetes.config import ConfigException  # type: ignore[import-untyped]
from kubernetes.config.incluster_config import InClusterConfigLoader  # type: ignore[import-untyped]

from slipway_jobs.chain.scheduler import SchedulerError

CREDENTIALS = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where a pod has its service account's token and the certificate authority of the API."""

ANSWER_SECONDS = (5.0, 30.0)
"""How long the API may take: to connect, and to answer."""

PAUSE_SECONDS = 2.0
"""Time between two looks at what is under way."""

Object = Mapping[str, Any]
"""An object as JSON has it."""


class Kind(NamedTuple):
    """A kind of object."""

    group: str
    version: str
    plural: str

    @property
    def path(self) -> str:
        """Its part of an address."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"


JOB_SETS = Kind("jobset.x-k8s.io", "v1alpha2", "jobsets")
MPI_JOBS = Kind("kubeflow.org", "v2beta1", "mpijobs")
WORKLOADS = Kind("kueue.x-k8s.io", "v1beta2", "workloads")
PODS = Kind("", "v1", "pods")


class ApiError(SchedulerError):
    """The API does not answer or refuses.

    Attributes:
        status: HTTP status; none where there was no answer.
        unknown_kind: whether the cluster has no objects of this kind at all.
    """

    def __init__(self, message: str, status: int | None = None, *, unknown_kind: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.unknown_kind = unknown_kind

    @property
    def refused(self) -> bool:
        """Whether the API said no: nothing was changed, and asking again does not help."""
        return self.status is not None and 400 <= self.status < 500 and self.status != 429


class Api:
    """The API in a namespace. It connects at the first call."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self._connected: client.ApiClient | None = None

    def get(self, kind: Kind, name: str) -> Object | None:
        """Return an object, none where there is none.

        Raises:
            ApiError: the API does not answer or refuses.
        """
        try:
            found: Object = self._call("GET", kind, name)
        except ApiError as error:
            if error.status == 404:
                return None
            raise
        return found

    def knows(self, kind: Kind, name: str) -> bool:
        """Return whether the cluster has objects of a kind, by asking for one of a name, which need not be there.

        Raises:
            ApiError: the API does not answer or refuses.
        """
        try:
            self._call("GET", kind, name)
        except ApiError as error:
            if error.status == 404:
                return not error.unknown_kind
            raise
        return True

    def list_labelled(self, kind: Kind, selector: str) -> list[Object]:
        """Return the objects with some labels, by a label selector.

        Raises:
            ApiError: the API does not answer or refuses.
        """
        items: list[Object] = self._call("GET", kind, query=[("labelSelector", selector)])["items"]
        return items

    def create(self, kind: Kind, body: Object) -> None:
        """Create an object.

        Raises:
            ApiError: the API does not answer or refuses; status 409 where there is one of this name.
        """
        self._call("POST", kind, body=body)

    def delete(self, kind: Kind, name: str) -> bool:
        """Delete an object after all that belongs to it, and return whether there was one.

        It only begins: the object stays, with a deletionTimestamp, until the others are gone.

        Raises:
            ApiError: the API does not answer or refuses.
        """
        try:
            self._call("DELETE", kind, name, query=[("propagationPolicy", "Foreground")])
        except ApiError as error:
            if error.status == 404:
                return False
            raise
        return True

    def wait_gone(self, kind: Kind, name: str, seconds: float) -> bool:
        """Wait until there is no object of a name; return whether that came about in time.

        Raises:
            ApiError: the API does not answer or refuses.
        """
        end = time.monotonic() + seconds
        while self.get(kind, name) is not None:
            if time.monotonic() >= end:
                return False
            time.sleep(PAUSE_SECONDS)
        return True

    def _call(
        self,
        verb: str,
        kind: Kind,
        name: str | None = None,
        *,
        query: list[tuple[str, str]] | None = None,
        body: Object | None = None,
    ) -> Any:
        path = f"{kind.path}/namespaces/{self.namespace}/{kind.plural}" + (f"/{name}" if name else "")
        try:
            answer = self._client().call_api(
                path,
                verb,
                query_params=query or [],
                header_params={"Accept": "application/json", "Content-Type": "application/json"},
                body=body,
                auth_settings=["BearerToken"],
                _preload_content=False,
                _return_http_data_only=True,
                _request_timeout=ANSWER_SECONDS,
            )
            return json.loads(answer.data)
        except client.ApiException as error:
            unknown_kind = error.status == 404 and _said(error) is None
            raise ApiError(_refusal(error, kind), error.status, unknown_kind=unknown_kind) from None
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise ApiError(f"Kubernetes does not answer: {_cause(error)}") from None

    def _client(self) -> client.ApiClient:
        if self._connected is None:
            configuration = client.Configuration()
            # A pod reaches the API by itself, whatever proxy its user has for the internet.
            configuration.proxy = None
            # What was sent is never sent again by the client: only the kit knows what may be.
            configuration.retries = urllib3.Retry(total=2, connect=2, read=0, status=0, other=0, redirect=0)
            loader = InClusterConfigLoader(str(CREDENTIALS / "token"), str(CREDENTIALS / "ca.crt"))
            try:
                loader.load_and_set(configuration)
            except (ConfigException, OSError) as error:
                message = f"this is not a pod of the cluster ({error}): open its shell with"
                raise ApiError(f"{message} kubectl exec -n {self.namespace} -it deploy/shell -- bash") from None
            self._connected = client.ApiClient(configuration)
        return self._connected


def _refusal(error: client.ApiException, kind: Kind) -> str:
    """Say in one line what the API says in a Status object."""
    line = " ".join((_said(error) or str(error.reason)).split())
    if error.status == 401:
        return f"Kubernetes does not accept this pod's service account token: {line}"
    if error.status == 403:
        return f"Kubernetes does not allow it: {line}"
    # Of an object that is not there nobody is told: this is an address that the API does not know.
    if error.status == 404 and "namespaces" not in line:
        return f"the cluster has no {kind.plural}.{kind.group}: its software is not installed"
    if error.status == 429 or error.status >= 500:
        return f"Kubernetes cannot answer at the moment (HTTP status {error.status}): {line}"
    return f"Kubernetes refuses: {line}"


def _said(error: client.ApiException) -> str | None:
    """Return the message of a Status object; none where the API knows no such address, and answers in plain text."""
    try:
        return str(json.loads(error.body)["message"])
    except (TypeError, ValueError, KeyError):
        return None


def _cause(error: Exception) -> str:
    """Return the innermost reason of a failed connection; urllib3 wraps it several times."""
    reason = getattr(error, "reason", None)
    return _cause(reason) if isinstance(reason, Exception) else " ".join(str(error).split())
