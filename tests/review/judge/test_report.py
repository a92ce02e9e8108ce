"""The report says the same on the terminal and in JSON."""

import io
import json
from pathlib import Path

from rich.console import Console

from slipway.review.judge.explanations import Explanation
from slipway.review.judge.inside_parallelcluster.answer import Answer, Finding, Level, MotoPatch, Outcome
from slipway.review.judge.report import print_report, write_report
from slipway.review.judge.verdict import Verdict

EXPLANATION = Explanation("KeyPairValidator", "key pair", "people come through Session Manager")
ANSWER = Answer(
    "3.16.1",
    [MotoPatch("official images", "moto has none")],
    Outcome(
        [
            Finding(Level.WARNING, "KeyPairValidator", "no key pair"),
            Finding(Level.ERROR, "EfaValidator", "trn1.2xlarge [x86] has no EFA"),
        ],
        schema_passed=True,
        validations=7,
        node_images=["trainium-xla-2-28-1-ubuntu2204"],
    ),
)
VERDICTS = [
    Verdict("default", (EXPLANATION,), ANSWER),
    Verdict("small", (EXPLANATION,), problem="environments/small.yaml:3:1: region: unknown"),
]


def printed() -> str:
    output = io.StringIO()
    print_report(VERDICTS, [EXPLANATION], Console(file=output, width=200))
    return output.getvalue()


def test_terminal_shows_findings_reasons_and_bridges() -> None:
    text = printed()
    assert "Node images whose build it accepts too: trainium-xla-2-28-1-ubuntu2204" in text
    assert "default: ERROR EfaValidator: trn1.2xlarge [x86] has no EFA" in text
    assert "KeyPairValidator (default): people come through Session Manager" in text
    assert "small was not judged: environments/small.yaml:3:1: region: unknown" in text
    assert "official images: moto has none" in text
    assert "stale: no environment needs the explanation of KeyPairValidator" in text


def test_terminal_fits_eighty_columns() -> None:
    output = io.StringIO()
    print_report(VERDICTS, [], Console(file=output, width=80))
    assert "environment  schema  validators  resources  bytes  open  explained  verdict" in output.getvalue()


def test_a_narrow_terminal_has_each_cell_in_a_line_of_its_own() -> None:
    output = io.StringIO()
    print_report(VERDICTS, [], Console(file=output, width=40))
    lines = output.getvalue().splitlines()
    assert "default" in lines
    assert "  validators: 7 ran" in lines
    assert "  verdict: failed" in lines


def test_json_has_every_finding_with_its_explanation(tmp_path: Path) -> None:
    path = tmp_path / "new" / "report.json"
    write_report(VERDICTS, [], path)
    report = json.loads(path.read_text("utf-8"))
    assert report["passed"] is False
    default, small = report["environments"]
    assert [finding["explanation"] for finding in default["outcome"]["findings"]] == [None, EXPLANATION.reason]
    assert default["deviations"] == [{"name": "official images", "why": "moto has none"}]
    assert small["problem"].startswith("environments/small.yaml")


def test_answer_survives_its_json() -> None:
    assert Answer.from_json(ANSWER.to_json()) == ANSWER
