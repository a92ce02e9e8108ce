"""`slipway lint` of the folder that `cdk synth` writes."""

import json
from pathlib import Path

from typer.testing import CliRunner

from slipway.cli import app
from tests.assembly import Assembly

RUNNER = CliRunner()


def test_a_sound_assembly_ends_with_0(small: Assembly) -> None:
    result = RUNNER.invoke(app, ["lint", str(small.directory)])

    assert result.exit_code == 0, result.output
    assert f"{small.directory}: 0 errors, 0 warnings" in result.output


def test_an_alarm_on_nothing_is_an_error_at_its_line(tmp_path: Path) -> None:
    alarm = {"MetricName": "Lost", "Namespace": "AWS/FSx", "Statistic": "Sum", "Period": 60, "AlarmDescription": "x"}
    resources = {"Alarm": {"Type": "AWS::CloudWatch::Alarm", "Properties": {**alarm, "AlarmActions": ["arn:x"]}}}
    template = tmp_path / "one.template.json"
    template.write_text(json.dumps({"Resources": resources}, indent=1), encoding="utf-8")
    stack = {
        "type": "aws:cloudformation:stack",
        "environment": "aws://1/us-west-2",
        "properties": {"templateFile": "one.template.json"},
    }
    (tmp_path / "manifest.json").write_text(json.dumps({"artifacts": {"one": stack}}), encoding="utf-8")

    result = RUNNER.invoke(app, ["lint", str(tmp_path)])

    assert result.exit_code == 1
    assert f"{template}:3:1: error: Alarm.MetricName: AWS/FSx Lost: nothing sends it." in result.output
    assert "[metric-is-sent]" in result.output
