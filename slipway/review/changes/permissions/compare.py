"""All broadenings of a change."""

from collections.abc import Mapping

from slipway.review.changes.model import WiderAccess
from slipway.review.changes.permissions.clusters import cluster_wider_access
from slipway.review.changes.permissions.iam import iam_wider_access
from slipway.review.changes.permissions.lifecycles import lifecycle_wider_access
from slipway.review.changes.permissions.protections import protection_wider_access
from slipway.review.changes.permissions.security_groups import security_group_wider_access
from slipway.review.changes.resources import Resource


def wider_access(before: Mapping[str, Resource], after: Mapping[str, Resource]) -> tuple[WiderAccess, ...]:
    """Return who may do more than before, in a stable order and each once.

    What comes with a new resource counts: its role may do what nobody could.

    Args:
        before: resources by `stack/logical id`, renamed ones by their new name.
        after: the same of the next deployment.
    """
    found = (
        *iam_wider_access(before, after),
        *security_group_wider_access(before, after),
        *cluster_wider_access(before, after),
        *protection_wider_access(before, after),
        *lifecycle_wider_access(before, after),
    )
    return tuple(dict.fromkeys(found))
