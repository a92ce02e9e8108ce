"""AWS Session Manager: what an instance may do to be reached, and the commands that open a session."""

from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from neuron_constructs.acknowledgements import acknowledge, skip_checkov
from neuron_constructs.log_groups import log_group_arns, stack_log_group

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


_IDLE_MINUTES = "60"
"""Most that Session Manager allows (quota "Idle session timeout", 1 to 60 minutes)."""

_LONGEST_MINUTES = "720"
"""A working day; the connection then opens anew, and jobs go on in Slurm."""


def session_statement(*, commands: bool = False) -> iam.PolicyStatement:
    """Return what an instance may do to be reached with Session Manager.

    The actions know no resource; `ssm:UpdateInstanceInformation` is asked before the instance is a managed one.

    Args:
        commands: whether it also runs commands that are sent with Run Command.
    """
    return iam.PolicyStatement(actions=[*_SESSIONS, *(_COMMANDS if commands else ())], resources=["*"])


class UserSessions(Construct):
    """A Session Manager document that opens a login shell as one's own Linux user, and the log of what is typed.

    The user is the tag `SSMSessionRunAs` of the IAM role or user that starts the session. Without the tag there is no
    session: the document names no default user, and Session Manager does not fall back on `ssm-user`, who is root by
    sudo (Systems Manager user guide, "Turn on Run As support" and "Session document schema").
    """

    document_name: str
    log_group: logs.LogGroup

    def __init__(self, scope: Construct, id: str, *, retention: logs.RetentionDays) -> None:  # noqa: A002
        super().__init__(scope, id)
        self.log_group = stack_log_group(self, "Logs", retention=retention)
        document = ssm.CfnDocument(
            self,
            "Document",
            document_type="Session",
            # A new version becomes the default one and keeps the name, which people's policies have.
            update_method="NewVersion",
            content={
                "schemaVersion": "1.0",
                "description": "Slipway: a login shell as the Linux user of the tag SSMSessionRunAs",
                "sessionType": "Standard_Stream",
                "inputs": {
                    "runAsEnabled": True,
                    "runAsDefaultUser": "",
                    "cloudWatchLogGroupName": self.log_group.log_group_name,
                    # The agent writes only when the group is encrypted with a key.
                    "cloudWatchEncryptionEnabled": True,
                    "cloudWatchStreamingEnabled": True,
                    "idleSessionTimeout": _IDLE_MINUTES,
                    "maxSessionDuration": _LONGEST_MINUTES,
                    # The agent starts `sh` in its own folder (shell_unix.go, lines 72 to 93) and types this line.
                    "shellProfile": {"linux": "cd && exec bash --login"},
                },
            },
        )
        self.document_name = document.ref


def _log_statements(log_group: logs.ILogGroup) -> list[iam.PolicyStatement]:
    """What the agent asks for; it looks for the group among those of the account.

    Source: Systems Manager user guide, "Create an IAM role with permissions for Session Manager and Amazon S3 and
    CloudWatch Logs".
    """
    arns = log_group_arns(cdk.Stack.of(log_group), log_group.log_group_name)
    return [
        iam.PolicyStatement(actions=["logs:DescribeLogGroups"], resources=["*"]),
        iam.PolicyStatement(
            actions=["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
            resources=[arns[0], log_group.log_group_arn],
        ),
    ]


def session_policy(
    scope: Construct,
    id: str,  # noqa: A002
    *,
    path: str = "/",
    commands: bool = False,
    log_group: logs.ILogGroup | None = None,
) -> iam.ManagedPolicy:
    """Return the same as a policy of its own.

    Args:
        scope: parent construct.
        id: construct id.
        path: IAM path, with slashes at both ends.
        commands: as `session_statement` has it.
        log_group: where the instance writes the sessions' logs.
    """
    policy = iam.ManagedPolicy(
        scope,
        id,
        path=path,
        description="Slipway: be reached with AWS Session Manager",
        statements=[
            session_statement(commands=commands),
            *(_log_statements(log_group) if log_group else ()),
        ],
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


def user_session_command(instance_id: str, *, region: str, document_name: str) -> str:
    """Return the command that opens a shell as one's own Linux user, by a document of `UserSessions`."""
    return f"aws ssm start-session --region {region} --target {instance_id} --document-name {document_name}"


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
