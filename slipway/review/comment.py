"""Keeps one comment for each environment up to date in a GitHub pull request: `python -m slipway.review.comment`.

It reads what `make review` wrote, a `.md` and a `.json` for each environment. It needs Python alone, so that the job
that holds the token to write comments runs nothing else: no packages, no code of the pull request.

API: https://docs.github.com/en/rest/issues/comments. GitHub Actions sets GITHUB_API_URL and GITHUB_REPOSITORY; other CI
systems set GITHUB_REPOSITORY and GITHUB_TOKEN themselves.
"""

import json
import os
import re
import sys
import urllib.error
import urllib.request
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NOT_COMMENTED = 2
"""Exit code when a comment could not be written."""

_MARKER = re.compile(r"<!-- slipway-plan:\S+ -->")
_NEXT = re.compile(r'<([^>]+)>;\s*rel="next"')
_TIMEOUT_SECONDS = 30
_WITHDRAWN = """{marker}
### Plan of {environment}: not planned

The newest commit of this pull request has no plan of this environment: its file is gone, or it could not be planned.
The log of the run says why."""


class CommentError(Exception):
    """A comment could not be written; the message says why."""


class PullRequest:
    """The comments of one pull request."""

    def __init__(self, api: str, repository: str, number: int, token: str) -> None:
        """Choose the pull request.

        Args:
            api: address of GitHub's API, for example https://api.github.com.
            repository: `owner/name`.
            number: number of the pull request.
            token: one with the permission to write comments in pull requests.
        """
        self._repository = f"{api}/repos/{repository}"
        self._comments = f"{self._repository}/issues/{number}/comments"
        self._token = token

    def comments(self) -> Iterator[dict[str, Any]]:
        """Yield all comments, page after page.

        Raises:
            CommentError: GitHub refuses.
        """
        address: str | None = f"{self._comments}?per_page=100"
        while address:
            answer, link = self._call("GET", address)
            yield from answer
            following = _NEXT.search(link)
            address = following[1] if following else None

    def write(self, body: str, existing: dict[str, Any] | None) -> None:
        """Write a comment, in the place of one that is there.

        Raises:
            CommentError: GitHub refuses.
        """
        if existing:
            self._call("PATCH", f"{self._repository}/issues/comments/{existing['id']}", {"body": body})
        else:
            self._call("POST", self._comments, {"body": body})

    def _call(self, method: str, address: str, content: dict[str, str] | None = None) -> tuple[Any, str]:
        request = urllib.request.Request(
            address,
            method=method,
            data=json.dumps(content).encode() if content else None,
            headers={
                "Accept": "application/vnd.github+json",
                "Authorization": f"Bearer {self._token}",
                "Content-Type": "application/json",
                "X-GitHub-Api-Version": "2022-11-28",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as response:
                return json.load(response), response.headers.get("Link", "")
        except urllib.error.HTTPError as refusal:
            said = refusal.read().decode(errors="replace")
            raise CommentError(f"{method} {address}: {refusal.code} {refusal.reason}: {said}") from refusal
        except (OSError, ValueError) as failure:
            raise CommentError(f"{method} {address}: {failure}") from failure


def update(pull_request: PullRequest, plans: list[Path], author: str, *, are_all: bool = False) -> Iterator[str]:
    """Bring the comments of environments up to date; an environment without changes gets none of its own.

    Args:
        pull_request: where the comments are.
        plans: the `.json` files of `make review`, each with a `.md` beside it.
        author: who writes these comments. Others may write the marker too; what they wrote is left alone.
        are_all: whether these are all plans of the newest commit. What is written of other environments is withdrawn
            then: it is about an older commit, and it may be worse now.

    Yields:
        What was done, a line for each environment.

    Raises:
        CommentError: GitHub refuses, or a file is not a plan, or two are of one environment.
    """
    bodies = _bodies(plans)
    ours = _written_by(author, pull_request.comments())
    for marker, (plan, body) in bodies.items():
        existing = ours.get(marker)
        if existing is None and not _changes_something(plan):
            yield f"{plan.stem}: nothing changes, no comment"
        elif existing and existing["body"].strip() == body:
            yield f"{plan.stem}: the comment says it already"
        else:
            pull_request.write(body, existing)
            yield f"{plan.stem}: comment {'updated' if existing else 'written'}"
    for marker in sorted(ours.keys() - bodies.keys()) if are_all else ():
        environment = marker.removeprefix("<!-- slipway-plan:").removesuffix(" -->")
        body = _WITHDRAWN.format(marker=marker, environment=environment)
        if ours[marker]["body"].strip() != body:
            pull_request.write(body, ours[marker])
            yield f"{environment}: not planned, comment withdrawn"


def _bodies(plans: list[Path]) -> dict[str, tuple[Path, str]]:
    """Read the Markdown of each plan, by its marker."""
    bodies: dict[str, tuple[Path, str]] = {}
    for plan in plans:
        file = plan.with_suffix(".md")
        body = file.read_text("utf-8").strip()
        marker = _MARKER.match(body)
        if not marker:
            raise CommentError(f"{file} does not begin with the marker of a plan")
        if marker[0] in bodies:
            raise CommentError(f"{bodies[marker[0]][0]} and {plan} are plans of one environment: give it one file")
        bodies[marker[0]] = (plan, body)
    return bodies


def _written_by(author: str, comments: Iterator[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return somebody's plans by marker; the first of each, should there be more."""
    ours: dict[str, dict[str, Any]] = {}
    for comment in comments:
        marker = _MARKER.match(comment.get("body") or "")
        # GitHub gives no user for an account that is gone.
        if marker and (comment.get("user") or {}).get("login") == author:
            ours.setdefault(marker[0], comment)
    return ours


def _changes_something(plan: Path) -> bool:
    """Whether a reviewer has something to read: a finding may be newly accepted without a change of any resource."""
    try:
        comparison = json.loads(plan.read_text("utf-8"))["comparison"]
        return comparison is None or any((*comparison["changes"].values(), *comparison["security"].values()))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        # The pull request's own code wrote it, in a format that the base's code may not know.
        raise CommentError(f"{plan} is not a readable plan: {error!r}") from error


def main() -> int:
    """Read the command line and the variables of the CI system; return the exit code."""
    parser = ArgumentParser(prog="python -m slipway.review.comment", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pull-request", type=int, required=True, metavar="NUMBER")
    parser.add_argument("--author", default="github-actions[bot]", help="who the token writes as")
    parser.add_argument("--all", action="store_true", help="withdraw comments of environments that are not among these")
    parser.add_argument("plans", nargs="*", type=Path, metavar="PLAN.json", help="with PLAN.md beside it")
    arguments = parser.parse_args()
    missing = [name for name in ("GITHUB_REPOSITORY", "GITHUB_TOKEN") if not os.environ.get(name)]
    if missing:
        print(f"set {' and '.join(missing)}", file=sys.stderr)
        return NOT_COMMENTED
    pull_request = PullRequest(
        os.environ.get("GITHUB_API_URL", "https://api.github.com"),
        os.environ["GITHUB_REPOSITORY"],
        arguments.pull_request,
        os.environ["GITHUB_TOKEN"],
    )
    try:
        for line in update(pull_request, arguments.plans, arguments.author, are_all=arguments.all):
            print(line)
    except (CommentError, OSError) as problem:
        print(problem, file=sys.stderr)
        return NOT_COMMENTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
