"""One run of `slipway job`.

On Slurm the command is the one that logs in, `sudo su - USER` in the document AWS-StartInteractiveCommand, with a
command for its shell: who may log in may run jobs, and Ctrl-C and the output are as in a shell. Session Manager's
plugin does not pass the exit code on (aws/session-manager-plugin, issue 59), so the command says it in its last line.
"""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence

import typer

from slipway.errors import FailedError, RefusedError
from slipway.operate.connect.place import Place
from slipway.operate.connect.run import DOORS, door_command, home_of, run_in_terminal, without_interrupts
from slipway.operate.deployed_environment import find_environment
from slipway.programs import require

_LOGIN = re.compile(r'^(?P<session>.*) --parameters command="(?P<login>[^"]+)"$')
_ENDED = "slipway-job-ended-with"
_CODE = re.compile(rf"^{_ENDED} (\d+)\s*$".encode())
_BASH = " -- bash"


def run(choice: str, arguments: Sequence[str], *, print_only: bool) -> None:
    """Run `slipway-job`.

    Args:
        choice: name or file of an environment.
        arguments: what it gets.
        print_only: show the command, run nothing.

    Raises:
        RefusedError: the environment is not deployed or has no cluster, or a program is missing.
        FailedError: the session ended without the exit code.
        typer.Exit: with the exit code of `slipway-job`.
    """
    environment = find_environment(choice)
    place = home_of(environment)
    is_slurm = place is Place.HEAD_NODE
    door = door_command(environment, place)
    command = on_head_node(door, arguments) if is_slurm else in_shell(door, arguments)
    if print_only:
        typer.echo(shlex.join(command))
        return
    require(DOORS[place].programs)
    raise typer.Exit(_run_session(command) if is_slurm else run_in_terminal(command))


def on_head_node(login: str, arguments: Sequence[str]) -> list[str]:
    """Return the command that runs `slipway-job` as the login user.

    Args:
        login: the output `HeadNodeSession`.
        arguments: what `slipway-job` gets.

    Raises:
        RefusedError: the output is not of this form: another version of Slipway deployed it.
    """
    found = _LOGIN.match(login)
    if found is None:
        raise RefusedError(f"the output HeadNodeSession is of another version of Slipway, deploy again: {login}")
    script = f"{shlex.join(['slipway-job', *arguments])}; echo {_ENDED} $?"
    # The agent gives the text to `sh -c` (amazon-ssm-agent, agent/session/shell/shell_unix.go, StartCommandExecutor).
    remote = f"{found['login']} -c {shlex.quote(script)}"
    return [*shlex.split(found["session"]), "--parameters", json.dumps({"command": [remote]})]


def in_shell(shell: str, arguments: Sequence[str]) -> list[str]:
    """Return the command that runs `slipway-job` in the shell of a Kubernetes cluster; kubectl has its exit code.

    Args:
        shell: the output `Shell`, with the context of the cluster.
        arguments: what `slipway-job` gets.
    """
    words = shlex.split(shell.removesuffix(_BASH))
    terminal = ["-it"] if sys.stdin.isatty() else []
    return [*(word for word in words if word != "-it"), *terminal, "--", "slipway-job", *arguments]


def _run_session(command: Sequence[str]) -> int:
    """Run a session, pass its output on as it comes, without the line with the exit code; return that.

    Raises:
        FailedError: the session ended without it.
    """
    code = None
    with without_interrupts(), subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if found := _CODE.match(line):
                code = int(found[1])
            else:
                sys.stdout.buffer.write(line)
                sys.stdout.buffer.flush()
    if code is None:
        raise FailedError("the session ended before slipway-job did: what it began may go on; look with `status`")
    return code
