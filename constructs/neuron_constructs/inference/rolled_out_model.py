"""Which version of a model is served, as parameters of the stack that serves it.

A roll-out is an update of the stack with its own template and another value: version, hosts and tasks change together,
and when tasks do not become healthy CloudFormation takes all of it back. An SSM parameter would be a second truth: the
stack's roll-back leaves it alone, and CloudFormation writes its first value again whenever a tag of it changes.
`cdk deploy` goes on with the values that a stack has.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import aws_cdk as cdk

from neuron_constructs.inference.model import NOT_PINNED

METADATA = "Slipway::RolledOutModels"
"""Key of the template's metadata that tells `slipway roll-out` what each model's service is: by the model's name."""

WHOLE = 100
"""Weight of a service that has all requests of a model."""

_MOST_TASKS = 1000
"""More than an environment file can say: somebody may have raised a service by hand."""

_VERSION = r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?"

Description = str | int | float | bool | None | Sequence[str] | Mapping[str, int]
"""A value of a service's description."""


@dataclass(frozen=True, kw_only=True)
class RolledOutModelProps:
    """Properties of a `RolledOutModel`."""

    name: str
    """The model's name: versions are folders below it."""

    slug: str
    """The name in PascalCase: the first part of all names in the template, one of its own in the stack."""

    none_chosen: str
    """Value of the parameters before the first roll-out, and of the candidate's while there is none."""

    service: Mapping[str, Description]
    """What a version must fit; `slipway.operate.roll_out.service.ServiceDescription` says which values."""

    canary: bool
    """Whether a second version, the candidate, can be served beside the first one."""

    task_count: int | None = None
    """Tasks to begin with, for a service whose tasks change in number: a parameter then, so that a roll-out keeps as
    many as scaling has made of them. None for a service with a count that stays."""


class RolledOutModel:
    """Parameters of a stack, and the conditions that tell whether there is a version at all."""

    prefix: str
    """Prefix that is served, a parameter's value."""

    manifest_sha256: str
    """SHA-256 of its manifest, a parameter's value."""

    is_chosen: cdk.CfnCondition
    """Whether there is one."""

    candidate_prefix: str | None
    """Prefix that the candidate's service serves; none without `canary`."""

    candidate_manifest_sha256: str
    """SHA-256 of its manifest, a parameter's value."""

    candidate_is_chosen: cdk.CfnCondition | None
    """Whether there is one."""

    weights: tuple[int, int] | None
    """Parts of the requests for the served version and for the candidate: 100 and 0 until `slipway roll-out --canary`
    sets them; none without `canary`."""

    task_count: int | None
    """Tasks that a deployment starts, a parameter's value; none where `RolledOutModelProps.task_count` is none."""

    def __init__(self, stack: cdk.Stack, props: RolledOutModelProps) -> None:
        """Add the parameters to the stack."""
        self._stack, self._props = stack, props
        self._names: dict[str, str] = {}
        served = self._version("served", "that is served; `slipway roll-out` sets it")
        previous = self._version("previous", "that was served before; `slipway roll-out --back` returns")
        self.manifest_sha256 = self._manifest("served_manifest").value_as_string
        previous_manifest = self._manifest("previous_manifest")
        self.candidate_manifest_sha256 = NOT_PINNED
        self.prefix = served.value_as_string
        self.is_chosen = self._is_chosen("IsRolledOut", served)
        self.candidate_prefix = self.candidate_is_chosen = self.weights = None
        if props.canary:
            self._add_candidate()
        self.task_count = None if props.task_count is None else self._task_count(props.task_count)
        self._output("ServedVersion", served, "Version that is served")
        self._output("VersionBefore", previous, "Version that was served before")
        self._output("ManifestBefore", previous_manifest, "SHA-256 of that version's manifest")
        metadata = stack.template_options.metadata or {}
        described = {**props.service, "none_chosen": props.none_chosen, "parameters": self._names}
        stack.add_metadata(METADATA, {**metadata.get(METADATA, {}), props.name: described})

    def _add_candidate(self) -> None:
        self.candidate_manifest_sha256 = self._manifest("candidate_manifest").value_as_string
        candidate = self._version("candidate", "to which a part of the requests goes; `slipway roll-out --canary`")
        weights = (
            self._weight("served_weight", WHOLE, "of the served version"),
            self._weight("candidate_weight", 0, "of the candidate"),
        )
        self.candidate_prefix = candidate.value_as_string
        self.candidate_is_chosen = self._is_chosen("HasCandidate", candidate)
        self.weights = cast("tuple[int, int]", tuple(weight.value_as_number for weight in weights))
        # Whoever sets parameters by hand: no request may go to a service without a task.
        cdk.CfnRule(
            self._stack,
            f"{self._props.slug}CandidateHasVersion",
            rule_condition=cdk.Fn.condition_not(cdk.Fn.condition_equals(weights[1].value_as_string, "0")),
            assertions=[
                cdk.CfnRuleAssertion(
                    assert_=cdk.Fn.condition_not(
                        cdk.Fn.condition_equals(candidate.value_as_string, self._props.none_chosen)
                    ),
                    assert_description=f"only a candidate of {self._props.name} that has a version gets requests",
                )
            ],
        )
        self._output("CandidateVersion", candidate, "Version to which a part of the requests goes")
        self._output("CandidatePercent", weights[1], "How many of a hundred requests go to it")

    def _version(self, key: str, what: str) -> cdk.CfnParameter:
        none, name = re.escape(self._props.none_chosen), re.escape(self._props.name)
        return cdk.CfnParameter(
            self._stack,
            self._name(key),
            type="String",
            default=self._props.none_chosen,
            # The value becomes part of a shell script and of paths.
            allowed_pattern=f"^({none}|{name}/{_VERSION})$",
            constraint_description=f"must be {self._props.name}/VERSION",
            description=f"Prefix of {self._props.name} {what}",
        )

    def _manifest(self, key: str) -> cdk.CfnParameter:
        return cdk.CfnParameter(
            self._stack,
            self._name(key),
            type="String",
            default=NOT_PINNED,
            allowed_pattern=f"^({NOT_PINNED}|[0-9a-f]{{64}})$",
            constraint_description=f"must be a SHA-256 in hexadecimal digits, or {NOT_PINNED}",
            description=f"SHA-256 of a manifest of {self._props.name} that hosts insist on; `slipway roll-out` sets it",
        )

    def _weight(self, key: str, default: int, whose: str) -> cdk.CfnParameter:
        return cdk.CfnParameter(
            self._stack,
            self._name(key),
            type="Number",
            default=default,
            min_value=0,
            max_value=WHOLE,
            description=f"Part of the requests for {self._props.name} {whose}; `slipway roll-out` sets it",
        )

    def _task_count(self, default: int) -> int:
        parameter = cdk.CfnParameter(
            self._stack,
            self._name("task_count"),
            type="Number",
            default=default,
            min_value=0,
            max_value=_MOST_TASKS,
            description=f"Tasks of {self._props.name} that a deployment starts; `slipway roll-out` keeps what runs",
        )
        return cast("int", parameter.value_as_number)

    def _name(self, key: str) -> str:
        """Name a parameter, and note it for the metadata: `candidate_weight` is `Tanuki8bCandidateWeight`."""
        words = "".join(word.capitalize() for word in key.split("_"))
        self._names[key] = self._props.slug + words
        return self._names[key]

    def _is_chosen(self, what: str, version: cdk.CfnParameter) -> cdk.CfnCondition:
        expression = cdk.Fn.condition_not(cdk.Fn.condition_equals(version.value_as_string, self._props.none_chosen))
        return cdk.CfnCondition(self._stack, f"{self._props.slug}{what}", expression=expression)

    def _output(self, what: str, parameter: cdk.CfnParameter, description: str) -> None:
        cdk.CfnOutput(
            self._stack,
            f"{self._props.slug}{what}",
            value=parameter.value_as_string,
            description=f"{description}: {self._props.name}",
        )
