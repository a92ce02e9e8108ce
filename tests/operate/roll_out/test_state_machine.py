"""Any sequence of roll-outs, canaries, promotions, failures and interruptions leaves what somebody asked for."""

import hashlib
import json
import random
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from slipway.errors import FailedError, RefusedError
from slipway.operate.roll_out import run, update
from slipway.operate.roll_out.endpoint import Endpoint
from slipway.operate.roll_out.environment import Place
from slipway.operate.roll_out.published import ModelBucket, PublishedModel
from slipway.operate.roll_out.request import Request
from slipway.operate.roll_out.service import find_inference_stack
from slipway.operate.roll_out.state import State, digest_of, pinned, prefix_of
from tests.operate.roll_out.endpoint import COMPILED, SOURCE
from tests.operate.roll_out.fake_cloudformation import BROKEN, FakeCloudFormation
from tests.operate.roll_out.template import inference_template

MODEL = "tanuki-8b"
STACK = "slipway-fake-inference"
VERSIONS = st.sampled_from([f"{MODEL}/v1", f"{MODEL}/v2", f"{MODEL}/v3", BROKEN])
KILL = st.none() | st.integers(0, 14)
PERCENT = st.integers(0, 100)


def pin(version: str) -> str:
    """Return a version with a digest of its own; one that has it stays as it is."""
    return version if digest_of(version) else pinned(version, hashlib.sha256(version.encode()).hexdigest())


class EveryVersion(ModelBucket):
    """A bucket in which every version is published and whole."""

    def pin(self, version: str) -> str:
        return pin(version)

    def read(self, version: str) -> PublishedModel:
        model, _, version = str(prefix_of(version)).partition("/")
        manifest = {
            "format": 1,
            "model": model,
            "version": version,
            "created_at": "2026-11-21T22:00:00+00:00",
            "source": SOURCE.model_dump(),
            "compiled": COMPILED.model_dump(),
            "files": {
                name: {"size": 1, "s3_checksum": ""} for name in ("config.json", "neuron_config.json", "model.pt")
            },
        }
        return PublishedModel.model_validate_json(json.dumps(manifest))

    def architectures(self, published: PublishedModel) -> tuple[str, ...]:
        return ("LlamaForCausalLM",)

    def faults(self, published: PublishedModel, tell: Any) -> list[str]:
        return []


class RollOuts(RuleBasedStateMachine):
    """What is served after each command follows from what was served before it, and from nothing else."""

    @initialize(seed=st.integers(0, 2**16))
    def deploy(self, seed: int) -> None:
        template = json.loads(inference_template("fake", "models"))
        self.cloud = FakeCloudFormation(template, random.Random(seed))
        self.asked = State(None, None)

    def ask(self, request: Request, kill_after: int | None) -> State | None:
        """Run the command; answer what is served then, none when it was refused and nothing was changed."""
        before = self.state()
        try:
            self.command(request, kill_after)
        except RefusedError:
            assert self.state() == before
            return None
        except FailedError as failed:
            self.cloud.settle()
            assert str(self.state()) in str(failed)  # noqa: PT017 (not every command fails)
        except KeyboardInterrupt:
            self.cloud.settle()
            # The same is asked for again: it goes on, or there is nothing left to do, or the version is broken.
            with suppress(RefusedError, FailedError):
                self.command(request, None)
        self.cloud.settle()
        return self.state()

    def command(self, request: Request, kill_after: int | None) -> None:
        endpoint = Endpoint(
            "111122223333",
            find_inference_stack(self.cloud, STACK),
            EveryVersion(None, "models", "111122223333"),
            self.cloud,
        )
        self.cloud.kill_after = kill_after
        place = Place("fake", "us-west-2", None, {})
        try:
            with (
                patch.object(run, "find_place", lambda _: place),
                patch.object(run, "open_endpoint", lambda *_: endpoint),
            ):
                run.run("fake", request, yes=True, timeout_seconds=60)
        finally:
            self.cloud.kill_after = None

    def state(self) -> State:
        stack = find_inference_stack(self.cloud, STACK)
        return stack.state(MODEL)

    @rule(version=VERSIONS, kill=KILL)
    def roll_out(self, version: str, kill: int | None) -> None:
        before = self.state()
        after = self.ask(Request(version), kill)
        if after is None:
            assert pin(version) == before.candidate != before.served
        elif version == BROKEN or pin(version) == before.served:
            assert after == before
        else:
            assert after == State(pin(version), before.served, before.candidate, before.percent)

    @precondition(lambda self: self.state().previous)
    @rule(kill=KILL)
    def go_back(self, kill: int | None) -> None:
        before = self.state()
        after = self.ask(Request(MODEL, back=True), kill)
        if after is None:
            assert before.previous == before.candidate
        elif kill is None:
            assert (after.served, after.previous) == (before.previous, before.served)

    @rule(version=VERSIONS, percent=PERCENT, kill=KILL)
    def try_on_a_part(self, version: str, percent: int, kill: int | None) -> None:
        before = self.state()
        was_dead = self.cloud.candidate is None
        after = self.ask(Request(version, canary=percent), kill)
        if after is None:
            assert before.served in (None, pin(version)) or (was_dead and percent > before.percent)
        elif version == BROKEN:
            assert after == State(before.served, before.previous, before.candidate, after.percent)
            assert after.percent in (before.percent, 0)
        else:
            assert after == State(before.served, before.previous, pin(version), percent)

    @precondition(lambda self: self.state().candidate)
    @rule(percent=PERCENT, kill=KILL)
    def move_the_weights(self, percent: int, kill: int | None) -> None:
        before = self.state()
        was_dead = self.cloud.candidate is None
        after = self.ask(Request(MODEL, canary=percent), kill)
        if after is None:
            assert before.candidate == before.served or (was_dead and percent > before.percent)
        else:
            assert after == State(before.served, before.previous, before.candidate, percent)

    @precondition(lambda self: self.state().candidate)
    @rule(kill=KILL)
    def promote(self, kill: int | None) -> None:
        before = self.state()
        after = self.ask(Request(MODEL, promote=True), kill)
        if before.candidate == before.served:
            assert after == State(before.served, before.previous)
        else:
            assert after == State(before.candidate, before.served)

    @precondition(lambda self: self.state().candidate)
    @rule(kill=KILL)
    def abort(self, kill: int | None) -> None:
        before = self.state()
        after = self.ask(Request(MODEL, abort=True), kill)
        assert after == State(before.served, before.previous)

    @precondition(lambda self: self.cloud.candidate is not None)
    @rule()
    def the_candidates_host_dies(self) -> None:
        self.cloud.candidate = None

    @rule()
    def ecs_starts_its_task_again(self) -> None:
        self.cloud.candidate = prefix_of(self.state().candidate)

    @invariant()
    def no_request_goes_to_a_service_without_its_task(self) -> None:
        assert self.cloud.faults == []

    @invariant()
    def what_the_stack_says_is_what_runs(self) -> None:
        if self.cloud.status.endswith("_COMPLETE"):
            state = self.state()
            assert self.cloud.served == prefix_of(state.served)
            assert self.cloud.candidate in (prefix_of(state.candidate), None)
            assert self.cloud.weight == state.percent
            assert state.candidate or not state.percent
            assert int(self.cloud.values["Tanuki8bServedWeight"]) == 100 - state.percent


@pytest.fixture(autouse=True, scope="module")
def _no_waiting() -> Iterator[None]:
    with patch.object(update, "POLL_SECONDS", 0), patch("typer.echo", lambda *_, **__: None):
        yield


RollOuts.TestCase.settings = settings(max_examples=100, stateful_step_count=12)
test_any_sequence = RollOuts.TestCase
