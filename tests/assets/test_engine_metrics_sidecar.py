"""The sidecar as a process beside an engine that is slow, broken, absent or starts again, and the ECS agent."""

import json
import signal
import subprocess
import threading
from collections.abc import Iterator

import pytest

from assets.inference.engine_metrics import (
    EXPIRY_MINUTES,
    IDLE_SECONDS,
    OPEN_SECONDS,
    PROTECTED_SECONDS,
    RENEWAL_SECONDS,
    RETRY_SECONDS,
    Protection,
)
from slipway import facts
from tests.assets.engine_stand_in import RECORDED, Answers, server, sidecar, until

NAMES = facts.inference_engine("tgi").metrics
IDLE = "tgi_queue_size 0\ntgi_batch_current_size 0\ntgi_request_success {requests}\n"
BUSY = "tgi_queue_size 0\ntgi_batch_current_size 1\n"
GRANTED = '{"protection": {"ProtectionEnabled": true}}'
BLOCKED = '{"failure": {"Reason": "DEPLOYMENT_BLOCKED", "Detail": "more protected tasks than desired"}}'


def environment(engine: str, agent: str | None = None) -> dict[str, str]:
    """What the sidecar finds in its container."""
    return {
        "SLIPWAY_METRICS_URL": f"{engine}/metrics",
        "SLIPWAY_METRIC_NAMES": json.dumps(dict(NAMES)),
        "SLIPWAY_NAMESPACE": "Slipway/Inference",
        "SLIPWAY_CLUSTER": "llm",
        "SLIPWAY_SERVICE": "tanuki",
        "SLIPWAY_BATCH_SIZE": "4",
        "SLIPWAY_PROTECT_BUSY_TASK": "true",
        # A proxy of the image is not asked for what is in the task.
        "http_proxy": "http://127.0.0.1:9",
        **({"ECS_AGENT_URI": f"{agent}/api/task"} if agent else {}),
    }


def test_an_engine_is_watched_from_its_load_to_its_end() -> None:
    answers = Answers(text=(RECORDED / "tgi.txt").read_text(), status=503)
    with server(answers) as engine, sidecar(environment(engine)) as running:
        until(lambda: len(answers.asked) > 5)
        assert running.data("Scrapes") == [], "a loading engine sends nothing"

        answers.status = 200
        until(lambda: bool(running.data("QueueSize")))
        assert running.data("QueueSize")[0].values[0] == 3
        assert running.data("BatchUtilization")[0].values[0] == 100
        assert running.total("GeneratedTokens") == 0, "what was counted before it looked is not of this minute"

        assert running.stop() == 0
        assert {path for _, path, _ in answers.asked} == {"/metrics"}


def test_what_was_read_since_the_last_report_is_sent_at_the_end() -> None:
    answers = Answers(text=IDLE.format(requests=1))
    with server(answers) as engine:
        patient = {**environment(engine), "SLIPWAY_REPORT_SECONDS": "3600"}
        with sidecar(patient) as running:
            until(lambda: len(answers.asked) > 2)
            answers.text = IDLE.format(requests=6)
            seen = len(answers.asked)
            until(lambda: len(answers.asked) > seen + 2)
            assert running.stop() == 0

    assert running.total("Requests") == 5
    assert len(running.data("Scrapes")) == 1


@pytest.mark.parametrize("broken", ["status", "cut", "page"])
def test_an_engine_that_breaks_is_said_once_and_watched_again(broken: str) -> None:
    answers = Answers(text=IDLE.format(requests=1))
    with server(answers) as engine, sidecar(environment(engine)) as running:
        until(lambda: bool(running.data("Scrapes")))
        answers.status = 500 if broken == "status" else 200
        answers.cut = broken == "cut"
        answers.text = "<html>starting</html>" if broken == "page" else answers.text
        until(lambda: any("no metrics from the engine" in line for line in running.lines))
        seen = len(answers.asked)
        until(lambda: len(answers.asked) > seen + 5)

        answers.status, answers.cut, answers.text = 200, False, IDLE.format(requests=4)
        until(lambda: running.total("Requests") == 3)

    assert sum("no metrics from the engine" in line for line in running.lines) == 1
    assert sum("the engine answers" in line for line in running.lines) == 2


def test_an_absent_engine_that_starts_anew_counts_from_zero() -> None:
    answers = Answers(text=IDLE.format(requests=100))
    with server(answers) as engine, sidecar(environment(engine)) as running:
        until(lambda: bool(running.data("Scrapes")))
        answers.text = IDLE.format(requests=2)
        until(lambda: running.total("Requests") == 2)


def test_nothing_listens() -> None:
    with server(Answers()) as engine:
        gone = engine
    with sidecar(environment(gone)) as running:
        with pytest.raises(subprocess.TimeoutExpired):
            running.process.wait(1)
        assert running.stop() == 0

    assert running.lines == []


def test_an_engine_that_does_not_answer_does_not_keep_it_from_ending() -> None:
    answers = Answers(hold=threading.Event())
    with server(answers) as engine, sidecar(environment(engine)) as running:
        until(lambda: len(answers.asked) > 0)
        assert running.stop() == 0


def test_a_busy_task_is_protected_until_the_time_it_names() -> None:
    engine_answers, agent_answers = Answers(text=BUSY), Answers(text=GRANTED)
    with server(engine_answers) as engine, server(agent_answers) as agent, sidecar(environment(engine, agent)):
        until(lambda: len(agent_answers.asked) > 0)

    assert agent_answers.asked == [
        (
            "PUT",
            "/api/task/task-protection/v1/state",
            {"ProtectionEnabled": True, "ExpiresInMinutes": EXPIRY_MINUTES},
        )
    ]


def test_an_idle_task_asks_for_nothing() -> None:
    engine_answers, agent_answers = Answers(text=IDLE.format(requests=1)), Answers(text=GRANTED)
    with (
        server(engine_answers) as engine,
        server(agent_answers) as agent,
        sidecar(environment(engine, agent)) as running,
    ):
        until(lambda: running.total("Scrapes") > 10)

    assert agent_answers.asked == []


@pytest.fixture
def agent() -> Iterator[tuple[Answers, Protection]]:
    """An ECS agent that grants, and a protection that asks it."""
    answers = Answers(text=GRANTED)
    with server(answers) as url:
        yield answers, Protection(url)


def wishes(answers: Answers) -> list[bool]:
    """What the agent was asked for, in order."""
    return [body["ProtectionEnabled"] for _, _, body in answers.asked]


def test_the_protection_is_renewed_before_it_expires_and_taken_off_after_the_last_request(
    agent: tuple[Answers, Protection],
) -> None:
    answers, protection = agent
    for second in range(0, 2 * RENEWAL_SECONDS + 5, 5):
        protection.update(True, second)
    assert wishes(answers) == [True] * 3
    assert RENEWAL_SECONDS < EXPIRY_MINUTES * 60

    end = 2 * RENEWAL_SECONDS
    protection.update(False, end + IDLE_SECONDS - 1)
    assert wishes(answers) == [True] * 3, "requests that follow each other keep it"

    protection.update(False, end + IDLE_SECONDS)
    protection.update(False, end + IDLE_SECONDS + 5)
    assert wishes(answers) == [True] * 3 + [False]


def test_a_task_that_is_always_busy_is_open_now_and_then(agent: tuple[Answers, Protection]) -> None:
    answers, protection = agent
    open_at = []
    for second in range(0, 2 * (PROTECTED_SECONDS + OPEN_SECONDS), 5):
        protection.update(True, second)
        if not protection.protected:
            open_at.append(second)

    assert len(open_at) * 5 == 2 * OPEN_SECONDS
    assert open_at[0] == PROTECTED_SECONDS
    assert wishes(answers).count(False) == 2


def test_a_refusal_is_said_once_and_asked_again_later(
    agent: tuple[Answers, Protection], capfd: pytest.CaptureFixture[str]
) -> None:
    answers, protection = agent
    answers.text = BLOCKED
    for second in range(0, 2 * RETRY_SECONDS + 5, 5):
        protection.update(True, second)
    assert wishes(answers) == [True] * 3
    assert capfd.readouterr().err.count("DEPLOYMENT_BLOCKED") == 1

    answers.text = GRANTED
    protection.update(True, 3 * RETRY_SECONDS)
    assert protection.protected


def test_an_agent_that_fails_costs_no_metrics() -> None:
    engine_answers, agent_answers = Answers(text=BUSY), Answers(text="oops", status=500)
    with (
        server(engine_answers) as engine,
        server(agent_answers) as agent,
        sidecar(environment(engine, agent)) as running,
    ):
        until(lambda: running.total("Scrapes") > 5 and len(agent_answers.asked) == 1)
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(60) == 0

    assert sum("scale-in protection stays" in line for line in running.lines) == 1
