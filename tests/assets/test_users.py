"""Users of the environment file on the nodes: each has an account of their own, and nothing of root's."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from tests.assets.cluster_node import STACK, ClusterNode, assert_failed
from tests.assets.sandbox import Outcome

USERS = {"alice": 70001, "bob": 70002}
PASSWD = "root:x:0:0::/root:/bin/bash\nubuntu:x:1000:1000::/home/ubuntu:/bin/bash\n"
GROUP = "root:x:0:\nsudo:x:27:ubuntu\nubuntu:x:1000:\n"

# Only root gives files away: the owners that chown gave are remembered by inode.
CHOWN = f'printf "%s %s\\n" "$({shutil.which("stat")} --format %i "$3")" "${{2%%:*}}" >>"$STATE/owners"'
STAT = f"""
owner="$(sed -n "s/^$({shutil.which("stat")} --format %i "${{@: -1}}") //p" "$STATE/owners")"
if [[ "$*" == *%u* && -n "$owner" ]]; then printf '%s\\n' "$owner"; else exec {shutil.which("stat")} "$@"; fi
"""
ACCOUNTS = {
    "getent": 'awk -F : -v key="$2" "\\$1 == key || \\$3 == key" "$ROOT/etc/$1" | grep .',
    "groupadd": '[[ "$1" == --gid ]] && printf "%s:x:%s:\\n" "$3" "$2" >>"$ROOT/etc/group"',
    "useradd": '[[ "${*:5:5}" == "--home-dir /home/${10} --no-create-home --shell /bin/bash" ]] || exit 2\n'
    'printf "%s:x:%s:%s::%s:%s\\n" "${10}" "$2" "$4" "$6" "$9" >>"$ROOT/etc/passwd"',
    "userdel": '[[ "$1" == --force && $# == 2 ]] && sed -i "/^$2:/d" "$ROOT/etc/passwd" "$ROOT/etc/group"',
    "chown": CHOWN,
    "stat": STAT,
}


class UserNode(ClusterNode):
    """A cluster node with accounts. /opt/slurm and /home come from the head node, when there is one."""

    def __init__(self, directory: Path, head: UserNode | None = None) -> None:
        super().__init__(directory, "ubuntu2204")
        for command, body in ACCOUNTS.items():
            self.stub(command, body)
        self.write("/etc/passwd", PASSWD)
        self.write("/etc/group", GROUP)
        self.write("/etc/skel/.profile", "# hello\n")
        (self.state / "owners").touch()
        (self.root / "home").mkdir()
        if head:
            (self.root / "home").rmdir()
            # Not the whole of /opt/slurm: the head node's health check looks at the machine.
            for shared in ("opt/slurm/etc/slipway/users", "opt/slurm/etc/slipway/users.sh", "home"):
                (self.root / shared).symlink_to(head.root / shared)

    def accounts(self) -> dict[str, str]:
        """Return user and group ids by name, of users that the images do not have."""
        passwd = [line.split(":") for line in self.read("/etc/passwd").splitlines()]
        return {name: f"{uid}:{gid}" for name, _, uid, gid, *_ in passwd if name not in ("root", "ubuntu")}

    def update_users(self, **users: int) -> Outcome:
        """Deploy other users, and run the head node's scripts again."""
        self.set_stacks(STACK, users=users)
        return self.set_up_head()


@pytest.fixture
def head(tmp_path: Path) -> UserNode:
    """A head node after its set-up with two users."""
    node = UserNode(tmp_path / "head")
    outcome = node.update_users(**USERS)
    assert outcome.status == 0, outcome.stderr
    return node


def prolog(node: UserNode) -> Outcome:
    """Run what slurmd runs before a job: `test_slurmd_runs_the_program` has the link."""
    return node.run(node.root / "opt/slurm/etc/slipway/users.sh")


def test_users_are_on_nodes_of_every_role(head: UserNode, tmp_path: Path) -> None:
    login, compute = UserNode(tmp_path / "login", head), UserNode(tmp_path / "compute", head)

    for outcome in (login.set_up_login(), compute.set_up_compute()):
        assert outcome.status == 0, outcome.stderr

    expected = {"alice": "70001:70001", "bob": "70002:70002"}
    assert head.accounts() == login.accounts() == compute.accounts() == expected


def test_homes_are_closed_to_others_and_made_once(head: UserNode) -> None:
    for name, uid in USERS.items():
        home = head.root / "home" / name
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
        assert f"{home.stat().st_ino} {uid}\n" in (head.state / "owners").read_text(encoding="utf-8")
        assert (home / ".profile").read_text(encoding="utf-8") == "# hello\n"
    assert sorted(path.name for path in (head.root / "home").iterdir()) == ["alice", "bob"]


def test_users_get_no_password_no_sudo_and_no_group_of_others(head: UserNode) -> None:
    assert not list(head.root.glob("etc/sudoers*"))
    assert head.read("/etc/group") == f"{GROUP}alice:x:70001:\nbob:x:70002:\n"
    assert not list(head.root.glob("etc/*shadow*"))
    assert not any("alice" in text for name, text in head.snapshot().items() if name.startswith("etc/pam"))


def test_a_second_set_up_changes_nothing(head: UserNode) -> None:
    before = head.snapshot()

    assert head.set_up_head().status == 0
    assert head.snapshot() == before


def test_a_node_that_runs_learns_of_users_before_its_next_job(head: UserNode, tmp_path: Path) -> None:
    compute = UserNode(tmp_path / "compute", head)
    assert compute.set_up_compute().status == 0

    assert head.update_users(bob=70002, carol=70003).status == 0
    assert prolog(compute).status == 0

    assert compute.accounts() == head.accounts() == {"bob": "70002:70002", "carol": "70003:70003"}
    assert (head.root / "home/alice/.profile").exists()
    assert not [call for call in prolog(compute).calls if call.startswith(("user", "group"))]


def test_slurmd_runs_the_program(head: UserNode) -> None:
    link = head.root / "opt/slurm/etc/scripts/prolog.d/05_slipway_users"

    assert link.resolve() == head.root / "opt/slurm/etc/slipway/users.sh"
    assert os.access(link, os.X_OK)


def test_the_last_user_can_leave(head: UserNode) -> None:
    assert head.update_users().status == 0

    assert head.accounts() == {}
    assert (head.root / "home/alice").is_dir()


def test_a_cluster_without_users_has_no_list(tmp_path: Path) -> None:
    node = UserNode(tmp_path)

    assert node.set_up_head().status == node.set_up_login().status == 0
    assert not list(node.root.glob("opt/slurm/etc/**/*users*"))
    assert not (node.root / "etc/slipway/users").exists()


@pytest.mark.parametrize("users", [{"ubuntu": 70003}, {"carol": 1000}])
def test_names_and_ids_of_somebody_else_are_refused(tmp_path: Path, users: dict[str, int]) -> None:
    node = UserNode(tmp_path)

    outcome = node.update_users(**users)

    assert_failed(outcome, "make the users", "write another in training.users")
    assert node.read("/etc/passwd") == PASSWD


def test_a_home_of_another_id_is_not_given_away(head: UserNode) -> None:
    assert_failed(head.update_users(alice=70009), "make the users", "does not belong to the user id 70009")


def test_files_of_one_who_left_are_not_given_to_the_next(tmp_path: Path) -> None:
    node = UserNode(tmp_path)
    (node.root / "home/zoe").mkdir()
    uid = os.getuid() or 70001
    os.chown(node.root / "home/zoe", uid, -1)

    assert_failed(node.update_users(alice=uid), "make the users", f"the user id {uid} owns /home/zoe")
