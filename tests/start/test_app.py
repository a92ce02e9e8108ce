"""The app of one's own repository may change what Slipway's has built."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.assembly import PROJECT, cdk_context

[EXAMPLE] = re.findall(
    r"```python\n(.*?)```", (PROJECT / "docs" / "environment-file.md").read_text(encoding="utf-8"), re.DOTALL
)


@pytest.mark.parametrize(("call", "times"), [("main(change)", 0), ("main()", 1)])
def test_the_documented_app_silences_its_notice(tmp_path: Path, call: str, times: int) -> None:
    (tmp_path / "environments").mkdir()
    shutil.copy(PROJECT / "environments" / "small.yaml", tmp_path / "environments")
    (tmp_path / "cdk.json").write_text('{"app": "python3 app.py"}')
    (tmp_path / "app.py").write_text(EXAMPLE.replace("main(change)", call))
    variables = {
        "CDK_OUTDIR": str(tmp_path / "out"),
        "CDK_CONTEXT_JSON": json.dumps({**cdk_context(), "environment": "small"}),
        "CDK_VALIDATION": "false",
    }
    run = [sys.executable, "app.py"]
    subprocess.run(run, cwd=tmp_path, env=os.environ | variables, capture_output=True, check=True)

    metadata = "".join(file.read_text() for file in (tmp_path / "out").glob("*.metadata.json"))
    assert metadata.count("inference.models[0].engine: tgi of small-llama") == times
