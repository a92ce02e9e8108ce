"""Deleting a whole stack."""

import logging
from collections.abc import Collection

from slipway_emulator.failures import ProvisioningError
from slipway_emulator.stacks.model import ProvisionedResource, Stack
from slipway_emulator.stacks.provisioner import Provisioner
from slipway_emulator.template.references import creation_order, dependencies

_log = logging.getLogger(__name__)


def delete_stack(
    stack: Stack, provisioner: Provisioner, users_of_exports: Collection[str], retained: Collection[str] = ()
) -> None:
    """Delete every resource, dependents first; the stack ends in DELETE_COMPLETE or DELETE_FAILED.

    Args:
        stack: The stack to delete.
        provisioner: Does the work on single resources.
        users_of_exports: Names of stacks that import from this one; they keep it from being deleted.
        retained: Logical ids to leave alone (after an earlier DELETE_FAILED).
    """
    stack.enter("DELETE_IN_PROGRESS", "User Initiated")
    if users_of_exports:
        users = ", ".join(sorted(users_of_exports))
        stack.enter("DELETE_FAILED", f"An export of {stack.name} cannot be deleted as it is in use by {users}")
        return
    definitions = {
        name: definition for name, definition in stack.state.template.resources.items() if name in stack.resources
    }
    needed_by_failed: set[str] = set()
    failed: list[str] = []
    needs = dependencies(definitions)
    for logical_id in reversed(creation_order(definitions)):
        if logical_id in needed_by_failed:
            # Something that still exists refers to it; AWS would not get this far either.
            needed_by_failed |= needs[logical_id]
            continue
        policy = "Retain" if logical_id in retained else definitions[logical_id].get("DeletionPolicy", "Delete")
        if _removed(stack.resources[logical_id], policy, provisioner):
            del stack.resources[logical_id]
        else:
            failed.append(logical_id)
            needed_by_failed |= needs[logical_id]
    if failed:
        stack.enter("DELETE_FAILED", f"The following resource(s) failed to delete: [{', '.join(sorted(failed))}]. ")
    else:
        stack.enter("DELETE_COMPLETE")


def _removed(resource: ProvisionedResource, policy: str, provisioner: Provisioner) -> bool:
    try:
        provisioner.remove(resource, policy)
    except ProvisioningError:
        return False
    except Exception:
        # The client polls for a final status: a defect of the emulator must not leave it waiting forever.
        _log.exception("defect while deleting %s", resource.physical_id)
        return False
    return True
