"""Provisions a resource type from its row."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from slipway_emulator.clients import Clients
from slipway_emulator.failures import ProvisioningError, UnfinishedCreationError
from slipway_emulator.ledger import Backing
from slipway_emulator.resources.expressions import evaluate
from slipway_emulator.resources.handler import Existing, Provisioned, Request
from slipway_emulator.resources.known import known, with_generated_name, with_name
from slipway_emulator.resources.row import Call, Row, Setting
from slipway_emulator.resources.shapes import Fitter, member_named

_TAG_PROPERTIES = frozenset({"Tags", "TagSpecifications"})
_GONE = ("NotFound", "NoSuch", "DoesNotExist")
"""Parts of the error codes with which services say that a resource is not there."""


class RowHandler:
    """Turns a row into API calls."""

    backing: Backing = "api"

    def __init__(self, row: Row, clients: Clients) -> None:
        self.row = row
        self._clients = clients

    # ---- the handler's interface ---------------------------------------------------------------------------

    def create(self, request: Request) -> Provisioned:
        """Make the create call, then apply every setting that the template has."""
        request = with_generated_name(request, self.row.name)
        about = known(request)
        unmapped: list[str] = []
        if self.row.operation:
            with api_reasons():
                about["answer"] = self._call_with_properties(self.row, request, about, unmapped)
        physical_id = about["id"] = str(evaluate(self.row.physical_id, about))
        try:
            for name, setting in self.row.settings.items():
                if name in request.properties and not setting.in_create:
                    self._apply(setting, request.properties[name], about, unmapped, name)
            attributes = self._attributes(request, about)
        except ProvisioningError as failure:
            raise UnfinishedCreationError(str(failure), physical_id) from failure
        return Provisioned(physical_id, attributes, tuple(unmapped))

    def can_update(self, changed: frozenset[str]) -> bool:
        """Tags always can; other properties need a setting or a place in the update call."""
        return self.row.updates_only_recorded or all(
            name in _TAG_PROPERTIES | self.row.recorded_changes or self._in_settings(name) or self._in_update(name)
            for name in changed
        )

    def update(self, request: Request, existing: Existing, changed: frozenset[str]) -> Provisioned:
        """Make the update call when it is needed, then bring the changed settings up to date."""
        if self.row.name and self.row.physical_id == f"properties.{self.row.name.property}":
            request = with_name(request, self.row.name, existing.physical_id)
        about = known(request, existing)
        unmapped: list[str] = []
        beyond_settings = {name for name in changed - _TAG_PROPERTIES if not self._in_settings(name)}
        recorded = beyond_settings if self.row.updates_only_recorded else beyond_settings & self.row.recorded_changes
        if self.row.update and beyond_settings - recorded:
            with api_reasons():
                about["answer"] = self._call_with_properties(self.row.update, request, about, unmapped)
            unmapped = [path for path in unmapped if path.split(".")[0] in changed - recorded]
        unmapped += sorted(recorded)
        for name, setting in self.row.settings.items():
            if name in changed or _reads(setting.apply, changed):
                self._change(setting, name, request, existing, changed)
        if tags := (changed & _TAG_PROPERTIES) - self.row.settings.keys():
            unmapped += self._change_tags(request, existing, tags)
        attributes = self._attributes(request, about) if self.row.update else {}
        return Provisioned(existing.physical_id, attributes, tuple(unmapped))

    def delete(self, request: Request, existing: Existing) -> None:
        """Clear the way, then make the delete call; what is already gone counts as done."""
        about = known(request, existing)
        for name, setting in self.row.settings.items():
            if setting.release and setting.remove:
                for value in _values(setting, request.properties.get(name)):
                    self._call_unless_gone(setting.remove, {**about, "value": value})
        for call in self.row.before_delete:
            self._call_unless_gone(call, about)
        if self.row.delete:
            self._call_unless_gone(self.row.delete, about)

    # ---- settings ------------------------------------------------------------------------------------------

    def _apply(self, setting: Setting, wanted: Any, about: dict[str, Any], unmapped: list[str], path: str) -> None:
        values = _values(setting, wanted)
        if setting.first and values:
            self._call_unless_gone(setting.first, about)
        for value in values:
            with api_reasons():
                self._call(setting.apply, {**about, "value": value}, unmapped, path)

    def _change(
        self, setting: Setting, name: str, request: Request, existing: Existing, changed: frozenset[str]
    ) -> None:
        """Take away what is no longer wanted, in its old form, and put in place what is new or different."""
        before = _values(setting, existing.properties.get(name))
        wanted = _values(setting, request.properties.get(name))
        removed_by_name = setting.remove is not None and _reads(setting.remove, changed)
        if setting.remove and (setting.each or not wanted):
            old = known(replace(request, properties=existing.properties), existing)
            for value in before:
                if removed_by_name or value not in wanted:
                    self._call_unless_gone(setting.remove, {**old, "value": value})
        stays = setting.each and not removed_by_name and not _reads(setting.apply, changed)
        about = known(request, existing)
        if setting.first and wanted and not before:
            self._call_unless_gone(setting.first, about)
        for value in wanted:
            if not (stays and value in before):
                with api_reasons():
                    self._call(setting.apply, {**about, "value": value}, [], name)

    def _change_tags(self, request: Request, existing: Existing, names: frozenset[str]) -> list[str]:
        """EC2 has one call for all its types; for others a change of tags is reported as not made."""
        if not self.row.tag_resource_type or "Tags" not in names:
            return sorted(names)
        client = self._client(request.stack.region)
        before = {tag["Key"]: str(tag["Value"]) for tag in existing.properties.get("Tags", [])}
        after = {tag["Key"]: str(tag["Value"]) for tag in request.properties.get("Tags", [])}
        with api_reasons():
            if dropped := before.keys() - after.keys():
                client.delete_tags(Resources=[existing.physical_id], Tags=[{"Key": key} for key in dropped])
            if after:
                tags = [{"Key": key, "Value": value} for key, value in after.items()]
                client.create_tags(Resources=[existing.physical_id], Tags=tags)
        return []

    # ---- calls ---------------------------------------------------------------------------------------------

    def _client(self, region: str) -> Any:
        return self._clients.get(self.row.service, region)

    def _input_shape(self, operation: str, region: str) -> Any:
        meta = self._client(region).meta
        return meta.service_model.operation_model(meta.method_to_api_mapping[operation]).input_shape

    def _in_settings(self, name: str) -> bool:
        return name in self.row.settings or any(setting.apply.uses(name) for setting in self.row.settings.values())

    def _in_update(self, name: str) -> bool:
        update = self.row.update
        if update is None:
            return False
        # The region does not matter for the form of a call.
        shape = self._input_shape(update.operation, "us-east-1")
        target = update.rename.get(name, name).split(".")[0]
        return update.uses(name) or member_named(shape, target) is not None

    def _call_with_properties(self, call: Call, request: Request, about: dict[str, Any], unmapped: list[str]) -> Any:
        """Fit all properties to a call, except those that settings or expressions take care of."""
        apart = {name for name, setting in self.row.settings.items() if not setting.in_create}
        if self.row.tag_resource_type:
            apart.add("Tags")
        plain = {name: value for name, value in request.properties.items() if name not in apart and not call.uses(name)}
        fitter = Fitter(call.rename)
        shape = self._input_shape(call.operation, request.stack.region)
        arguments = fitter.fit(shape, plain)
        unmapped += fitter.unmapped
        tags = request.properties.get("Tags")
        if self.row.tag_resource_type and tags and "TagSpecifications" in shape.members:
            texts = [{"Key": tag["Key"], "Value": str(tag["Value"])} for tag in tags]
            arguments["TagSpecifications"] = [{"ResourceType": self.row.tag_resource_type, "Tags": texts}]
        return self._call(call, about, unmapped, "", arguments)

    def _call(
        self,
        call: Call,
        about: Mapping[str, Any],
        unmapped: list[str],
        path: str,
        fitted: Mapping[str, Any] | None = None,
    ) -> Any:
        region = about["region"]
        fitter = Fitter(call.rename if fitted is None else {})
        computed = {name: evaluate(text, dict(about)) for name, text in call.arguments.items()}
        plain = {name: value for name, value in (fitted or {}).items() if name not in computed}
        arguments = fitter.fit(self._input_shape(call.operation, region), computed)
        unmapped += [f"{path}: {place}" if path else place for place in fitter.unmapped]
        return getattr(self._client(region), call.operation)(**plain, **arguments)

    def _call_unless_gone(self, call: Call, about: Mapping[str, Any]) -> None:
        with api_reasons():
            try:
                self._call(call, about, [], "")
            except ClientError as error:
                code = error.response["Error"]["Code"]
                if not any(part in code for part in _GONE):
                    raise

    def _attributes(self, request: Request, about: dict[str, Any]) -> dict[str, Any]:
        with api_reasons():
            reads = {name: self._call(call, about, [], "") for name, call in self.row.reads.items()}
        about = {**about, "reads": reads, "properties": request.properties}
        found: dict[str, Any] = {}
        for name, text in self.row.attributes.items():
            value = evaluate(text, {**about, "attributes": found})
            if value is not None:
                found[name] = value
        return found


@contextmanager
def api_reasons() -> Iterator[None]:
    """Turn what botocore raises into the sentence that CloudFormation would show."""
    try:
        yield
    except ClientError as error:
        detail = error.response["Error"]
        raise ProvisioningError(
            f'Resource handler returned message: "{detail.get("Message", "")}"'
            f" (API: {error.operation_name}, Code: {detail['Code']})"
        ) from error
    except BotoCoreError as error:
        raise ProvisioningError(f"Properties validation failed: {error}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise ProvisioningError(f"Properties validation failed: {type(error).__name__}: {error}") from error


def _reads(call: Call, changed: frozenset[str]) -> bool:
    return any(call.uses(name) for name in changed)


def _values(setting: Setting, value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if setting.each else [value]
