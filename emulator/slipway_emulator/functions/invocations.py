"""Lets moto's Lambda answer Invoke with the function's own code: the CDK's provider framework calls its handler so."""

import json
from typing import Any

from moto.awslambda.models import LambdaBackend

from slipway_emulator.functions.runner import FunctionRunner


def answer_invocations(runner: FunctionRunner) -> None:
    """Replace moto's way to run functions, which is a container, by the runner."""

    def invoke(self: LambdaBackend, function_name: str, qualifier: str | None, body: Any, *headers: Any) -> Any:
        _, response_headers = headers
        function = runner.find(self.get_function(function_name, qualifier).function_arn)
        if function is None:
            return None
        finished = runner.invoke(function, body.decode() if isinstance(body, bytes) else str(body))
        if finished.exit_code:
            response_headers["x-amz-function-error"] = "Unhandled"
        silent = {"errorType": "Runtime.ExitError", "errorMessage": f"{function.name} ended with {finished.exit_code}"}
        return (finished.answer or json.dumps(silent)).encode()

    LambdaBackend.invoke = invoke  # type: ignore[assignment, method-assign]
