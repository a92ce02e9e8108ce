"""Command lines of the AWS CLI against the service models that it reads itself (botocore)."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import botocore.session
import jmespath
from botocore import xform_name
from botocore.exceptions import UnknownServiceError
from jmespath.exceptions import JMESPathError

_MODELS = botocore.session.get_session()
_FOR_EVERY_COMMAND = {"region", "query", "output", "profile"}

# Commands that the CLI adds to the services' own, with the options that we print: awscli 1.46.3, customizations/s3/
# subcommands.py, customizations/eks/update_kubeconfig.py and get_token.py.
_OF_THE_CLI_ITSELF = {
    ("s3", "cp"): {"recursive", "only-show-errors"},
    ("s3", "sync"): {"delete"},
    ("s3", "rm"): {"recursive"},
    ("s3", "rb"): {"force"},
    ("eks", "update-kubeconfig"): {"name"},
    ("eks", "get-token"): {"cluster-name"},
}

OF_VERSION_2: dict[tuple[str, str], set[str]] = {
    ("logs", "tail"): {"since", "follow", "filter-pattern"},
    ("sso", "login"): set(),
}
"""Commands that only version 2 of the CLI has, which no registry of Python packages holds (its reference)."""


def problems(words: Sequence[str], *, whole: bool = True) -> Iterator[str]:
    """Yield why the CLI would refuse a command.

    Args:
        words: the command's words after `aws`.
        whole: whether it must have the options that AWS requires; a mention in a sentence need not.
    """
    service, name, *rest = [*words, "", ""][:2] + list(words[2:])
    options = {word[2:].split("=")[0] for word in rest if word.startswith("--")}
    yield from _problems_of_query(rest)
    own = (_OF_THE_CLI_ITSELF | OF_VERSION_2).get((service, name))
    if own is not None:
        yield from _unknown(options - _FOR_EVERY_COMMAND - own)
        return
    try:
        model = _MODELS.get_service_model(service)
    except UnknownServiceError:
        yield f"no service {service}"
        return
    operations = {xform_name(operation, "-"): operation for operation in model.operation_names}
    if name not in operations:
        yield f"{service} has no {name}"
        return
    shape = model.operation_model(operations[name]).input_shape
    members = {xform_name(member, "-") for member in shape.members} if shape else set()
    flags = {f"no-{member}" for member in members}
    yield from _unknown(options - _FOR_EVERY_COMMAND - members - flags)
    if whole and shape:
        required = {xform_name(member, "-") for member in shape.required_members}
        yield from (f"--{option} is missing" for option in sorted(required - options))


def _unknown(options: set[str]) -> Iterator[str]:
    yield from (f"no option --{option}" for option in sorted(options))


def _problems_of_query(words: Sequence[str]) -> Iterator[str]:
    for option, expression in pairwise(words):
        if option == "--query":
            try:
                jmespath.compile(expression)
            except JMESPathError as error:
                yield str(error)
