"""The verdict on one environment."""

from collections.abc import Sequence
from dataclasses import dataclass

from slipway.review.judge.explanations import Explanation, explanation_of
from slipway.review.judge.inside_parallelcluster.answer import Answer, Finding


@dataclass(frozen=True)
class Verdict:
    """What was found in one environment, and whether it passes."""

    environment: str
    explanations: Sequence[Explanation]
    answer: Answer | None = None
    problem: str | None = None
    """Why there is no answer: the app or ParallelCluster's side did not get to an end."""

    without_cluster: bool = False
    """The environment has no Slurm cluster, so ParallelCluster was not asked."""

    @property
    def findings(self) -> list[tuple[Finding, Explanation | None]]:
        """Every finding with its explanation, the unexplained ones first."""
        found = self.answer.outcome.findings if self.answer else []
        judged = [(finding, explanation_of(finding, self.explanations)) for finding in found]
        return sorted(judged, key=lambda pair: pair[1] is not None)

    @property
    def passed(self) -> bool:
        """Whether the template was built and every finding has its explanation, or there is no cluster to judge."""
        return self.without_cluster or (
            self.answer is not None
            and self.answer.outcome.template_resources > 0
            and all(explanation is not None for _, explanation in self.findings)
        )
