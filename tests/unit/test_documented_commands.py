"""No document prints a command that is refused: each is read by the program's own parser, or checked against it."""

import importlib.util
import json
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
import typer

import slipway.cli
import slipway_jobs.cli
from tests import aws_command
from tests.assembly import PROJECT
from tests.documented_commands import CHECKED, OTHERS, Command, commands, commands_of_line
from tests.kubernetes.kubectl import unpack_kubectl

COMMANDS = commands()
PLACES = {"ENV": "default", "mine": "default", "NAME": "default", "/tmp/recipe.yaml": "tiny-llama"}
"""Placeholders of the documents, and what a user would write."""

LOG_LINES = {"health", "bake_image.sh"}
"""What programs on the nodes write behind `slipway`."""

PCLUSTER = PROJECT / ".tools" / "parallelcluster" / "bin" / "pcluster"
SHIPPED_RECIPES = {path.stem for path in (PROJECT / "assets" / "jobs" / "recipes").glob("*.yaml")}


def of(program: str) -> "pytest.MarkDecorator":
    found = [command for command in COMMANDS if command.words[0] == program]
    assert found
    return pytest.mark.parametrize("command", found, ids=str)


def test_each_program_that_the_documents_run_is_known_here() -> None:
    assert not [str(command) for command in COMMANDS if command.words[0] not in CHECKED | OTHERS]


def parse(app: typer.Typer, command: Command) -> list[str]:
    """Let the program's own parser read a command, which raises what it refuses; return its command's name.

    A mention in a sentence may lack arguments: of it only the options must be there.
    """
    words = [PLACES.get(word, word) for word in command.words[1:]]
    program, names, context = typer.main.get_command(app), [], None
    while hasattr(program, "commands") and words and not words[0].startswith("-"):
        context = program.make_context("slipway", [words[0]], parent=context)
        names.append(words.pop(0))
        program = program.commands[names[-1]]
    if command.whole:
        program.make_context(names[-1], words, parent=context)
    else:
        known = {option for parameter in program.params for option in parameter.opts} | {"--help"}
        own = words[: words.index("--")] if "--" in words else words
        assert {word for word in own if word.startswith("-")} <= known
    return names


@of("slipway")
def test_slipway_takes_it(command: Command) -> None:
    if command.words[1] not in LOG_LINES | {"COMMAND"}:
        parse(slipway.cli.app, command)


@of("slipway-job")
def test_slipway_job_takes_it(command: Command) -> None:
    names = parse(slipway_jobs.cli.app, command)

    if names in (["submit"], ["check"]) and command.words[2:]:
        recipe = command.words[2]
        assert recipe in SHIPPED_RECIPES or recipe.endswith(".yaml") or recipe == "RECIPE"


@of("aws")
def test_the_aws_cli_takes_it(command: Command) -> None:
    assert not list(aws_command.problems(command.words[1:], whole=command.whole))


def printed_by_outputs() -> list[Command]:
    """The commands in the outputs of the shipped environments' templates, as the snapshots have them."""
    found = []
    for file in sorted((PROJECT / "tests" / "snapshot" / "__snapshots__").rglob("*.json")):
        for output in json.loads(file.read_text(encoding="utf-8")).get("Outputs", {}).values():
            value = output["Value"]
            parts = value.get("Fn::Join", ["", []])[1] if isinstance(value, dict) else [value]
            text = "".join(part if isinstance(part, str) else "VALUE" for part in parts)
            found += [command for command in commands_of_line(file, text, whole=True) if command.words[0] == "aws"]
    assert found
    return found


@pytest.mark.parametrize("command", printed_by_outputs(), ids=str)
def test_the_aws_cli_takes_what_an_output_prints(command: Command) -> None:
    assert not list(aws_command.problems(command.words[1:]))


@of("make")
def test_make_has_the_target_and_the_variables(command: Command) -> None:
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))
    [names] = re.findall(r"foreach name,([A-Z_ ]+),", makefile)
    variables = set(names.split())

    for word in command.words[1:]:
        variable, is_variable, _ = word.partition("=")
        assert variable in variables if is_variable else word in targets


@cache
def help_of(*words: str | Path) -> str:
    """What a program says about a command of its own."""
    shown = subprocess.run([*words, "--help"], capture_output=True, text=True, check=True, cwd=PROJECT, timeout=120)
    return shown.stdout


def unknown_options(command: Command, program: Path) -> list[str]:
    """Options of a command that the program's help for it does not name."""
    known = set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", help_of(program, command.words[1])))
    options = {word.split("=")[0] for word in command.words[2:] if word.startswith("-")}
    return sorted(options - known)


@of("cdk")
def test_the_cdk_cli_takes_it(command: Command) -> None:
    subcommand = command.words[1]
    if subcommand.startswith("-") or (not command.whole and len(command.words) == 2):
        return
    assert not unknown_options(command, PROJECT / "node_modules" / ".bin" / "cdk")


@pytest.mark.skipif(not PCLUSTER.exists(), reason="make judge has not installed aws-parallelcluster")
@of("pcluster")
def test_pcluster_takes_it(command: Command) -> None:
    assert not unknown_options(command, PCLUSTER)


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The CDK's kubectl."""
    return unpack_kubectl(tmp_path_factory.mktemp("kubectl"))


@of("kubectl")
def test_kubectl_takes_it(command: Command, kubectl: Path) -> None:
    # It reads all flags before it shows the help. What follows `--` is for the container.
    end = command.words.index("--") if "--" in command.words else None
    read = subprocess.run(
        [kubectl, *command.words[1:end], "--help"],
        capture_output=True,
        text=True,
        check=False,
        env={"HOME": "/nonexistent", "KUBECONFIG": "/dev/null"},
        timeout=60,
    )

    assert read.returncode == 0, read.stderr


@of("python")
def test_the_module_that_python_runs_exists(command: Command) -> None:
    if command.words[1] == "-m":
        assert importlib.util.find_spec(command.words[2])


@of("sbatch")
def test_the_job_that_is_submitted_is_one_that_the_head_node_has(command: Command) -> None:
    for word in command.words:
        if word.startswith("/apps/slipway/smoke/"):
            assert (PROJECT / "assets" / "cluster" / word.removeprefix("/apps/slipway/")).is_file()
