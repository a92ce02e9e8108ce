"""Lambda functions and layers: moto keeps their configuration, the runner runs their code."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from slipway_emulator.clients import Clients
from slipway_emulator.functions.function import LambdaFunction, Layer
from slipway_emulator.functions.runner import FunctionRunner, archive_of_inline_code
from slipway_emulator.resources.handler import Existing, Provisioned, Request
from slipway_emulator.resources.row import Row
from slipway_emulator.resources.row_handler import RowHandler


class FunctionHandler(RowHandler):
    """Creates the function by its row and registers it with the runner."""

    def __init__(self, row: Row, clients: Clients, runner: FunctionRunner) -> None:
        super().__init__(row, clients)
        self._runner = runner

    def create(self, request: Request) -> Provisioned:
        """Create the function; its code runs from now on when it is invoked."""
        request = _with_archive(request)
        done = super().create(request)
        self._tell_runner(request, done.physical_id, done.attributes)
        return done

    def update(self, request: Request, existing: Existing, changed: frozenset[str]) -> Provisioned:
        """Update code and configuration."""
        request = _with_archive(request)
        done = super().update(request, existing, changed)
        self._tell_runner(request, existing.physical_id, existing.attributes)
        return replace(done, attributes={})  # the ARN stays

    def _tell_runner(self, request: Request, name: str, attributes: Mapping[str, Any]) -> None:
        self._runner.add_function(LambdaFunction(attributes["Arn"], name, request.stack.region, request.properties))


class LayerHandler(RowHandler):
    """Publishes the layer version by its row and gives the runner the place where the archive is."""

    def __init__(self, row: Row, clients: Clients, runner: FunctionRunner) -> None:
        super().__init__(row, clients)
        self._runner = runner

    def create(self, request: Request) -> Provisioned:
        """Publish the layer version."""
        done = super().create(request)
        content = request.properties["Content"]
        self._runner.add_layer(Layer(done.physical_id, content["S3Bucket"], content["S3Key"], request.stack.region))
        return done


def _with_archive(request: Request) -> Request:
    code = request.properties["Code"]
    if "ZipFile" not in code:
        return request
    archive = archive_of_inline_code(code["ZipFile"], request.properties["Runtime"])
    return replace(request, properties={**request.properties, "Code": {**code, "ZipFile": archive}})
