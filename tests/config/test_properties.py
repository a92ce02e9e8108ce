"""Random environments: valid ones load, broken ones name the field and its place, rubbish is never a traceback."""

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from slipway.config import InvalidEnvironment, Problem, load_environment, load_with_notices
from slipway.config.problems import dotted
from slipway.config.schema import environment_schema
from tests.config.files import problems_of, write
from tests.config.mutations import Mutation, mutations
from tests.config.strategies import environments

Values = dict[str, Any]

RANDOM = settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
DEFAULT = (Path(__file__).parents[2] / "environments" / "default.yaml").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(environment_schema())


def assert_placed(problems: list[Problem], file: Path) -> None:
    """Each is one line of text about a line of the file."""
    lines = len(file.read_text(encoding="utf-8").splitlines())
    for problem in problems:
        assert problem.line is not None
        assert 1 <= problem.line <= lines
        assert len(str(problem).splitlines()) == 1


@RANDOM
@given(values=environments())
def test_valid_environment_loads(tmp_path: Path, validator: jsonschema.Draft202012Validator, values: Values) -> None:
    file = write(tmp_path, values)
    environment, notices = load_with_notices(file)
    assert environment.name == values["name"]
    validator.validate(values)
    assert_placed(notices, file)


@RANDOM
@given(mutation=environments().flatmap(mutations))
def test_broken_environment_names_the_field(tmp_path: Path, mutation: Mutation) -> None:
    file = write(tmp_path, mutation.values)
    problems = problems_of(file)
    assert dotted(mutation.path) in {problem.path for problem in problems}, mutation.what
    assert_placed(problems, file)


@RANDOM
@given(
    content=st.binary() | st.text().map(str.encode) | st.text("a:-[]{}#&*!|>'\"%@` \n\t0", max_size=60).map(str.encode)
)
@example(content=b"\xef\xbb\xbf")
@example(content=b"? \n")
@example(content=b'name: "\\ud800"\n')
def test_rubbish_is_told_in_a_sentence(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "environment.yaml"
    file.write_bytes(content)
    with pytest.raises(InvalidEnvironment) as invalid:
        load_environment(file)
    assert str(invalid.value).encode()


@RANDOM
@given(data=st.data())
def test_default_environment_with_a_typing_error(tmp_path: Path, data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(DEFAULT)))
    end = data.draw(st.integers(begin, min(len(DEFAULT), begin + 20)))
    inserted = data.draw(st.text(max_size=5))
    file = tmp_path / "environment.yaml"
    file.write_text(DEFAULT[:begin] + inserted + DEFAULT[end:], encoding="utf-8", errors="surrogatepass")
    for problem in problems_of(file):
        assert json.dumps(str(problem))
        assert str(problem).encode()
