"""The CDK bootstrap that deploys an environment: shared by an account's Region, or the environment's own."""

from pathlib import Path

from slipway.assembly.stacks import STACK, read_artifacts

DEFAULT_QUALIFIER = "hnb659fds"
"""The qualifier of a bootstrap that names none (CDK guide, "Customize AWS CDK bootstrapping")."""

_VERSION = "/cdk-bootstrap/{}/version"


def read_qualifier(assembly: Path) -> str:
    """Return the qualifier in the names of the bootstrap that an assembly's stacks require.

    Raises:
        NoAssemblyError: the folder is not a cloud assembly.
    """
    before, after = _VERSION.split("{}")
    for artifact in read_artifacts(assembly, STACK).values():
        if parameter := artifact["properties"].get("bootstrapStackVersionSsmParameter"):
            return str(parameter).removeprefix(before).removesuffix(after)
    return DEFAULT_QUALIFIER


def version_parameter(qualifier: str) -> str:
    """Return the name of the SSM parameter that holds the version of a bootstrap."""
    return _VERSION.format(qualifier)


def bootstrap_command(account_id: str, region: str, qualifier: str) -> str:
    """Return the command that bootstraps an account's Region, or renews what exists.

    It names no policies: a first bootstrap gives CloudFormation's role AdministratorAccess, and a later one keeps what
    somebody narrowed it to.
    """
    own = (
        ""
        if qualifier == DEFAULT_QUALIFIER
        else f" --qualifier {qualifier} --toolkit-stack-name CDKToolkit-{qualifier}"
    )
    return f"npx cdk bootstrap aws://{account_id}/{region}{own}"
