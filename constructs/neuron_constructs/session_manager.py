"""Commands of the AWS CLI that open a session with AWS Session Manager, for the outputs of stacks."""

from collections.abc import Mapping


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
