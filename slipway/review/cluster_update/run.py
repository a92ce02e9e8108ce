"""One run of the command: synthesize, read the other side, compare."""

from pathlib import Path

from slipway.assembly.choice import NotChosenError, own_folder, refuse_unclear_choice
from slipway.assembly.environment_files import folder_name
from slipway.assembly.folder_lock import FolderTakenError
from slipway.assembly.stacks import account_of
from slipway.assembly.synthesis import SynthFailedError, synthesize
from slipway.project import PROJECT
from slipway.review.cluster_update.comparison import Comparison, compare
from slipway.review.cluster_update.errors import NotComparableError
from slipway.review.cluster_update.sources import (
    Templates,
    deployed_templates,
    stack_of_cluster,
    templates_of_assembly,
    templates_of_file,
)
from slipway.review.judge.parallelcluster_process import JudgeFailedError

UPDATE_DIRECTORY = PROJECT / ".plan" / "cluster-update"
"""Where the assembly, question, answer and logs of the last run of each environment are."""

NoComparison = (NotChosenError, FolderTakenError, NotComparableError, SynthFailedError, JudgeFailedError)
"""What `run` raises; every message is for the user."""


def run(environment: str | None, assembly: Path | None, against: Path | None, directory: Path) -> Comparison:
    """Compare the cluster of an environment with the deployed one, or with another assembly's.

    Args:
        environment: name or file of an environment; it is synthesized when there is no assembly.
        assembly: cloud assembly of the environment.
        against: cloud assembly or training template of the other side; the deployed stacks when left out.
        directory: where each environment has a folder; what an earlier run left in it is removed.

    Raises:
        NotChosenError: not exactly one of environment and assembly is given.
        FolderTakenError: the same command already works on the environment.
        NotComparableError: see `slipway.review.cluster_update.sources`.
        SynthFailedError: the environment does not synthesize.
        JudgeFailedError: aws-parallelcluster is not installed, or it ended without an answer.
    """
    refuse_unclear_choice(environment, assembly)
    if assembly is None:
        own = own_folder(directory / folder_name(str(environment)))
        assembly = own / "assembly"
        synthesize(str(environment), assembly, own / "app.log")
        wanted, region = templates_of_assembly(assembly)
    else:
        wanted, region = templates_of_assembly(assembly)
        # Not the folder's name: many assemblies are in a folder called cdk.out.
        own = own_folder(directory / folder_name(stack_of_cluster(wanted, str(assembly))))
    return compare(_other_side(against, wanted, region, assembly), wanted, region, own)


def _other_side(against: Path | None, wanted: Templates, region: str, assembly: Path) -> Templates:
    stack = stack_of_cluster(wanted, str(assembly))
    if against is None:
        return deployed_templates(wanted, stack, region, account_of(wanted[stack]))
    return templates_of_assembly(against)[0] if against.is_dir() else templates_of_file(against, stack)
