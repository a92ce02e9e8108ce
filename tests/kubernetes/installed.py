"""The manifests and charts that a template installs in its cluster."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Installed:
    """What a stack with `ClusterSoftware` installs."""

    template: Mapping[str, Any]

    def resources(self, resource_type: str) -> dict[str, Any]:
        """Return the template's resources of one type, by logical id."""
        return {
            logical_id: resource
            for logical_id, resource in self.template["Resources"].items()
            if resource["Type"] == resource_type
        }

    def manifests(self) -> dict[str, list[dict[str, Any]]]:
        """Return the objects of each manifest, by logical id; what only the deployment knows is `known-later`."""
        found = self.resources("Custom::AWSCDK-EKS-KubernetesResource")
        return {
            logical_id: json.loads(resolved(resource["Properties"]["Manifest"]))
            for logical_id, resource in found.items()
        }

    def objects(self) -> list[dict[str, Any]]:
        """Return the objects of all manifests."""
        return [each for objects in self.manifests().values() for each in objects]

    def named(self, kind: str, name: str, namespace: str | None = None) -> dict[str, Any]:
        """Return the only object of a kind and name, in one namespace or anywhere."""
        (found,) = (
            each
            for each in self.objects()
            if each["kind"] == kind
            and each["metadata"]["name"] == name
            and namespace in (None, each["metadata"].get("namespace"))
        )
        return found

    def charts(self) -> dict[str, dict[str, Any]]:
        """Return the properties of the charts by release, their values read."""
        found = [resource["Properties"] for resource in self.resources("Custom::AWSCDK-EKS-HelmChart").values()]
        return {each["Release"]: {**each, "Values": json.loads(resolved(each["Values"]))} for each in found}


def resolved(value: Any) -> str:
    """Return a text of a template as CloudFormation would, with `known-later` where it asks another resource."""
    if isinstance(value, str):
        return value
    if set(value) == {"Fn::Join"}:
        separator, parts = value["Fn::Join"]
        return str(separator).join(resolved(part) for part in parts)
    return "known-later"
