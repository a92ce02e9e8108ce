"""Why a model is not published. The messages are for the user."""

from collections.abc import Sequence


class PublishRefused(Exception):  # noqa: N818 - an outcome, not a defect of the program
    """Nothing that looks like a published model was left behind.

    Attributes:
        problems: everything that was found, a sentence each.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(f"- {problem}" for problem in self.problems))
