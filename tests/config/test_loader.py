"""Loading: files that are no environment at all, places in the file, and the speed of it."""

import re
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from slipway.config import InvalidEnvironment, Problem, load_environment
from slipway.config.loader import LARGEST_FILE_BYTES
from slipway.config.rules import scaling
from tests.config.files import MINIMAL, changed, load, problems_of, write

ENVIRONMENTS = Path(__file__).parents[2] / "environments"
SHIPPED = sorted(file.stem for file in ENVIRONMENTS.glob("*.yaml"))

IMAGE = "inference.models.0.image"
UNREADABLE = {
    "empty": (b"", 1, 1, "the file is empty"),
    "blank lines": (b"\n\n", 1, 1, "the file is empty"),
    "nothing": (b"---\n", 1, 1, "the file is empty"),
    "not UTF-8": (b"name: x\nregion: \xe9\n", 2, 9, "the byte 0xE9 is not UTF-8"),
    "UTF-16": ("name: x\n".encode("utf-16"), 1, 1, "the byte 0xFF is not UTF-8"),
    "control character": (b"name: x\nregion: \x07\n", 2, 9, "the character U+0007 is not allowed in YAML"),
    "deep lists": (b"a: " + b"[" * 1000, 1, 24, "more than 20 levels of nesting"),
    "deep mappings": (b"".join(b" " * n + b"a:\n" for n in range(100)), 22, 22, "more than 20 levels of nesting"),
    "pipe before a text": (b"name: |x\n", 1, 8, "a `|` or `>` is here without quotation marks"),
    "pipe and digit before a text": (b"name: >2x\n", 1, 9, "a `|` or `>` is here without quotation marks"),
    "exclamation mark and bracket": (b"name: !{}\n", 1, 8, "a `!` is here without quotation marks"),
    "separator in a text": (
        b'name: "x\n---\n"\n',
        2,
        1,
        "the text that begins in line 1 is not closed before this line",
    ),
    # Quadratic in PyYAML's scanner: an hour.
    "90,000 braces": (b"a: " + b"{" * 90_000, 1, 24, "more than 20 levels of nesting"),
    "90,000 braces as keys": (b"? {" * 30_000, 1, 63, "more than 20 levels of nesting"),
    "alias of itself": (b"&a [*a]\n", 1, 1, "the anchor `&a` is not supported"),
    "list as key": (b"? [a]\n: b\n", 1, 3, "a key must be plain text"),
    "bracket at the end": (b"name: [\n", 1, 1, "not valid YAML"),
    "unknown directive tag": (b"name: !x!y z\n", 1, 7, "not valid YAML: found undefined tag handle '!x!'"),
}


@pytest.mark.parametrize(("content", "line", "column", "message"), UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable_file(content: bytes, line: int, column: int, message: str, tmp_path: Path) -> None:
    file = tmp_path / "environment.yaml"
    file.write_bytes(content)
    first = next(problem for problem in problems_of(file) if message in problem.message)
    assert (first.line, first.column) == (line, column)


def test_expansion_of_aliases_is_never_begun(tmp_path: Path) -> None:
    laughs = ["a0: &a0 [x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30))]
    file = tmp_path / "environment.yaml"
    file.write_text("\n".join(laughs), encoding="utf-8")
    assert any("the alias `*a0` is not supported" in problem.message for problem in problems_of(file))


def test_byte_order_mark_is_fine(tmp_path: Path) -> None:
    file = write(tmp_path, MINIMAL)
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert load_environment(file).name == "test"


@pytest.mark.parametrize("written", ["small.yaml", "environments/environments/small.yaml"])
def test_a_name_with_the_ending_or_the_folder_leads_to_the_file(written: str) -> None:
    [problem] = problems_of(ENVIRONMENTS.parent / written)

    assert problem.fix == f"Did you mean {ENVIRONMENTS / 'small.yaml'}?"


def test_missing_file_names_the_ones_that_exist() -> None:
    [problem] = problems_of(ENVIRONMENTS / "defalt.yaml")
    assert problem.line is None
    assert problem.message == "there is no such file"
    assert problem.fix.startswith("Did you mean 'default'? Environments in ")
    assert problem.fix.endswith(f": {', '.join(SHIPPED[:-1])} and {SHIPPED[-1]}.")


def test_missing_directory(tmp_path: Path) -> None:
    [problem] = problems_of(tmp_path / "none" / "x.yaml")
    assert problem.fix.endswith("has no *.yaml file.")


@pytest.mark.parametrize("path", [Path("/"), Path("/dev/null"), Path("nul\0.yaml"), Path("x" * 5000)])
def test_path_that_is_no_file(path: Path) -> None:
    [problem] = problems_of(path)
    assert problem.rule == "file"


def test_large_file_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "environment.yaml"
    file.write_bytes(b"#" * (LARGEST_FILE_BYTES + 1))
    [problem] = problems_of(file)
    assert problem.message == f"is larger than {LARGEST_FILE_BYTES} bytes"


def test_the_first_twenty_of_many_problems_are_told_and_the_rest_counted(tmp_path: Path) -> None:
    file = tmp_path / "environment.yaml"
    file.write_text("".join(f"key{n}: 1\n" for n in range(5_000)), encoding="utf-8")
    with pytest.raises(InvalidEnvironment) as invalid:
        load_environment(file)
    *told, rest = str(invalid.value).splitlines()
    assert told == [str(problem) for problem in invalid.value.problems[:20]]
    assert rest == f"{file}: {len(invalid.value.problems) - 20:,} more problems. Mend these first."
    assert len(invalid.value.problems) > 5_000


def test_many_schedules_ask_the_machine_for_its_time_zones_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Mock(return_value={"Etc/UTC"})
    monkeypatch.setattr("slipway.config.rules.scaling.available_timezones", asked)
    scaling._time_zones.cache_clear()
    file = tmp_path / "environment.yaml"
    schedules = "".join(f'      - {{cron: "0 {hour} ? * * *", time_zone: Mars/A}}\n' for hour in range(24))
    file.write_text(f"inference:\n  models:\n  - scaling:\n      schedules:\n{schedules}", encoding="utf-8")
    try:
        unknown = [problem for problem in problems_of(file) if problem.rule == "time-zone-known"]
    finally:
        scaling._time_zones.cache_clear()
    assert len(unknown) == 24
    assert asked.call_count == 1


def test_problem_is_one_line_that_editors_can_follow(tmp_path: Path) -> None:
    file = tmp_path / "environment.yaml"
    file.write_text("name: 2.50\n", encoding="utf-8")
    name = next(problem for problem in problems_of(file) if problem.path == "name")
    assert name == Problem(str(file), 1, 7, "name", "must be text (got 2.50)", 'Quote it: "2.50"', "schema")
    assert str(name) == f'{file}:1:7: name: must be text (got 2.50). Quote it: "2.50" [schema]'


def test_credentials_are_never_repeated(tmp_path: Path) -> None:
    token = "hf_" + "a1B2" * 8
    for changes in (
        {"region": token},
        {"tags": {"token": token}},
        {IMAGE: [token]},
        {"tags": token},
        {"network.proxy": {"url": f"http://user:{token}@proxy.example.internal:3128"}},
    ):
        problems = problems_of(write(tmp_path, changed(MINIMAL, changes)))
        assert "credentials" in {problem.rule for problem in problems}
        assert token not in "\n".join(map(str, problems))


@pytest.mark.parametrize(
    "secret",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "sk-proj-" + "x" * 24,
        "ghp_" + "x" * 36,
        "https://me:pass@example.com/",
        "xoxb-1234567890",
    ],
)
def test_credentials_of_many_kinds(secret: str, tmp_path: Path) -> None:
    problems = problems_of(write(tmp_path, changed(MINIMAL, {"tags": {"x": secret}})))
    assert [problem.rule for problem in problems] == ["credentials"]


@pytest.mark.parametrize("text", ["hf_hub", "sk-learn", "https://example.com:8443/a@b", "AKIA", "eyJ"])
def test_ordinary_text_is_no_credential(text: str, tmp_path: Path) -> None:
    load(tmp_path, changed(MINIMAL, {"tags": {"x": text}}))


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_environments_load(name: str) -> None:
    assert load_environment(ENVIRONMENTS / f"{name}.yaml").name == name


@pytest.mark.parametrize("name", SHIPPED)
def test_a_key_that_is_commented_out_may_be_taken_as_it_stands(name: str, tmp_path: Path) -> None:
    text = (ENVIRONMENTS / f"{name}.yaml").read_text(encoding="utf-8")
    with_all_keys = tmp_path / f"{name}.yaml"
    with_all_keys.write_text(re.sub(r"^( +)# ([a-z_]+: )", r"\1\2", text, flags=re.MULTILINE), encoding="utf-8")

    assert load_environment(with_all_keys).name == name


def test_synth_path_imports_no_aws_client() -> None:
    code = "import sys, slipway.config; sys.exit(any(m.split('.')[0] in ('boto3', 'botocore') for m in sys.modules))"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
