"""An MLflow server, by its REST API: nothing of MLflow is installed here.

Source: mlflow 3.17.2: mlflow/protos/service.proto (requests and answers), mlflow/utils/validation.py, lines 67-72
(limits of a batch), mlflow/utils/credentials.py, lines 43-67 (the variables). tests/contracts tries it with MLflow's
own server.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import urllib3

TOKEN, USER, PASSWORD = "MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD"
"""MLflow's own environment variables of who asks. On a command line others could read the secrets."""

METRICS_OF_A_REQUEST = 1000
"""Most metrics of one request."""

PARAMETERS_OF_A_REQUEST = 100
"""Most parameters of one request."""

PARAMETER_CHARACTERS = 500
"""Longest value of a parameter that every version takes."""

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class MlflowError(Exception):
    """The server cannot be reached, or refuses. The message is for the user."""


@dataclass(frozen=True)
class Metric:
    """A number of a step."""

    key: str
    """Its name."""

    value: float
    """Its value; may be NaN or infinite."""

    step: int
    """The step."""

    time: float
    """When, in Unix seconds."""


class MlflowServer:
    """A tracking server."""

    def __init__(self, address: str) -> None:
        """Take its address, `https://HOST[:PORT][/PATH]`; who asks comes from MLflow's environment variables.

        Raises:
            MlflowError: it is no such address, or a secret would leave this machine unencrypted.
        """
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise MlflowError(f"{address!r} is not the address of an MLflow server: write https://HOST[:PORT]")
        if "@" in parts.netloc:
            raise MlflowError(
                f"others can read a command line: set {USER} and {PASSWORD}, or {TOKEN}, in the environment"
            )
        self._headers = _authorization()
        if self._headers and parts.scheme == "http" and parts.hostname not in _LOOPBACK:
            raise MlflowError(f"the secret of the environment would go to {address} unencrypted: write https://")
        self._address = address.rstrip("/")
        self._pool = urllib3.PoolManager()

    def experiment(self, name: str) -> str:
        """Return the id of an experiment; one that is not there is made."""
        found = self._ask("GET", "experiments/get-by-name", fields={"experiment_name": name}, missing=True)
        if found is None:
            found = {"experiment": self._ask("POST", "experiments/create", {"name": name})}
        identity: str = found["experiment"]["experiment_id"]
        return identity

    def find_run(self, experiment: str, tag: str, value: str) -> Mapping[str, Any] | None:
        """Return the run of an experiment that has a tag; None without one."""
        text = {"experiment_ids": [experiment], "filter": f"tags.`{tag}` = '{value}'", "max_results": 1}
        runs: list[dict[str, Any]] = (self._ask("POST", "runs/search", text) or {}).get("runs", [])
        return runs[0] if runs else None

    def create_run(self, experiment: str, name: str, start: float, tags: Mapping[str, str]) -> Mapping[str, Any]:
        """Make a run that has begun at a time, in Unix seconds, and return it."""
        listed = [{"key": key, "value": value} for key, value in tags.items()]
        body = {"experiment_id": experiment, "run_name": name, "start_time": _milliseconds(start), "tags": listed}
        run: dict[str, Any] = (self._ask("POST", "runs/create", body) or {})["run"]
        return run

    def log_parameters(self, run: str, parameters: Mapping[str, str]) -> None:
        """Write what does not change."""
        listed = [{"key": key, "value": value[:PARAMETER_CHARACTERS]} for key, value in parameters.items()]
        for start in range(0, len(listed), PARAMETERS_OF_A_REQUEST):
            self._ask(
                "POST", "runs/log-batch", {"run_id": run, "params": listed[start : start + PARAMETERS_OF_A_REQUEST]}
            )

    def log_metrics(self, run: str, metrics: Sequence[Metric]) -> None:
        """Write metrics in their order."""
        listed = [
            {"key": one.key, "value": _number(one.value), "step": one.step, "timestamp": _milliseconds(one.time)}
            for one in metrics
        ]
        for start in range(0, len(listed), METRICS_OF_A_REQUEST):
            self._ask(
                "POST", "runs/log-batch", {"run_id": run, "metrics": listed[start : start + METRICS_OF_A_REQUEST]}
            )

    def set_status(self, run: str, status: str, end: float | None) -> None:
        """Say how a run is: RUNNING, FINISHED, FAILED or KILLED, and when it ended, in Unix seconds."""
        body = {"run_id": run, "status": status} | ({"end_time": _milliseconds(end)} if end else {})
        self._ask("POST", "runs/update", body)

    def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        fields: Mapping[str, str] | None = None,
        missing: bool = False,
    ) -> Any:
        """Return the answer; None where something is missing that may be.

        What is written twice after a lost answer is the same metric, which the server keeps once.

        Raises:
            MlflowError: there is no answer, or a refusal.
        """
        # A redirected request would take the secret elsewhere.
        retries = urllib3.Retry(
            total=4, redirect=0, backoff_factor=1, status_forcelist=(429, 502, 503, 504), allowed_methods=None
        )
        try:
            answer = self._pool.request(
                method,
                f"{self._address}/api/2.0/mlflow/{path}",
                fields=fields,
                body=None if body is None else json.dumps(body, allow_nan=False).encode(),
                headers={**self._headers, **({"Content-Type": "application/json"} if body is not None else {})},
                timeout=30.0,
                retries=retries,
            )
            content = json.loads(answer.data) if answer.data else {}
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise MlflowError(f"{self._address} does not answer as an MLflow server: {error}") from None
        if missing and answer.status == 404:
            return None
        if answer.status in (401, 403):
            raise MlflowError(f"{self._address} refuses: set {TOKEN}, or {USER} and {PASSWORD}, in the environment")
        if answer.status != 200:
            raise MlflowError(f"{self._address} refuses {path}: {content.get('message', answer.status)}")
        return content


def _authorization() -> dict[str, str]:
    """Return the header that says who asks, by the environment."""
    user, password, token = (os.environ.get(name, "") for name in (USER, PASSWORD, TOKEN))
    if user and password:
        return dict(urllib3.make_headers(basic_auth=f"{user}:{password}"))
    return {"Authorization": f"Bearer {token}"} if token else {}


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def _number(value: float) -> float | str:
    """Return a number as protobuf's JSON has it: NaN and infinite ones are words."""
    if math.isnan(value):
        return "NaN"
    return value if math.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")
