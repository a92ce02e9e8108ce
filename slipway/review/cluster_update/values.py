"""Names in the place of references, so that values can be compared before anything is deployed.

Equal references give equal values, unless what they refer to is new or will be replaced: then its id is not known
before the deployment, and the name says so.
"""

import json
from collections.abc import Mapping
from typing import Any

from slipway.review.cluster_update.sources import Template, Templates
from slipway_emulator.stacks.registry import replacing_properties

UNKNOWN = "(not known before the deployment)"
"""Stands behind the name of a resource whose id the deployment will give."""


class Names:
    """Writes the values of one set of templates with names in the place of references."""

    def __init__(self, templates: Templates, followed: frozenset[str]) -> None:
        """Create the writer.

        Args:
            templates: the templates by stack name.
            followed: the stacks whose outputs are followed to the resource behind; others keep the output's name.
        """
        self._templates = templates
        self._followed = followed

    def written(self, value: Any, stack: str) -> Any:
        """Return a value of a stack's template with a text for every intrinsic function."""
        if isinstance(value, list):
            return [self.written(item, stack) for item in value]
        if not isinstance(value, Mapping):
            return value
        if len(value) == 1:
            function, argument = next(iter(value.items()))
            if function == "Ref" or function.startswith("Fn::"):
                return self._function(function, argument, stack)
        return {key: self.written(item, stack) for key, item in value.items()}

    def _function(self, function: str, argument: Any, stack: str) -> Any:
        match function:
            case "Ref":
                return self._resource(argument, stack)
            case "Fn::GetAtt":
                logical_id, attribute = argument.split(".", 1) if isinstance(argument, str) else argument
                return f"{self._resource(logical_id, stack)}.{attribute}"
            case "Fn::Join":
                separator, items = argument
                return separator.join(str(item) for item in self.written(items, stack))
            case "Fn::GetStackOutput":
                return self._output(argument, stack)
            case _:
                return f"{function} {json.dumps(self.written(argument, stack), sort_keys=True)}"

    def _output(self, argument: Mapping[str, Any], stack: str) -> Any:
        producer, name = (self.written(argument[key], stack) for key in ("StackName", "OutputName"))
        output = self._templates[producer].get("Outputs", {}).get(name) if producer in self._followed else None
        return self.written(output["Value"], producer) if output else f"output {name} of {producer}"

    def _resource(self, logical_id: str, stack: str) -> str:
        if logical_id in self._templates[stack].get("Resources", {}):
            return self._resource_name(logical_id, stack)
        return f"${{{logical_id}}}"

    def _resource_name(self, logical_id: str, stack: str) -> str:
        return f"{stack}/{logical_id}"


class WantedNames(Names):
    """The names of the wanted templates: it knows which resources the deployment makes again."""

    def __init__(self, wanted: Templates, deployed: Templates, region: str) -> None:
        """Compare with the deployed templates; `region` is where CloudFormation's rules of replacement are read."""
        followed = frozenset(wanted.keys() & deployed.keys())
        super().__init__(wanted, followed)
        self._deployed = deployed
        self._deployed_names = Names(deployed, followed)
        self._region = region
        self._anew: dict[tuple[str, str], bool] = {}

    @property
    def deployed(self) -> Names:
        """The names of the deployed templates."""
        return self._deployed_names

    def _resource_name(self, logical_id: str, stack: str) -> str:
        name = super()._resource_name(logical_id, stack)
        return f"{name} {UNKNOWN}" if self._made_anew(logical_id, stack) else name

    def _made_anew(self, logical_id: str, stack: str) -> bool:
        """Whether a resource is new, or one of its properties forces CloudFormation to replace it."""
        if stack not in self._deployed:
            return False
        key = (stack, logical_id)
        if key not in self._anew:
            # A circle of references ends here; CloudFormation allows none.
            self._anew[key] = False
            before = self._deployed[stack].get("Resources", {}).get(logical_id)
            self._anew[key] = before is None or self._replaced(before, self._templates[stack], logical_id, stack)
        return self._anew[key]

    def _replaced(self, before: Mapping[str, Any], template: Template, logical_id: str, stack: str) -> bool:
        after = template["Resources"][logical_id]
        if before["Type"] != after["Type"]:
            return True
        old = self._deployed_names.written(before.get("Properties", {}), stack)
        new = self.written(after.get("Properties", {}), stack)
        # The rules of replacement take half a second to load.
        return old != new and bool(replacing_properties(after["Type"], self._region, old, new))
