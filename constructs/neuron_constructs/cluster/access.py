"""Who may log in: SSH, login nodes and a directory of users, as ParallelCluster's configuration wants them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from neuron_constructs.cluster.node_access import NodeAccess

NOBODY_CIDR = "127.0.0.1/32"
"""Stands for no one: without `AllowedIps` ParallelCluster opens port 22 to 0.0.0.0/0."""


@dataclass(frozen=True, kw_only=True)
class Ssh:
    """SSH to the head node and the login nodes."""

    key_name: str
    """EC2 key pair of the Region."""

    allowed_cidr: str
    """IPv4 range that may connect."""


@dataclass(frozen=True, kw_only=True)
class LoginNodes:
    """One pool of login nodes."""

    instance_type: str
    """EC2 instance type."""

    count: int
    """How many run."""

    gracetime_period_minutes: int
    """Minutes from the warning to the termination of a node; 3 to 120."""


@dataclass(frozen=True, kw_only=True)
class DirectoryService:
    """An LDAP directory or Active Directory; fields are ParallelCluster's own."""

    domain_name: str
    domain_addr: str
    password_secret_arn: str
    domain_read_only_user: str
    ldap_tls_ca_cert: str | None
    ldap_tls_req_cert: Literal["never", "allow", "try", "demand", "hard"]
    ldap_access_filter: str | None
    generate_ssh_keys_for_users: bool
    additional_sssd_configs: Mapping[str, str]


def allowed_cidr(ssh: Ssh | None) -> str:
    """Return who may reach port 22."""
    return ssh.allowed_cidr if ssh else NOBODY_CIDR


def head_node_ssh(ssh: Ssh | None) -> dict[str, Any]:
    """Return the `Ssh` section of the head node; nobody may connect without a key."""
    key = {"KeyName": ssh.key_name} if ssh else {}
    return {**key, "AllowedIps": allowed_cidr(ssh)}


def login_nodes_configuration(pool: LoginNodes, ssh: Ssh | None, access: NodeAccess) -> dict[str, Any]:
    """Return the `LoginNodes` section."""
    return {
        "Pools": [
            {
                "Name": "login",
                "InstanceType": pool.instance_type,
                "Count": pool.count,
                "GracetimePeriod": pool.gracetime_period_minutes,
                "Networking": {
                    "SubnetIds": [access.subnet_id],
                    **access.additional_security_groups(),
                    **access.proxy(),
                },
                # The key pair is the head node's: ParallelCluster 3.15 removed KeyName from login nodes.
                "Ssh": {"AllowedIps": allowed_cidr(ssh)},
                "CustomActions": {"OnNodeConfigured": access.node_set_up("login")},
                "Iam": access.additional_iam_policies("login"),
            }
        ]
    }


def directory_service_configuration(directory: DirectoryService) -> dict[str, Any]:
    """Return the `DirectoryService` section."""
    configuration: dict[str, Any] = {
        "DomainName": directory.domain_name,
        "DomainAddr": directory.domain_addr,
        "PasswordSecretArn": directory.password_secret_arn,
        "DomainReadOnlyUser": directory.domain_read_only_user,
        "LdapTlsReqCert": directory.ldap_tls_req_cert,
        "GenerateSshKeysForUsers": directory.generate_ssh_keys_for_users,
    }
    optional = {
        "LdapTlsCaCert": directory.ldap_tls_ca_cert,
        "LdapAccessFilter": directory.ldap_access_filter,
        "AdditionalSssdConfigs": dict(directory.additional_sssd_configs),
    }
    return configuration | {key: value for key, value in optional.items() if value}
