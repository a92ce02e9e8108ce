"""Which stack serves an environment's models: read from the environment file, nothing is synthesized."""

from collections.abc import Mapping
from dataclasses import dataclass

from slipway.assembly.environment_files import WrongChoiceError, environment_file
from slipway.config import InvalidEnvironment, load_environment
from slipway.errors import RefusedError


@dataclass(frozen=True)
class Place:
    """Where an environment's endpoint is.

    Attributes:
        environment: the environment's name.
        region: its AWS Region.
        account: id of the AWS account that its file names; None when it names none.
        fixed: the prefix of each model that is not rolled out.
    """

    environment: str
    region: str
    account: str | None
    fixed: Mapping[str, str]

    @property
    def stack(self) -> str:
        """Name of its inference stack, and of the ECS cluster in it."""
        return f"slipway-{self.environment}-inference"


def find_place(environment: str) -> Place:
    """Return where an environment's endpoint is.

    Args:
        environment: a name in environments/, or a file that ends in .yaml.

    Raises:
        RefusedError: there is no such file, it is not valid, or it has no endpoint.
    """
    try:
        found = load_environment(environment_file(environment))
    except (WrongChoiceError, InvalidEnvironment) as invalid:
        raise RefusedError(str(invalid)) from invalid
    if found.inference is None:
        raise RefusedError(f"environment {found.name} has no inference section: there is no endpoint")
    fixed = {model.name: model.prefix for model in found.inference.models if model.prefix is not None}
    return Place(found.name, found.region, found.account, fixed)
