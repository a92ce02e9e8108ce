"""One comment for each environment, on a GitHub of our own on loopback, in a process that has Python alone."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.assembly import PROJECT

BOT, TOKEN = "github-actions[bot]", "the-token"
COMMENTS = "/repos/owner/name/issues/7/comments"


class GitHub:
    """The comments of a pull request, a few on each page."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = []
        self.calls: list[str] = []
        self.page_size = 2
        self.refusal: int | None = None
        self.address = ""

    def comment(self, body: str, login: str = BOT) -> None:
        self.comments.append({"id": 100 + len(self.comments), "body": body, "user": {"login": login}})


@pytest.fixture
def github() -> Iterator[GitHub]:
    state = GitHub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.called()
            page = int(parse_qs(urlsplit(self.path).query).get("page", ["1"])[0])
            end = page * state.page_size
            link = f'<{state.address}{COMMENTS}?page={page + 1}>; rel="next"' if end < len(state.comments) else ""
            self.answer(200, state.comments[end - state.page_size : end], link)

        def do_POST(self) -> None:
            self.called()
            if state.refusal:
                return self.answer(state.refusal, {"message": "Resource not accessible by integration"})
            state.comment(self.content()["body"])
            return self.answer(201, state.comments[-1])

        def do_PATCH(self) -> None:
            self.called()
            number = int(self.path.rpartition("/")[2])
            (comment,) = (comment for comment in state.comments if comment["id"] == number)
            comment["body"] = self.content()["body"]
            self.answer(200, comment)

        def called(self) -> None:
            assert self.headers["Authorization"] == f"Bearer {TOKEN}"
            state.calls.append(f"{self.command} {urlsplit(self.path).path}")

        def content(self) -> dict[str, str]:
            content: dict[str, str] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            return content

        def answer(self, status: int, content: Any, link: str = "") -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            if link:
                self.send_header("Link", link)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


def plan(folder: Path, name: str, text: str, *, changes: bool = True, accepts: bool = False) -> Path:
    """Write what `make review` writes of an environment."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.md").write_text(f"<!-- slipway-plan:{name} -->\n{text}\n")
    content = {"added_stacks": [], "resources": [{"effect": "add"}] if changes else [], "broadenings": []}
    security = {"new": [], "new_acknowledgements": [{"rule": "AwsSolutions-S1"}] if accepts else []}
    (folder / f"{name}.json").write_text(json.dumps({"comparison": {"changes": content, "security": security}}))
    return folder / f"{name}.json"


def run(github: GitHub, *plans: Path | str, token: str = TOKEN) -> subprocess.CompletedProcess[str]:
    """Run the program as the workflow does, without the packages of this environment (-S)."""
    environment = {
        "PATH": os.environ["PATH"],
        "GITHUB_API_URL": github.address,
        "GITHUB_REPOSITORY": "owner/name",
        "GITHUB_TOKEN": token,
    }
    command = [sys.executable, "-S", "-m", "slipway.review.comment", "--pull-request", "7", *map(str, plans)]
    return subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)


def test_the_first_plan_writes_a_comment_and_the_next_one_changes_it(github: GitHub, tmp_path: Path) -> None:
    assert run(github, plan(tmp_path, "team", "first")).stdout == "team: comment written\n"
    assert run(github, plan(tmp_path, "team", "second")).stdout == "team: comment updated\n"

    assert [comment["body"].split() for comment in github.comments] == [["<!--", "slipway-plan:team", "-->", "second"]]


def test_a_comment_that_says_it_already_is_left(github: GitHub, tmp_path: Path) -> None:
    run(github, plan(tmp_path, "team", "first"))
    github.calls.clear()

    assert run(github, plan(tmp_path, "team", "first")).returncode == 0
    assert github.calls == [f"GET {COMMENTS}"]


def test_environments_have_comments_of_their_own(github: GitHub, tmp_path: Path) -> None:
    run(github, plan(tmp_path, "team", "one"), plan(tmp_path, "team2", "two"))
    run(github, plan(tmp_path, "team", "three"), plan(tmp_path, "team2", "two"))

    assert [comment["body"].split()[-1] for comment in github.comments] == ["three", "two"]


def test_the_comment_is_found_on_a_later_page(github: GitHub, tmp_path: Path) -> None:
    for _ in range(5):
        github.comment("please rebase", login="colleague")
    run(github, plan(tmp_path, "team", "first"))

    run(github, plan(tmp_path, "team", "second"))

    assert len(github.comments) == 6
    assert github.comments[-1]["body"].endswith("second")


def test_a_comment_of_somebody_else_with_the_marker_is_left(github: GitHub, tmp_path: Path) -> None:
    github.comment("<!-- slipway-plan:team -->\nall fine, merge it", login="colleague")

    run(github, plan(tmp_path, "team", "first"))

    assert [comment["user"]["login"] for comment in github.comments] == ["colleague", BOT]
    assert "all fine" in github.comments[0]["body"]


def test_an_environment_that_does_not_change_gets_no_comment(github: GitHub, tmp_path: Path) -> None:
    said = run(github, plan(tmp_path, "team", "Nothing changes.", changes=False))

    assert (said.returncode, said.stdout) == (0, "team: nothing changes, no comment\n")
    assert github.comments == []


def test_a_comment_that_is_there_says_that_nothing_changes_any_more(github: GitHub, tmp_path: Path) -> None:
    run(github, plan(tmp_path, "team", "first"))

    run(github, plan(tmp_path, "team", "Nothing changes.", changes=False))

    assert github.comments[0]["body"].endswith("Nothing changes.")


def test_a_finding_that_is_newly_accepted_is_no_change_and_yet_a_comment(github: GitHub, tmp_path: Path) -> None:
    run(github, plan(tmp_path, "team", "accepts AwsSolutions-S1", changes=False, accepts=True))

    assert github.comments[0]["body"].endswith("accepts AwsSolutions-S1")


def test_what_was_said_of_an_environment_that_is_not_planned_any_more_is_withdrawn(
    github: GitHub, tmp_path: Path
) -> None:
    team, small = plan(tmp_path, "team", "harmless"), plan(tmp_path, "small", "harmless")
    github.comment("please rebase", login="colleague")
    run(github, "--all", team, small)

    assert run(github, small).stdout == "small: the comment says it already\n"
    assert run(github, "--all", small).stdout.splitlines()[-1] == "team: not planned, comment withdrawn"
    assert run(github, "--all").stdout == "small: not planned, comment withdrawn\n"

    said = [comment["body"] for comment in github.comments]
    assert said[0] == "please rebase"
    assert said[1].startswith("<!-- slipway-plan:team -->\n### Plan of team: not planned\n")
    assert "harmless" not in "".join(said)
    run(github, "--all", team)
    assert github.comments[1]["body"].endswith("harmless")
    assert len(github.comments) == 3


def test_comments_of_accounts_that_are_gone_are_left(github: GitHub, tmp_path: Path) -> None:
    github.comments.append({"id": 1, "body": "<!-- slipway-plan:team -->", "user": None})
    github.comments.append({"id": 2, "body": None, "user": {"login": BOT}})

    assert run(github, plan(tmp_path, "team", "first")).stdout == "team: comment written\n"


def test_two_plans_of_one_environment_are_refused(github: GitHub, tmp_path: Path) -> None:
    copied = plan(tmp_path, "copy", "second")
    copied.with_suffix(".md").write_text("<!-- slipway-plan:team -->\nsecond\n")

    said = run(github, plan(tmp_path, "team", "first"), copied)

    assert said.returncode == 2
    assert "are plans of one environment" in said.stderr
    assert github.comments == []


def test_a_refusal_is_said_in_githubs_words(github: GitHub, tmp_path: Path) -> None:
    github.refusal = 403

    said = run(github, plan(tmp_path, "team", "first"))

    assert said.returncode == 2
    assert "403" in said.stderr
    assert "Resource not accessible by integration" in said.stderr
    assert "Traceback" not in said.stderr
    assert TOKEN not in said.stderr


def test_no_answer_is_said(github: GitHub, tmp_path: Path) -> None:
    github.address = "http://127.0.0.1:9"

    said = run(github, plan(tmp_path, "team", "first"))

    assert said.returncode == 2
    assert "Connection refused" in said.stderr
    assert "Traceback" not in said.stderr


def test_a_missing_token_is_said(github: GitHub, tmp_path: Path) -> None:
    said = run(github, plan(tmp_path, "team", "first"), token="")

    assert (said.returncode, said.stderr) == (2, "set GITHUB_TOKEN\n")
    assert github.calls == []


def test_a_file_that_is_no_plan_is_refused(github: GitHub, tmp_path: Path) -> None:
    file = plan(tmp_path, "team", "first")
    file.with_suffix(".md").write_text("hello")

    said = run(github, file)

    assert said.returncode == 2
    assert "does not begin with the marker of a plan" in said.stderr
    assert github.comments == []


@pytest.mark.parametrize("content", ["no JSON", "[]", "{}", '{"comparison": {"changes": []}}'])
def test_a_plan_in_another_format_is_refused(github: GitHub, tmp_path: Path, content: str) -> None:
    """The base's code reads what the code of the pull request wrote."""
    file = plan(tmp_path, "team", "first")
    file.write_text(content)

    said = run(github, file)

    assert said.returncode == 2
    assert f"{file} is not a readable plan" in said.stderr
    assert "Traceback" not in said.stderr
    assert github.comments == []
