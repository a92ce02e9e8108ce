"""A candidate beside the served version, from its first request to its promotion or its end."""

import pytest

from slipway.operate.roll_out.endpoint import Endpoint
from slipway.operate.roll_out.tasks import Tasks
from tests.operate.roll_out.endpoint import EndpointStack
from tests.operate.roll_out.template import NONE


@pytest.fixture
def serving(endpoint: EndpointStack) -> EndpointStack:
    """The endpoint, which serves v1."""
    endpoint.must("tanuki-8b/v1")
    return endpoint


def weights(endpoint: EndpointStack) -> str:
    """The weights that the load balancer's rule has."""
    return endpoint.emulator.outputs(endpoint.stack)["Weights"]


def test_a_candidate_gets_requests_when_its_tasks_run(serving: EndpointStack) -> None:
    said = serving.must("tanuki-8b/v2", "--canary", "10")

    assert serving.candidate() == ("tanuki-8b/v2", "90/10")
    assert serving.served() == ("tanuki-8b/v1", NONE)
    assert weights(serving) == "90/10"
    assert serving.hosts("Tanuki8bCandidate").endswith("tanuki-8b-v2")
    assert serving.hosts().endswith("tanuki-8b-v1")
    started = said.index("start tanuki-8b/v2 as the candidate, on a host of its own and without requests ...")
    assert started < said.index("send 10 % of the requests to the candidate tanuki-8b/v2 ...")
    assert "note: the candidate takes one more host, inf2.8xlarge, until --promote or --abort" in said
    assert "tanuki-8b/v1 is served with 90 % of the requests, tanuki-8b/v2 with 10 %; then: " in said


def test_a_candidates_manifest_goes_with_it_until_it_is_served_and_back(serving: EndpointStack) -> None:
    def pins() -> list[str]:
        found = serving.parameters()
        return [found[f"Tanuki8b{which}Manifest"] for which in ("Served", "Previous", "Candidate")]

    first = pins()[0]
    serving.must("tanuki-8b/v2", "--canary", "10")
    second = pins()[2]
    assert len({first, second, "none"}) == 3
    assert pins() == [first, "none", second]

    serving.must("tanuki-8b", "--promote")
    assert pins() == [second, first, "none"]
    serving.must("tanuki-8b", "--back")
    assert pins() == [first, second, "none"]


def test_another_share_only_moves_the_weights(serving: EndpointStack) -> None:
    serving.must("tanuki-8b/v2", "--canary", "10")

    said = serving.must("tanuki-8b", "--canary", "50")

    assert "start" not in said
    assert "Hosts" not in said
    assert serving.candidate() == ("tanuki-8b/v2", "50/50")
    assert "note: the candidate has one task, and 2 serve the version: with more than 33 %" in said
    assert serving.must("tanuki-8b/v2", "--canary", "50").endswith("already\n")
    serving.must("tanuki-8b", "--canary", "0")
    assert serving.candidate() == ("tanuki-8b/v2", "100/0")


def test_another_candidate_gets_no_request_before_its_task_runs(serving: EndpointStack) -> None:
    serving.publish("v3")
    serving.must("tanuki-8b/v2", "--canary", "10")

    said = serving.must("tanuki-8b/v3", "--canary", "20")

    order = ["send 0 % ", "start tanuki-8b/v3 as the candidate instead of tanuki-8b/v2", "send 20 % "]
    places = [said.index(f"{text}", said.index("1. ") if number == 0 else 0) for number, text in enumerate(order)]
    assert places == sorted(places)
    assert serving.candidate() == ("tanuki-8b/v3", "80/20")


def test_a_promoted_candidate_is_served_and_ends(serving: EndpointStack) -> None:
    serving.must("tanuki-8b/v2", "--canary", "10")

    said = serving.must("tanuki-8b", "--promote")

    assert serving.served() == ("tanuki-8b/v2", "tanuki-8b/v1")
    assert serving.candidate() == (NONE, "100/0")
    assert serving.hosts().endswith("tanuki-8b-v2")
    assert "tanuki-8b/v2 is served; back again: " in said


def test_an_aborted_candidate_ends(serving: EndpointStack) -> None:
    serving.must("tanuki-8b/v2", "--canary", "10")

    said = serving.must("tanuki-8b", "--abort")

    assert said.index("send 0 % of the requests") < said.index("end the candidate tanuki-8b/v2 and its host")
    assert serving.served() == ("tanuki-8b/v1", NONE)
    assert serving.candidate() == (NONE, "100/0")
    assert serving.hosts("Tanuki8bCandidate").endswith("no-model-chosen")


def test_a_candidate_that_does_not_come_up_gets_no_request(serving: EndpointStack) -> None:
    serving.publish("broken")

    result = serving.roll_out("tanuki-8b/broken", "--canary", "10", "--yes")

    assert result.exit_code == 1, result.output
    assert "CloudFormation took back: start tanuki-8b/broken as the candidate" in result.output
    assert "Now tanuki-8b/v1 is served. Why:\n  Tanuki8bCandidateHosts " in result.output
    assert serving.candidate() == (NONE, "100/0")


def test_a_candidate_whose_task_is_gone_gets_no_more_requests(serving: EndpointStack) -> None:
    serving.must("tanuki-8b/v2", "--canary", "10")
    serving.stop_candidate()

    said = serving.refusal("tanuki-8b", "--canary", "50", "--yes")

    assert "the candidate tanuki-8b/v2 has no running task (0 of 0 tasks)" in said
    assert serving.candidate() == ("tanuki-8b/v2", "90/10")
    serving.must("tanuki-8b", "--abort")


def test_a_candidate_that_ends_before_the_weights_move_gets_no_request(
    serving: EndpointStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Endpoint, "tasks", lambda *_: Tasks(0, 1))

    result = serving.roll_out("tanuki-8b/v2", "--canary", "10", "--yes")

    assert result.exit_code == 1, result.output
    assert "has no running task (0 of 1 tasks)" in result.output
    assert "Now tanuki-8b/v1 is served with 100 % of the requests, tanuki-8b/v2 with 0 %" in result.output
    assert serving.candidate() == ("tanuki-8b/v2", "100/0")


def test_a_canary_makes_sense_or_is_refused(endpoint: EndpointStack) -> None:
    assert "nothing is served yet: roll tanuki-8b/v2 out without" in endpoint.refusal("tanuki-8b/v2", "--canary", "5")
    endpoint.must("tanuki-8b/v1")
    assert "there is no candidate: say which version" in endpoint.refusal("tanuki-8b", "--canary", "5")
    assert "tanuki-8b/v1 is served already" in endpoint.refusal("tanuki-8b/v1", "--canary", "5")
    assert "there is no candidate to promote" in endpoint.refusal("tanuki-8b", "--promote")
    assert "there is no candidate. Nothing" in endpoint.refusal("tanuki-8b", "--abort")
    assert "kitsune has no canary: write `canary: true`" in endpoint.refusal("kitsune/v1", "--canary", "5")
    endpoint.must("tanuki-8b/v2", "--canary", "5")
    assert "tanuki-8b/v2 is the candidate: --promote" in endpoint.refusal("tanuki-8b/v2")
