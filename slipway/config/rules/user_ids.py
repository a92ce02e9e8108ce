"""Who shares a name or a Linux user id, which keeps files on /fsx apart."""

from collections.abc import Iterator, Sequence

from slipway.config.access import ClusterUser
from slipway.config.kubernetes import Team
from slipway.config.problems import Finding, Path


def shared_names_and_ids(path: Path, members: Sequence[ClusterUser | Team], what: str) -> Iterator[Finding]:
    """Yield a finding for each member that has the name or the user id of one before it.

    Args:
        path: Field with the list of members.
        members: Users or teams, in the order of the file.
        what: Standard term for one of them, for example `user`.
    """
    for index, member in enumerate(members):
        for before in members[:index]:
            if member.name == before.name:
                yield Finding((*path, index, "name"), f"another {what} is named {member.name}", "Write another name.")
            if member.uid == before.uid:
                message = f"the {what} {before.name} has the user id {member.uid}"
                yield Finding((*path, index, "uid"), message, "Write another number: files belong to user ids.")
