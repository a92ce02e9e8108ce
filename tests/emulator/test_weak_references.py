"""A value of another stack changes: what the real CDK CLI does with the stack that reads it, and the emulator."""

import os
import subprocess
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_ssm as ssm

from slipway.rehearse.isolation import emulated_account
from tests.assembly import PROJECT
from tests.emulator.running import REGION, RunningEmulator

CONTEXT = {"@aws-cdk/core:defaultCrossStackReferences": "weak", "aws:cdk:disable-version-check": True}


def synthesize(value: str, folder: Path) -> Path:
    """Write two stacks: the second one's only parameter is the first one's value."""
    app = cdk.App(outdir=str(folder), context=CONTEXT, default_stack_synthesizer=cdk.LegacyStackSynthesizer())
    account = cdk.Environment(account="123456789012", region=REGION)
    read = ssm.StringParameter(cdk.Stack(app, "cli-producer", env=account), "Value", string_value=value)
    consumer = cdk.Stack(app, "cli-consumer", env=account)
    ssm.StringParameter(consumer, "Value", parameter_name="/cli-consumer", string_value=read.string_value)
    app.synth()
    return folder


def deploy(assembly: Path, emulator: RunningEmulator, *options: str) -> str:
    """Deploy with the pinned CDK CLI; answers the value that the consumer has then."""
    command = [str(PROJECT / "node_modules/.bin/cdk"), "deploy", "--all", "--app", str(assembly), "--no-notices"]
    variables = {"PATH": os.environ["PATH"], "HOME": str(assembly), **emulated_account(emulator.endpoint, REGION)}
    run = subprocess.run(
        [*command, "--require-approval", "never", *options],
        cwd=assembly,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return str(emulator.client("ssm").get_parameter(Name="/cli-consumer")["Parameter"]["Value"])


def test_only_with_force_does_the_cdk_cli_deploy_a_stack_that_follows_another(
    emulator: RunningEmulator, tmp_path: Path
) -> None:
    first, second = synthesize("one", tmp_path / "first"), synthesize("two", tmp_path / "second")
    consumers = {(folder / "cli-consumer.template.json").read_text(encoding="utf-8") for folder in (first, second)}
    assert len(consumers) == 1

    assert deploy(first, emulator) == "one"
    assert deploy(second, emulator) == "one"
    assert deploy(second, emulator, "--force") == "two"


def test_direct_updates_follow_another_stack_too(emulator: RunningEmulator, tmp_path: Path) -> None:
    first, second = synthesize("three", tmp_path / "first"), synthesize("four", tmp_path / "second")

    assert deploy(first, emulator, "--force") == "three"
    assert deploy(second, emulator, "--force", "--method", "direct") == "four"
