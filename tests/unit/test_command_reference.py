"""docs/commands.md, and what is the same in every command."""

from typing import Any

import pytest

from slipway.command_reference import COMMANDS_FILE, commands, exit_codes, with_commands

COMMANDS = dict(commands())
WITHOUT_ENVIRONMENT = {"lint", "judge", "init", "setup", "docs"}
"""One takes files of ParallelCluster, the other as many names as one likes, or all."""

each = pytest.mark.parametrize("name", COMMANDS)


def parameters(name: str) -> dict[str, Any]:
    return {parameter.name: parameter for parameter in COMMANDS[name].params}


def test_the_document_has_the_commands_of_today() -> None:
    text = COMMANDS_FILE.read_text(encoding="utf-8")

    assert with_commands(text) == text, "run `make schema`"


@each
def test_an_environment_is_named_in_one_way_and_never_by_default(name: str) -> None:
    environment = parameters(name).get("environment")

    assert (environment is None) == (name in WITHOUT_ENVIRONMENT)
    if environment:
        assert set(environment.opts) == {"--environment", "-e"}
        assert (environment.default, environment.envvar) == (None, None)


@each
def test_json_is_a_flag_that_is_off_by_default(name: str) -> None:
    for parameter in parameters(name).values():
        if "--json" in parameter.opts:
            assert (parameter.name, parameter.is_flag, parameter.default) == ("as_json", True, False)


@each
def test_the_help_says_what_each_exit_code_means(name: str) -> None:
    assert "2 " in exit_codes(COMMANDS[name])
