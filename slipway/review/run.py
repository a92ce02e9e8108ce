"""One run of `slipway plan`: two assemblies become a plan."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from slipway.assembly.existing import existing_in
from slipway.assembly.stacks import ENVIRONMENT_TAG, NoAssemblyError, Stack, read_stacks
from slipway.review.base_and_head import Base, BaseAndHead
from slipway.review.changes.compare import compare
from slipway.review.changes.differ import DifferError
from slipway.review.changes.model import Changes
from slipway.review.cluster_verdict import cluster_update
from slipway.review.cost.estimate import estimate as cost_of
from slipway.review.cost.model import Cost
from slipway.review.deploy_time.estimate import estimate as deploy_time_of
from slipway.review.errors import NotPlannedError
from slipway.review.plan import ClusterUpdate, Comparison, Plan
from slipway.review.security.difference import difference
from slipway.review.security.model import Security
from slipway.review.security.read import read as security_of


@dataclass(frozen=True)
class _Programs:
    """What other programs are asked, Node.js and aws-parallelcluster, while this one goes on."""

    changes: Future[Changes]
    cluster_update: Future[ClusterUpdate | None]


def plan_of(compared: BaseAndHead, directory: Path) -> Plan:
    """Read the assemblies and say all that a reviewer wants to know.

    Args:
        compared: what is planned and what it is compared with.
        directory: folder of this plan, for questions to other programs and their logs.

    Raises:
        NotPlannedError: a folder is not a cloud assembly, or AWS's differ is not installed.
    """
    try:
        head = read_stacks(compared.assembly)
        with ThreadPoolExecutor(max_workers=2) as threads:
            if compared.base:
                base = read_stacks(compared.base.assembly) if compared.base.assembly else ()
                programs = _Programs(
                    threads.submit(compare, base, head),
                    threads.submit(cluster_update, base, head, directory / "cluster-update"),
                )
            plan = Plan(
                environment=head[0].tags.get(ENVIRONMENT_TAG, head[0].name),
                region=head[0].region,
                head=compared.title,
                cost=cost_of(head),
                security=security_of(compared.assembly),
                deploy_time=deploy_time_of(compared.assembly, None),
                existing=tuple(map(str, existing_in(head))),
                not_compared=compared.not_compared,
            )
            if not compared.base:
                return plan
            comparison = _comparison(compared.base, base, plan, programs, compared.assembly)
            return plan.model_copy(update={"comparison": comparison})
    except (NoAssemblyError, DifferError) as error:
        raise NotPlannedError(str(error)) from error


def _comparison(base: Base, stacks: tuple[Stack, ...], plan: Plan, programs: _Programs, assembly: Path) -> Comparison:
    cost = cost_of(stacks) if stacks else Cost(region=plan.region, lines=(), prices_as_of=None)
    security = security_of(base.assembly) if base.assembly else Security(not_checked=plan.security.not_checked)
    changes = programs.changes.result()
    return Comparison(
        base=base.title,
        notes=(*base.notes, *_left_behind(changes), *_skipped(changes, plan.environment)),
        changes=changes,
        cluster_update=programs.cluster_update.result(),
        cost=cost,
        security=difference(security, plan.security),
        deploy_time=deploy_time_of(assembly, changes.waited_for),
    )


def _left_behind(changes: Changes) -> Iterator[str]:
    """Say what becomes of stacks that the app no longer has: `cdk deploy` leaves them alone."""
    if changes.removed_stacks:
        yield (
            f"No deployment deletes {', '.join(changes.removed_stacks)}: the environment no longer has them, so they "
            "stay and go on to cost until somebody deletes them. The plan reads as if that were done."
        )


def _skipped(changes: Changes, environment: str) -> Iterator[str]:
    """Say how to deploy the stacks that `cdk deploy` would skip."""
    if changes.skipped_stacks:
        yield (
            f"Without `--force` the CDK CLI skips {', '.join(changes.skipped_stacks)}: the template stays the same, "
            "only values from other stacks change. Deploy with "
            f"`npx cdk deploy --all --force --concurrency 4 --require-approval never -c environment={environment}`."
        )
