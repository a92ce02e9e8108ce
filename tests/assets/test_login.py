"""What the outputs say about logging in leads to a shell in which the documented commands run."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from slipway import facts
from tests.assembly import PROJECT, Assembly
from tests.assets.cluster_node import CFNCONFIG, ClusterNode
from tests.conftest import AssemblyFactory

NODE_SESSIONS = [("default", "HeadNodeSession"), ("team", "HeadNodeSession"), ("team", "LoginNodeSession")]

# sudo may run everything for ssm-user: amazon-ssm-agent 3.3.0.0, agent/session/utility/utility_unix.go, line 149.
SUDO = '[[ "$(<"$STATE/user")" == ssm-user ]] && exec "$@"'
# util-linux 2.38, login-utils/su-common.c, modify_environment and run_shell: a new environment but for TERM, the user's
# home as the working directory, and a login shell. Bash reads /etc/profile, which Debian (base-files) and Amazon Linux
# (setup) let read /etc/profile.d; the rest of these files is left out.
SU = """
[[ "$1" == - ]] && grep -q "^$2:" "$ROOT/etc/passwd" || exit 1
printf '%s' "$2" >"$STATE/user"
mkdir -p "$ROOT/home/$2" && cd "$ROOT/home/$2"
machine=(ROOT="$ROOT" STATE="$STATE" BASH_ENV="$ROOT/etc/profile")
exec env -i HOME="$PWD" USER="$2" PATH="${0%/*}" TERM="$TERM" "${machine[@]}" bash
"""
PROFILE = 'for file in "$ROOT"/etc/profile.d/*.sh; do . "$file"; done\n'
# aws-parallelcluster-cookbook of 2024-10-22 (f75d84c): cookbooks/aws-parallelcluster-slurm/templates/default/slurm/
# head_node/slurm.sh.erb, to which recipes/config.rb links /etc/profile.d/slurm.sh on nodes of all roles.
SLURM_PROFILE = "PATH=$PATH:/opt/slurm/bin\nMANPATH=$MANPATH:/opt/slurm/share/man\n\nexport PATH MANPATH\n"


class LoginMachine(ClusterNode):
    """A head node, or a login node with its /apps, on which Session Manager's agent opens shells."""

    def __init__(self, directory: Path, operating_system: str, *, login_node: bool = False) -> None:
        super().__init__(directory, operating_system)
        self.cluster_user = facts.operating_system(operating_system).cluster_user
        self.write("/etc/parallelcluster/cfnconfig", CFNCONFIG.replace("=ubuntu\n", f"={self.cluster_user}\n"))
        outcome = self.set_up_head()
        if login_node:
            shutil.rmtree(self.root / "etc/profile.d")
            outcome = self.set_up_login()
        assert outcome.status == 0, outcome.stderr
        self.write("/etc/profile", PROFILE)
        self.write("/etc/profile.d/slurm.sh", SLURM_PROFILE)
        for profile in (self.root / "etc/profile.d").glob("*.sh"):
            # The machine is a folder.
            text = re.sub(r"(?<=:)/(?=opt/|apps/)", f"{self.root}/", profile.read_text(encoding="utf-8"))
            profile.write_text(text, encoding="utf-8")
        # A user of the directory service, maria, is in no file.
        names = ("root", self.cluster_user, "ssm-user", "alice")
        self.write("/etc/passwd", "".join(f"{name}:x::::\n" for name in names))
        self.stub("id", 'cat "$STATE/user"')
        self.stub("getent", '[[ "$1 $2" == "--service=files passwd" ]] && grep "^$3:" "$ROOT/etc/passwd"')
        self.stub("sudo", SUDO)
        self.stub("su", SU)
        for name in ("env", "sh"):
            (self.programs / name).symlink_to(f"/usr/bin/{name}")
        self.stub("sbatch", 'printf "%s in %s: %s\\n" "$USER" "$PWD" "$*"')
        slurm = self.root / "opt/slurm/bin"
        slurm.mkdir(parents=True)
        (self.programs / "sbatch").rename(slurm / "sbatch")

    def session(self, typed: str, command: str = "", user: str = "ssm-user") -> subprocess.CompletedProcess[str]:
        """Type lines into a session as the agent starts it.

        Without a command it is `sh`, with one `sh -c COMMAND` (amazon-ssm-agent 3.3.0.0, agent/session/shell/
        shell_unix.go, lines 72 to 93), with the environment of the agent's service, TERM, LANG and HOME (lines 97 to
        159), in the service's directory (packaging/linux/amazon-ssm-agent.service, line 7: /usr/bin/).
        """
        (self.state / "user").write_text(user, encoding="utf-8")
        (self.state / "calls").write_text("", encoding="utf-8")
        folder = self.root / "usr/bin"
        folder.mkdir(parents=True, exist_ok=True)
        return subprocess.run(
            [self.programs / "sh", *(["-c", command] if command else [])],
            input=typed,
            env={
                "PATH": str(self.programs),
                "TERM": "xterm-256color",
                "LANG": "C.UTF-8",
                "HOME": f"{self.root}/home/{user}",
                "ROOT": str(self.root),
                "STATE": str(self.state),
            },
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def calls(self) -> list[str]:
        """Return the stubbed commands of the last session."""
        return (self.state / "calls").read_text(encoding="utf-8").splitlines()


@pytest.fixture(params=["ubuntu2204", "alinux2023"])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> LoginMachine:
    """A head node of each family of operating systems."""
    return LoginMachine(tmp_path, request.param)


def documented_lines() -> str:
    """The lines that the first deployment and the first training let a user type on the head node."""
    deployment = (PROJECT / "docs/first-deploy.md").read_text(encoding="utf-8")
    section = deployment.split("## 4. Log in")[1].split("\n## ")[0]
    training = (PROJECT / "docs/first-training.md").read_text(encoding="utf-8")
    blocks = re.compile(r"```console\n(.*?)```", re.DOTALL)
    # Its first line, on a laptop, opens the shell that the others are for.
    lines: str = blocks.findall(section)[-1] + blocks.findall(training)[0].partition("\n")[2]
    return lines


def session_command(assembly: Assembly, output: str) -> str:
    """What a session's document is told to run, as the AWS CLI reads an output's command."""
    value = assembly.template("training")["Outputs"][output]["Value"]
    parts = value["Fn::Join"][1] if isinstance(value, dict) else [value]
    words = shlex.split("".join(part if isinstance(part, str) else "i-0" for part in parts))
    assert words[:3] == ["aws", "ssm", "start-session"]
    assert words[words.index("--document-name") + 1] == "AWS-StartInteractiveCommand"
    key, _, command = words[words.index("--parameters") + 1].partition("=")
    assert key == "command"
    return command


@pytest.mark.parametrize(("environment", "output"), NODE_SESSIONS)
def test_documented_lines_run_in_the_shell_that_an_output_opens(
    environment: str, output: str, assemblies: AssemblyFactory, tmp_path: Path
) -> None:
    assembly = assemblies(environment)
    machine = LoginMachine(tmp_path, assembly.training.operating_system, login_node=output == "LoginNodeSession")
    user = machine.cluster_user

    shell = machine.session(documented_lines(), session_command(assembly, output))

    assert (shell.returncode, shell.stderr) == (0, "")
    home = f"{machine.root}/home/{user}"
    assert shell.stdout == f"{user} in {home}: -p trn1 /apps/slipway/smoke/neuron_ls.sbatch\n"
    kit = [call.split(" -m slipway_jobs ")[1] for call in machine.calls() if " -m slipway_jobs " in call]
    assert kit == ["submit tiny-llama --name first", "status first --watch"]


def test_a_session_without_the_document_has_no_commands_and_says_which_user_has_them(machine: LoginMachine) -> None:
    typed = f"sbatch x\nslipway-job recipes\n{machine.root}/apps/slipway/bin/slipway-job recipes\n"

    shell = machine.session(typed)

    assert shell.returncode == 2
    no_sbatch, no_slipway_job, refused = shell.stderr.splitlines()
    assert "sbatch: " in no_sbatch
    assert "slipway-job: " in no_slipway_job
    assert no_sbatch.endswith("not found")
    assert no_slipway_job.endswith("not found")
    assert refused.startswith("slipway-job: jobs cannot run as ssm-user. ")
    assert refused.endswith(f": sudo su - {machine.cluster_user}")


@pytest.mark.parametrize(("user", "status"), [("root", 2), ("maria", 0)])
def test_root_is_refused_and_a_user_of_the_directory_is_not(machine: LoginMachine, user: str, status: int) -> None:
    shell = machine.session(f"{machine.root}/apps/slipway/bin/slipway-job recipes\n", user=user)

    assert shell.returncode == status, shell.stderr
    assert shell.stderr.count("\n") == (1 if status else 0)


def user_session(assembly: Assembly) -> tuple[list[str], dict[str, Any]]:
    """What the output for users asks the AWS CLI, and the preferences of the document that it names."""
    template = assembly.template("training")
    command = template["Outputs"]["UserSession"]["Value"]["Fn::Join"][1]
    (document,) = (part["Ref"] for part in command if isinstance(part, dict))
    assert template["Resources"][document]["Type"] == "AWS::SSM::Document"
    words = shlex.split("".join(part if isinstance(part, str) else "DOCUMENT" for part in command))
    content = template["Resources"][document]["Properties"]["Content"]
    assert (content["schemaVersion"], content["sessionType"]) == ("1.0", "Standard_Stream")
    return words, content["inputs"]


def test_the_output_for_users_opens_a_logged_session_of_nobody_but_the_tagged_user(assemblies: AssemblyFactory) -> None:
    words, inputs = user_session(assemblies("team"))

    assert words[:3] == ["aws", "ssm", "start-session"]
    assert words[-2:] == ["--document-name", "DOCUMENT"]
    assert "Name=tag:parallelcluster:node-type,Values=LoginNode" in words
    # Without a default user the agent refuses a principal without the tag (shell_unix.go, lines 117 to 120).
    assert (inputs["runAsEnabled"], inputs["runAsDefaultUser"]) == (True, "")
    assert inputs["cloudWatchEncryptionEnabled"] is inputs["cloudWatchStreamingEnabled"] is True
    assert set(inputs["cloudWatchLogGroupName"]) == {"Ref"}


def test_documented_lines_run_in_the_shell_of_a_user_of_the_file(assemblies: AssemblyFactory, tmp_path: Path) -> None:
    _, inputs = user_session(assemblies("team"))
    machine = LoginMachine(tmp_path, "ubuntu2204", login_node=True)
    machine.write("/opt/slurm/etc/slipway/users", "alice:70001\n")
    (machine.root / "home/alice").mkdir(parents=True)
    # Bash reads the machine's profile, where a login shell would. The agent types the line.
    profile = inputs["shellProfile"]["linux"].replace("bash --login", f"env BASH_ENV={machine.root}/etc/profile bash")

    shell = machine.session(documented_lines(), profile, user="alice")

    assert (shell.returncode, shell.stderr) == (0, "")
    assert f" in {machine.root}/home/alice: -p trn1 /apps/slipway/smoke/neuron_ls.sbatch\n" in shell.stdout
    kit = [call.split(" -m slipway_jobs ")[1] for call in machine.calls() if " -m slipway_jobs " in call]
    assert kit == ["submit tiny-llama --name first", "status first --watch"]


def test_a_local_user_who_is_not_in_the_file_is_refused(machine: LoginMachine) -> None:
    machine.write("/opt/slurm/etc/slipway/users", "alice:70001\nalicetwo:70002\n")
    line = f"{machine.root}/apps/slipway/bin/slipway-job recipes\n"

    assert machine.session(line, user="alice").returncode == 0
    machine.write("/opt/slurm/etc/slipway/users", "alicetwo:70002\n")
    assert machine.session(line, user="alice").returncode == 2
