"""The commands that README and docs print: those of their blocks, and those named in a sentence."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.assembly import PROJECT

PAGES = [
    PROJECT / "README.md",
    *sorted((PROJECT / "docs").glob("*.md")),
    *sorted((PROJECT / "assets").rglob("README.md")),
]

CHECKED = {"slipway", "slipway-job", "make", "aws", "kubectl", "cdk", "pcluster", "python", "sbatch"}
"""Programs whose commands the tests check."""

OTHERS = {
    *(
        "cd",
        "cp",
        "curl",
        "du",
        "echo",
        "export",
        "find",
        "gh",
        "git",
        "grep",
        "jq",
        "pipx",
        "sed",
        "source",
        "sudo",
        "systemctl",
        "tr",
    ),
    # tests/jobs/test_run_script.py runs the example, tests/slurm/test_shell.py the shell.
    *("bash", "srun"),
    *(".", "lfs", "readlink", "scontrol", "sinfo", "squeue", "torchrun", "xargs"),
    # tests/training/test_own_environment.py runs them.
    *("/apps/neuron/current/bin/python", "/fsx/envs/mine/bin/pip"),
}
"""Programs whose commands they do not check."""

BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:^    .*\n)+", re.MULTILINE)
_SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_PLACEHOLDER = re.compile(r"<[a-z -]+>")
_INNER = re.compile(r"\$\(([^()]*)\)")
_HERE_DOCUMENT = re.compile(r"<<'(\w+)'\n.*?^\1$", re.MULTILINE | re.DOTALL)
_BETWEEN_COMMANDS = {"&&", "||", "|", ";", "&"}


@dataclass(frozen=True)
class Command:
    """One command, without its variables, redirections and comment."""

    page: Path
    words: tuple[str, ...]
    """The program's name first."""

    whole: bool
    """Whether it stands in a block, to be typed as it is; in a sentence arguments may be missing."""

    def __str__(self) -> str:
        return f"{self.page.name}: {' '.join(self.words)}"


def commands() -> list[Command]:
    """All commands of all pages, each once a page."""
    return list(dict.fromkeys(command for page in PAGES for command in _of_page(page)))


def _of_page(page: Path) -> Iterator[Command]:
    text = page.read_text(encoding="utf-8")
    for language, body in BLOCK.findall(text):
        if language in {"", "bash", "console"}:
            # Blocks without a language may show what a program prints.
            yield from _of_lines(page, body, only_known=not language)
    prose = BLOCK.sub("", text)
    for body in _INDENTED.findall(prose):
        yield from _of_lines(page, body, only_known=True)
    for span in _SPAN.findall(prose):
        for command in commands_of_line(page, " ".join(span.split()), whole=False):
            if len(command.words) > 1 and command.words[0] in CHECKED:
                yield command


def _of_lines(page: Path, body: str, *, only_known: bool) -> Iterator[Command]:
    for line in _HERE_DOCUMENT.sub("", body).replace("\\\n", " ").splitlines():
        for command in commands_of_line(page, line.strip(), whole=True):
            if not only_known or command.words[0] in CHECKED:
                yield command


def commands_of_line(page: Path, line: str, *, whole: bool) -> Iterator[Command]:
    """Yield the commands of a line, those in `$(...)` first."""
    line = _PLACEHOLDER.sub("PLACEHOLDER", line)
    for inner in _INNER.findall(line):
        yield from commands_of_line(page, inner, whole=whole)
    try:
        lexer = shlex.shlex(_INNER.sub("ANSWER", line), posix=True, punctuation_chars="&|;")
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:
        return
    command: list[str] = []
    for word in [*words, ";"]:
        if word not in _BETWEEN_COMMANDS:
            command.append(word)
        elif command:
            yield from _named(page, command, whole=whole)
            command = []


def _named(page: Path, words: list[str], *, whole: bool) -> Iterator[Command]:
    while words and re.fullmatch(r"[A-Za-z_]+=.*", words[0]):
        words = words[1:]
    if words[:1] == ["npx"]:
        words = words[1:]
    if words:
        program = words[0].rsplit("/", 1)[-1] if words[0].startswith(".") and "/" in words[0] else words[0]
        yield Command(page, (program, *words[1:]), whole)
        if words[:2] == ["slipway", "job"] and "--" in words:
            yield Command(page, ("slipway-job", *words[words.index("--") + 1 :]), whole)
