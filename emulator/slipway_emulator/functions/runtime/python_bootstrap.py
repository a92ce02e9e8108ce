"""Calls a Python Lambda handler once: the event comes from standard input, the handler's name from _HANDLER."""

import http.client
import importlib
import json
import logging
import os
import sys
import time
from dataclasses import dataclass

_MILLISECONDS_LEFT = 600_000
_LONGEST_SLEEP = 2.0  # seconds


@dataclass(frozen=True)
class Context:
    """The second argument of every handler; names are Lambda's."""

    function_name: str
    invoked_function_arn: str
    log_group_name: str
    log_stream_name: str = "rehearsal"
    aws_request_id: str = "rehearsal"
    function_version: str = "$LATEST"
    memory_limit_in_mb: str = "1024"

    @staticmethod
    def get_remaining_time_in_millis() -> int:
        """Always enough: the emulator, not the handler, watches the clock."""
        return _MILLISECONDS_LEFT


def answer_over_http(response_port: int) -> None:
    """Let handlers that insist on https reach the emulator's response address, which is plain http."""
    connect_securely = http.client.HTTPSConnection.connect

    def connect(connection: http.client.HTTPSConnection) -> None:
        if connection.host in ("127.0.0.1", "localhost"):
            connection.port = response_port
            http.client.HTTPConnection.connect(connection)
        else:
            connect_securely(connection)

    http.client.HTTPSConnection.connect = connect  # type: ignore[method-assign, assignment]


def cut_sleeps_short() -> None:
    """Shorten long sleeps: handlers sleep while AWS works, and here AWS is done at once."""
    sleep = time.sleep
    time.sleep = lambda seconds: sleep(min(float(seconds), _LONGEST_SLEEP))


def answer(value: object) -> None:
    """Leave what Lambda would answer to whoever invoked the function."""
    with open(os.environ["SLIPWAY_ANSWER"], "w", encoding="utf-8") as file:  # noqa: PTH123  # starts in milliseconds
        json.dump(value, file, default=str)


def main() -> None:
    """Run the handler; an exception ends the process with a traceback and exit code 1."""
    logging.basicConfig()  # Lambda gives the root logger a handler
    cut_sleeps_short()
    answer_over_http(int(os.environ["SLIPWAY_RESPONSE_PORT"]))
    sys.path.insert(0, os.environ["LAMBDA_TASK_ROOT"])
    module_name, _, function_name = os.environ["_HANDLER"].rpartition(".")
    handler = getattr(importlib.import_module(module_name.replace("/", ".")), function_name)
    context = Context(
        os.environ["AWS_LAMBDA_FUNCTION_NAME"],
        os.environ["SLIPWAY_FUNCTION_ARN"],
        os.environ["AWS_LAMBDA_LOG_GROUP_NAME"],
    )
    try:
        answer(handler(json.load(sys.stdin), context))
    except Exception as error:
        answer({"errorMessage": str(error), "errorType": type(error).__name__})
        raise


if __name__ == "__main__":
    main()
