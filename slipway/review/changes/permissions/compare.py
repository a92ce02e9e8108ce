"""All broadenings of a change."""

from collections.abc import Mapping

from slipway.review.changes.model import Broadening
from slipway.review.changes.permissions.clusters import cluster_broadenings
from slipway.review.changes.permissions.iam import iam_broadenings
from slipway.review.changes.permissions.lifecycles import lifecycle_broadenings
from slipway.review.changes.permissions.protections import protection_broadenings
from slipway.review.changes.permissions.security_groups import security_group_broadenings
from slipway.review.changes.resources import Resource


def broadenings(before: Mapping[str, Resource], after: Mapping[str, Resource]) -> tuple[Broadening, ...]:
    """Return who may do more than before, in a stable order and each once.

    What comes with a new resource counts: its role may do what nobody could.

    Args:
        before: resources by `stack/logical id`, renamed ones by their new name.
        after: the same of the next deployment.
    """
    found = (
        *iam_broadenings(before, after),
        *security_group_broadenings(before, after),
        *cluster_broadenings(before, after),
        *protection_broadenings(before, after),
        *lifecycle_broadenings(before, after),
    )
    return tuple(dict.fromkeys(found))
