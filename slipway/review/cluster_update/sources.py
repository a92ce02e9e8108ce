"""Where the templates of the deployed and of the wanted environment come from."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from slipway.assembly.stacks import CLUSTER_TYPE, NoAssemblyError, read_stacks
from slipway.review.cluster_update.errors import NotComparableError

Template = Mapping[str, Any]
Templates = Mapping[str, Template]
"""Templates by the name of their stack."""


def templates_of_assembly(folder: Path) -> tuple[Templates, str]:
    """Return the templates of a cloud assembly and the Region of the stack that holds its cluster.

    Raises:
        NotComparableError: the folder is not a cloud assembly, or it does not have exactly one cluster.
    """
    try:
        stacks = read_stacks(folder)
    except NoAssemblyError as error:
        raise NotComparableError(str(error)) from error
    templates = {stack.name: stack.template for stack in stacks}
    holder = stack_of_cluster(templates, str(folder))
    return templates, next(stack.region for stack in stacks if stack.name == holder)


def templates_of_file(path: Path, stack_name: str) -> Templates:
    """Return a stored template, JSON or YAML, under the name of the stack that it is compared with.

    Raises:
        NotComparableError: there is no such file, or it is no template with a cluster.
    """
    try:
        template = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise NotComparableError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(template, dict) or not isinstance(template.get("Resources"), dict):
        raise NotComparableError(f"{path} is not a CloudFormation template: it has no Resources")
    templates = {stack_name: template}
    stack_of_cluster(templates, str(path))
    return templates


def deployed_templates(names: Iterable[str], cluster_stack: str, region: str, owner: str | None) -> Templates:
    """Return the templates that CloudFormation holds; stacks that are not deployed are left out.

    Args:
        names: names of the stacks.
        cluster_stack: the stack that has to be there.
        region: AWS Region of all of them.
        owner: id of the AWS account that the environment file names; None allows any.

    Raises:
        NotComparableError: no credentials, no permission, no connection, or the cluster's stack is not deployed.
        RefusedError: the credentials are another account's.
    """
    # AWS is imported by those who talk to it: other commands start without it.
    from slipway.aws.account import Account  # noqa: PLC0415
    from slipway.aws.refusals import UNANSWERED  # noqa: PLC0415
    from slipway.aws.stacks import deployed_template  # noqa: PLC0415

    try:
        account = Account.in_region(region, owner)
        _ = account.caller
        client = account.client("cloudformation")
        found = {name: deployed_template(client, name) for name in names}
    except UNANSWERED as error:
        fix = "set AWS_PROFILE or log in, or compare with --against"
        raise NotComparableError(f"CloudFormation in {region} does not answer: {error}; {fix}") from error
    templates = {name: template for name, template in found.items() if template is not None}
    if cluster_stack not in templates:
        raise NotComparableError(
            f"{cluster_stack} is not deployed in {region}, with these credentials: the first deployment makes the "
            "cluster, there is none to update"
        )
    stack_of_cluster({cluster_stack: templates[cluster_stack]}, f"the deployed stack {cluster_stack}")
    return templates


def stack_of_cluster(templates: Templates, where: str) -> str:
    """Return the name of the stack that holds the one cluster.

    Raises:
        NotComparableError: there is none, or several.
    """
    found = [
        name
        for name, template in templates.items()
        for resource in template.get("Resources", {}).values()
        if resource["Type"] == CLUSTER_TYPE
    ]
    if not found:
        raise NotComparableError(f"{where} has no Slurm cluster ({CLUSTER_TYPE}): there is none to update")
    if len(found) > 1:
        raise NotComparableError(f"{where} must have exactly one {CLUSTER_TYPE}, it has {len(found)}")
    return found[0]
