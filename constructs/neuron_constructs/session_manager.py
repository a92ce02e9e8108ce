"""AWS Session Manager: what an instance may do to be reached, and the commands that open a session."""

from collections.abc import Mapping

from aws_cdk import aws_iam as iam
from constructs import Construct

from neuron_constructs.acknowledgements import acknowledge, skip_checkov

_SESSIONS = (
    "ssm:UpdateInstanceInformation",
    "ssmmessages:CreateControlChannel",
    "ssmmessages:CreateDataChannel",
    "ssmmessages:OpenControlChannel",
    "ssmmessages:OpenDataChannel",
)
"""What AWS documents as the least for sessions (Systems Manager user guide, "Add Session Manager permissions to an
existing IAM role"). AWS's own policy AmazonSSMManagedInstanceCore also reads every parameter of the account."""

_COMMANDS = (
    "ec2messages:AcknowledgeMessage",
    "ec2messages:DeleteMessage",
    "ec2messages:FailMessage",
    "ec2messages:GetEndpoint",
    "ec2messages:GetMessages",
    "ec2messages:SendReply",
)
"""What Run Command adds for an agent that gets its commands by ec2messages (Systems Manager user guide, "Reference:
ec2messages, ssmmessages, and other API operations")."""


def session_statement(*, commands: bool = False) -> iam.PolicyStatement:
    """Return what an instance may do to be reached with Session Manager.

    The actions know no resource; `ssm:UpdateInstanceInformation` is asked before the instance is a managed one.

    Args:
        commands: whether it also runs commands that are sent with Run Command.
    """
    return iam.PolicyStatement(actions=[*_SESSIONS, *(_COMMANDS if commands else ())], resources=["*"])


def session_policy(scope: Construct, id: str, *, path: str = "/", commands: bool = False) -> iam.ManagedPolicy:  # noqa: A002
    """Return the same as a policy of its own.

    Args:
        scope: parent construct.
        id: construct id.
        path: IAM path, with slashes at both ends.
        commands: as `session_statement` has it.
    """
    policy = iam.ManagedPolicy(
        scope,
        id,
        path=path,
        description="Slipway: be reached with AWS Session Manager",
        statements=[session_statement(commands=commands)],
    )
    acknowledge(policy, {"AwsSolutions-IAM5[Resource::*]": "The agent's own channels to AWS know no resource."})
    skip_checkov(policy.node.default_child, {"CKV_AWS_111": "The agent's own channels to AWS know no resource."})
    return policy


def login_shell_command(instance_id: str, *, region: str, user: str) -> str:
    """Return the command that opens a login shell of a user on an instance.

    Without a document Session Manager opens `sh` as `ssm-user`, a user of that node alone, without the
    profile that puts Slurm on the path (amazon-ssm-agent 3.3.0.0, agent/session/shell/shell_unix.go, lines 72 and 133).
    `su -` makes the home of a user of a directory at the first login (PAM's mkhomedir, which ParallelCluster enables).
    """
    return (
        f"aws ssm start-session --region {region} --target {instance_id} "
        f'--document-name AWS-StartInteractiveCommand --parameters command="sudo su - {user}"'
    )


def forward_port_command(instance_id: str, *, region: str, host: str, port: int, local_port: int) -> str:
    """Return the command that forwards a port of one's own computer to a host that an instance reaches."""
    return (
        f"aws ssm start-session --region {region} --target {instance_id} "
        "--document-name AWS-StartPortForwardingSessionToRemoteHost "
        f"--parameters host={host},portNumber={port},localPortNumber={local_port}"
    )


def first_instance(tags: Mapping[str, str], *, region: str) -> str:
    """Return what a shell replaces with the id of a running instance that has these tags."""
    filters = " ".join(f"Name=tag:{key},Values={value}" for key, value in tags.items())
    return (
        f"$(aws ec2 describe-instances --region {region} --filters {filters} "
        "Name=instance-state-name,Values=running --query 'Reservations[0].Instances[0].InstanceId' --output text)"
    )
