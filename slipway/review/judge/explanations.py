"""Why a warning of ParallelCluster is right as it is: rows of explanations.yaml, applied to findings."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from slipway.review.judge.inside_parallelcluster.answer import Finding, Level

EXPLANATIONS = Path(__file__).parent / "explanations.yaml"


@dataclass(frozen=True)
class Explanation:
    """The reason why findings of one validator are accepted."""

    validator: str
    """Class name of the validator, exactly."""

    pattern: str
    """Regular expression that the message must contain."""

    reason: str
    """Why Slipway wants what the validator points at."""

    def explains(self, finding: Finding) -> bool:
        """Whether the reason is about this finding; an error is never explained away."""
        return (
            finding.level is not Level.ERROR
            and finding.source == self.validator
            and re.search(self.pattern, finding.message) is not None
        )


def load_explanations(path: Path = EXPLANATIONS) -> tuple[Explanation, ...]:
    """Read the rows of the data file."""
    return tuple(Explanation(**row) for row in yaml.safe_load(path.read_text("utf-8")))


def explanation_of(finding: Finding, explanations: Iterable[Explanation]) -> Explanation | None:
    """Give the first explanation of a finding, or None."""
    return next((explanation for explanation in explanations if explanation.explains(finding)), None)


def stale(explanations: Sequence[Explanation], findings: Iterable[Finding]) -> list[Explanation]:
    """Give the explanations that no finding needs any more."""
    needed = {explanation_of(finding, explanations) for finding in findings}
    return [explanation for explanation in explanations if explanation not in needed]
