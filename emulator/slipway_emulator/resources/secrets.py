"""Secrets: CloudFormation makes their text up when the template asks for it."""

import json
from dataclasses import replace

from slipway_emulator.clients import Clients
from slipway_emulator.ledger import Ledger
from slipway_emulator.resources.handler import Provisioned, Request
from slipway_emulator.resources.row import Row
from slipway_emulator.resources.row_handler import RowHandler

_GENERATE = "GenerateSecretString"


class SecretHandler(RowHandler):
    """Creates the secret by its row, with a generated text where the template wants one."""

    def __init__(self, row: Row, clients: Clients, ledger: Ledger) -> None:
        super().__init__(row, clients)
        self._ledger = ledger

    def create(self, request: Request) -> Provisioned:
        """Create the secret; its text is hidden from the ledger."""
        properties = dict(request.properties)
        if _GENERATE in properties:
            properties["SecretString"] = self._generated(properties.pop(_GENERATE), request.stack.region)
        self._ledger.hide(str(properties.get("SecretString", "")))
        return super().create(replace(request, properties=properties))

    def _generated(self, request: dict[str, object], region: str) -> str:
        request = dict(request)
        template, key = request.pop("SecretStringTemplate", None), request.pop("GenerateStringKey", None)
        password = self._clients.get("secretsmanager", region).get_random_password(**request)["RandomPassword"]
        if template is None or key is None:
            return str(password)
        self._ledger.hide(str(password))
        return json.dumps({**json.loads(str(template)), str(key): password})
