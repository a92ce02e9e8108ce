"""An environment as it is deployed: its stacks and their outputs. Nothing is synthesized, the file is read."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from slipway.assembly.environment_files import WrongChoiceError, environment_file
from slipway.assembly.stacks import ENVIRONMENT_TAG
from slipway.aws.account import Account, open_account
from slipway.aws.refusals import UNANSWERED, words_of
from slipway.aws.stacks import DeployedStack, deployed_stacks
from slipway.config import Environment, InvalidEnvironment, load_environment
from slipway.errors import RefusedError

_PUBLISHED = "PublishOutput"
"""Prefix of the outputs that stacks read from each other: people do not need them."""


@dataclass(frozen=True)
class DeployedEnvironment:
    """A deployed environment.

    Attributes:
        choice: its name or file, as given on the command line.
        settings: its file.
        account: account and Region.
        stacks: its stacks by name, found by their tag; empty if it is not deployed.
    """

    choice: str
    settings: Environment
    account: Account
    stacks: Mapping[str, DeployedStack]

    @property
    def name(self) -> str:
        """The environment's name."""
        return self.settings.name

    @property
    def outputs(self) -> dict[str, str]:
        """The outputs of all stacks that are for people, by name."""
        return {
            key: value
            for stack in self.stacks.values()
            for key, value in stack.outputs.items()
            if not key.startswith(_PUBLISHED)
        }

    def command(self, name: str, *words: str) -> str:
        """Return a command line of Slipway's about this environment, for a message."""
        return shlex.join(["slipway", name, "-e", self.choice, *words])


def find_environment(choice: str) -> DeployedEnvironment:
    """Look an environment up.

    Args:
        choice: a name in environments/, or a file that ends in .yaml.

    Raises:
        RefusedError: the file is missing or invalid, there are no credentials, or AWS does not answer.
    """
    try:
        settings = load_environment(environment_file(choice))
    except (WrongChoiceError, InvalidEnvironment) as invalid:
        raise RefusedError(str(invalid)) from invalid
    account = open_account(settings.region, settings.account)
    try:
        found = deployed_stacks(account.client("cloudformation"))
    except UNANSWERED as error:
        raise RefusedError(f"AWS does not say what exists: {words_of(error)}") from error
    ours = {name: stack for name, stack in found.items() if stack.tags.get(ENVIRONMENT_TAG) == settings.name}
    return DeployedEnvironment(choice, settings, account, ours)
