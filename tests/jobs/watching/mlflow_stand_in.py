"""An MLflow server that keeps in memory what `slipway-job track` writes; tests/contracts compares it with MLflow's."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

MAX_METRICS, MAX_PARAMETERS = 1000, 100


@dataclass
class MlflowStandIn:
    """What the server holds, and how it answers."""

    url: str = ""
    authorization: str | None = None
    """The header that it asks for."""

    failures: int = 0
    """How many of the next batches it takes, and answers with 503."""

    experiments: dict[str, str] = field(default_factory=dict)
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Answer a request."""
        self.requests.append(path)
        return {
            "experiments/get-by-name": self._experiment,
            "experiments/create": self._create_experiment,
            "runs/search": self._search,
            "runs/create": self._create,
            "runs/log-batch": self._batch,
            "runs/update": self._update,
            "metrics/get-history": self._history,
        }[path](body)

    def _experiment(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if (name := body["experiment_name"]) not in self.experiments:
            return 404, {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": f"Could not find {name}"}
        return 200, {"experiment": {"experiment_id": self.experiments[name], "name": name}}

    def _create_experiment(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        identity = self.experiments[body["name"]] = str(len(self.experiments) + 1)
        return 200, {"experiment_id": identity}

    def _search(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        [(key, value)] = re.findall(r"tags\.`(.+)` = '(.+)'", body["filter"])
        tag = {"key": key, "value": value}
        found = [run for run in self.runs.values() if tag in run["data"]["tags"]]
        return 200, {"runs": [self._shown(run) for run in found]} if found else {}

    def _create(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        identity = f"{len(self.runs) + 1:032x}"
        info = {"run_id": identity, "status": "RUNNING", "run_name": body["run_name"]}
        self.runs[identity] = {"info": info, "data": {"tags": body["tags"], "params": [], "metrics": []}}
        return 200, {"run": self._shown(self.runs[identity])}

    def _batch(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        metrics, parameters = body.get("metrics", []), body.get("params", [])
        if len(metrics) > MAX_METRICS or len(parameters) > MAX_PARAMETERS:
            return 400, {"error_code": "INVALID_PARAMETER_VALUE", "message": "too many in a batch"}
        data = self.runs[body["run_id"]]["data"]
        # The same metric is kept once.
        data["metrics"] += [one for one in metrics if one not in data["metrics"]]
        data["params"] += parameters
        if self.failures:
            self.failures -= 1
            return 503, {}
        return 200, {}

    def _update(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        info = self.runs[body["run_id"]]["info"]
        info.update({key: value for key, value in body.items() if key != "run_id"})
        return 200, {"run_info": info}

    def _history(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        found = [one for one in self.runs[body["run_id"]]["data"]["metrics"] if one["key"] == body["metric_key"]]
        return 200, {"metrics": found} if found else {}

    def _shown(self, run: dict[str, Any]) -> dict[str, Any]:
        """Return a run with the last value of each metric; what is empty is left out, as protobuf does."""
        latest = {one["key"]: one for one in sorted(run["data"]["metrics"], key=lambda one: one["step"])}
        data = {**run["data"], "metrics": [*latest.values()]}
        return {"info": run["info"], "data": {key: value for key, value in data.items() if value}}


@contextmanager
def mlflow_stand_in() -> Iterator[MlflowStandIn]:
    """Serve it on loopback."""
    state = MlflowStandIn()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer({key: value for key, [value] in parse_qs(urlsplit(self.path).query).items()})

        def do_POST(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _answer(self, body: dict[str, Any]) -> None:
            if state.authorization and self.headers["Authorization"] != state.authorization:
                status, content = 401, {"message": "You are not authenticated."}
            else:
                status, content = state.answer(urlsplit(self.path).path.removeprefix("/api/2.0/mlflow/"), body)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
