"""The commands of docs/several-accounts.md: training in one emulated account, serving in another, each with its file.

An emulator plays one account, so there are two of them, and two S3. What the training account's bucket policy lets the
promoter read is carried to the serving account's emulator; tests/iam/test_promotion.py evaluates that policy, and
test_promote.py the check of a bucket's owner.
"""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
import yaml

from slipway.aws.stacks import deployed_stacks
from slipway.project import PROJECT
from slipway.rehearse import phases
from slipway.rehearse.isolation import only_variables
from slipway.rehearse.session import Session
from tests.assembly import environment_path
from tests.operate.roll_out.endpoint import publish_version
from tests.rehearse.sessions import EMPTY_ACCOUNT, emulated

pytestmark = pytest.mark.rehearsal

ACCOUNTS = {"training": "111122223333", "serving": "444455556666"}
PROMOTER = "arn:aws:iam::444455556666:role/model-promoter"
VERSION = "tanuki-8b/v1"
DOCUMENT = (PROJECT / "docs" / "several-accounts.md").read_text("utf-8")
FILLED = {"TRAINING_BUCKET": "training-models", "DIGEST": "0" * 64}
DOCUMENTED = re.findall(r"^slipway (\S+) -e (training|serving)(.*)$", DOCUMENT, re.MULTILINE)


def steps(name: str) -> list[str]:
    """What the document does with an environment, from first to last."""
    found = [f"{command}{rest}" for command, of, rest in DOCUMENTED if of == name]
    return [re.sub("|".join(FILLED), lambda word: FILLED[word[0]], step) for step in found]


@dataclass(frozen=True)
class Place:
    """An environment, and the emulator of its account."""

    file: Path
    session: Session

    @property
    def variables(self) -> dict[str, str]:
        assert self.session.emulated is not None
        return self.session.emulated.variables

    def run(self, step: str, file: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command with this account's credentials: on its own environment, or on another's."""
        name, *rest = shlex.split(step)
        return subprocess.run(
            [sys.executable, "-m", "slipway", name, "-e", str(file or self.file), *rest],
            cwd=PROJECT,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def succeed(self, step: str) -> str:
        done = self.run(step)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def client(self, service: str) -> Any:
        with only_variables(self.variables):
            return boto3.client(service)  # type: ignore[call-overload]

    @property
    def model_bucket(self) -> str:
        stacks = deployed_stacks(self.client("cloudformation"))
        return stacks[f"slipway-{self.file.stem}-storage"].outputs["ModelBucket"]


def environment(folder: Path, name: str) -> Path:
    """Write an environment file: the same one twice, with an account each; only one serves, the other gives."""
    content = {**yaml.safe_load(environment_path("rolledout").read_text()), "name": name, "account": ACCOUNTS[name]}
    if name == "training":
        del content["inference"]
        content["storage"] |= {"model_readers": [PROMOTER]}
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump(content))
    return file


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Place]]:
    """Both accounts, bootstrapped; the tests go in their order."""
    folder = tmp_path_factory.mktemp("accounts")
    with ExitStack() as emulators:
        found = {}
        for name in ACCOUNTS:
            file = environment(folder, name)
            session = emulators.enter_context(emulated(file, folder / name, (*EMPTY_ACCOUNT, phases.bootstrap)))
            found[name] = Place(file, session)
        yield found


@pytest.mark.parametrize(("mine", "other"), [("training", "serving"), ("serving", "training")])
def test_every_step_refuses_the_other_accounts_credentials(places: dict[str, Place], mine: str, other: str) -> None:
    for step in steps(mine):
        refused = places[other].run(step, places[mine].file)

        assert (refused.returncode, refused.stdout) == (2, ""), refused.stdout + refused.stderr
        assert f"credentials are of AWS account {ACCOUNTS[other]}" in refused.stderr
        assert f'`account: "{ACCOUNTS[mine]}"`' in refused.stderr
    assert set(deployed_stacks(places[other].client("cloudformation"))) == {"CDKToolkit"}


def test_each_environment_is_deployed_in_its_account(places: dict[str, Place]) -> None:
    for name, place in places.items():
        assert f"to account {ACCOUNTS[name]}, us-west-2" in place.succeed("deploy")
        stacks = place.client("cloudformation").describe_stacks()["Stacks"]
        ours = [stack["StackId"] for stack in stacks if stack["StackName"].startswith("slipway-")]
        assert len(ours) >= 4
        assert {arn.split(":")[4] for arn in ours} == {ACCOUNTS[name]}


def test_what_was_built_once_is_promoted_and_served(places: dict[str, Place], tmp_path: Path) -> None:
    training, serving = places["training"], places["serving"]
    publish_version(training.client("s3"), training.model_bucket, "v1", tmp_path / "v1")
    printed = training.succeed(f"promote {VERSION} --review").splitlines()[-1]
    carry(training, serving)

    _, command, _, _, *words = shlex.split(printed)
    assert [word for word in words if word.startswith("-")] == re.findall("--[a-z0-9-]+", of_document("promote"))
    assert f"{VERSION} is promoted" in serving.succeed(f"{command} {shlex.join(words)} --yes")
    serving.succeed(f"{of_document('roll-out')} --yes")

    [model] = json.loads(serving.run("status --json").stdout)["models"]
    assert (model["name"], model["served"]) == ("tanuki-8b", VERSION)
    built, served = (objects(place, place.model_bucket) for place in (training, serving))
    assert served == built
    assert f"{VERSION}/slipway-manifest.json" in served


def of_document(command: str) -> str:
    [found] = [step for step in steps("serving") if step.startswith(f"{command} ")]
    return found


def objects(place: Place, bucket: str) -> dict[str, bytes]:
    s3 = place.client("s3")
    rows = s3.list_objects_v2(Bucket=bucket)["Contents"]
    return {row["Key"]: s3.get_object(Bucket=bucket, Key=row["Key"])["Body"].read() for row in rows}


def carry(training: Place, serving: Place) -> None:
    """Show the training account's model bucket to the other emulator."""
    bucket, s3 = training.model_bucket, serving.client("s3")
    s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    for key, body in objects(training, bucket).items():
        s3.put_object(Bucket=bucket, Key=key, Body=body, ChecksumAlgorithm="SHA256")
