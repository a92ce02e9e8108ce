"""The account behind one cloud assembly: its resources, made in moto as the templates describe them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError

from slipway.review.judge.inside_parallelcluster.references import Made, References, Stack, UnresolvedReferenceError
from slipway.review.judge.inside_parallelcluster.resources import MAKERS, Region


class ResolvedProperties(Mapping[str, Any]):
    """The properties of a template's resource, each resolved when it is read: what nobody reads needs no resource."""

    def __init__(self, properties: Mapping[str, Any], stack: Stack, references: References) -> None:
        """Wrap the properties of a resource of `stack`."""
        self._properties = properties
        self._stack = stack
        self._references = references

    def __getitem__(self, name: str) -> Any:
        return self._references.resolve(self._properties[name], self._stack)

    def __iter__(self) -> Iterator[str]:
        return iter(self._properties)

    def __len__(self) -> int:
        return len(self._properties)


class Account:
    """Makes the resources of all stacks, each once, each after the ones it refers to."""

    def __init__(self, stacks: Sequence[Stack], uploads: Mapping[str, Sequence[str]]) -> None:
        """Create an empty account.

        Args:
            stacks: the stacks of the assembly.
            uploads: the paths of the files in each file asset, by the asset's key in the bootstrap bucket.
        """
        self._stacks = {stack.name: stack for stack in stacks}
        self._regions = {name: Region(name, uploads) for name in {stack.region for stack in stacks}}
        self._made: dict[tuple[str, str], Made | None] = {}
        self.references = References(self._stacks, self._resource)

    def make_all(self) -> list[str]:
        """Make every resource that has a maker; give one message for each that could not be made."""
        problems = []
        for stack in self._stacks.values():
            for logical_id, resource in stack.resources.items():
                if resource["Type"] in MAKERS:
                    try:
                        self._resource(stack, logical_id)
                    except UnresolvedReferenceError as problem:
                        problems.append(str(problem))
        return problems

    def _resource(self, stack: Stack, logical_id: str) -> Made:
        key = (stack.name, logical_id)
        if key in self._made:
            made = self._made[key]
            if made is None:
                raise UnresolvedReferenceError(f"{stack.name}: {logical_id} refers to itself or could not be made")
            return made
        resource = stack.resources[logical_id]
        maker = MAKERS.get(resource["Type"])
        if maker is None:
            raise UnresolvedReferenceError(
                f"{stack.name}: {logical_id} is a {resource['Type']}, which the judge cannot make in moto"
            )
        self._made[key] = None
        properties = ResolvedProperties(resource.get("Properties", {}), stack, self.references)
        try:
            made = maker(self._regions[stack.region], properties, f"{stack.name}-{logical_id}")
        except (ClientError, KeyError) as problem:
            raise UnresolvedReferenceError(
                f"{stack.name}: {logical_id} ({resource['Type']}) cannot be made in moto: {problem}"
            ) from problem
        self._made[key] = made
        return made
