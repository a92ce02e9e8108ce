"""Who may log in to the cluster and how: SSH, login nodes, a directory of users."""

from typing import Annotated, Literal

from pydantic import Field

from slipway.config.section import ONE_LINE_PATTERN, Cidr, Form, Section

SecretArn = Annotated[
    str,
    Form(
        r"arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]+",
        "the ARN of a secret in AWS Secrets Manager",
        "arn:aws:secretsmanager:us-west-2:111122223333:secret:directory-reader-AbCdEf",
    ),
]
"""ARN of a secret; the secret itself never stands in the file."""


class Ssh(Section):
    """SSH to the head node and login nodes. Without it people log in through Session Manager of AWS Systems Manager."""

    key_name: Annotated[
        str,
        # EC2 API, CreateKeyPair, KeyName.
        Form(r"[!-~]([ -~]{0,253}[!-~])?", "1 to 255 ASCII characters without spaces at the ends", "operators"),
    ]
    """Name of an EC2 key pair of the Region; on Ubuntu an ED25519 one: ParallelCluster refuses RSA there."""

    allowed_cidr: Cidr
    """IPv4 range that may connect, for example a VPN's. The nodes have private addresses only."""


class LoginNodes(Section):
    """A pool of nodes for people behind a network load balancer, so that the head node only schedules."""

    instance_type: str = "m6i.large"
    """EC2 instance type, x86_64 like the other nodes. Any CPU type is taken; one without facts is unpriced."""

    count: Annotated[int, Field(ge=0, le=10)] = 1
    """How many login nodes run, and are paid, all the time; 0 stops them, which a change of the pool needs first."""

    gracetime_period_minutes: Annotated[int, Field(ge=3, le=120)] = 10
    """Minutes from the warning to logged-in people until an ended login node is terminated."""


class ClusterUser(Section):
    """A Linux user of all nodes, without a password and without sudo."""

    name: Annotated[
        str,
        Form(
            r"[a-z][a-z0-9_-]{0,30}[a-z0-9]",
            "2 to 32 lower-case letters, digits, `_` and `-`; a letter comes first, a letter or digit last",
            "alice",
        ),
    ]
    """Name of the user and of its group; people log in with a role that has it as the tag `SSMSessionRunAs`."""

    # Beyond what useradd (login.defs: UID_MAX 60000) and systemd (docs/UIDS-GIDS.md: up to 65535) give out, below the
    # ids of user namespaces (login.defs: SUB_UID_MIN 100000).
    uid: Annotated[int, Field(ge=70_000, le=99_999)]
    """User and group id, which is what files belong to. Never give another person the number of one who left."""


class DirectoryService(Section):
    """Users and groups from an LDAP directory or Active Directory, handed to ParallelCluster as it is."""

    domain_name: Annotated[
        str,
        Form(
            r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*|(DC|dc)=[A-Za-z0-9_-]+(,(DC|dc)=[A-Za-z0-9_-]+)*",
            "a domain name or a distinguished name of domain components",
            "corp.example.com",
        ),
    ]
    """Domain name `corp.example.com`, or a distinguished name `dc=corp,dc=example,dc=com`."""

    domain_addr: Annotated[
        str,
        Form(
            r"ldaps://HOST(,ldaps://HOST)*".replace("HOST", r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(:[0-9]{1,5})?/?"),
            "one or more ldaps:// addresses separated by commas, without spaces",
            "ldaps://corp.example.com",
        ),
    ]
    """Addresses of the domain controllers, separated by commas. Names and passwords cross the network encrypted."""

    password_secret_arn: SecretArn
    """ARN of the secret that holds the reading user's password as plain text."""

    domain_read_only_user: Annotated[
        str,
        Form(
            rf"[A-Za-z0-9.-]+={ONE_LINE_PATTERN}",
            "a distinguished name on one line",
            "cn=reader,ou=users,dc=corp,dc=example,dc=com",
        ),
    ]
    """Distinguished name of the user that may only read the directory."""

    ldap_tls_ca_cert: (
        Annotated[
            str,
            Form(
                r"(/\.?[A-Za-z0-9_+@-][A-Za-z0-9_.+@-]*)+",
                "an absolute path without `..`, of letters, digits, `_`, `.`, `+`, `@` and `-`",
                "/etc/ssl/certs/corp.pem",
            ),
        ]
        | None
    ) = None
    """Path on the nodes of the bundle with the directory's certificate authority; the system's own when left out."""

    ldap_tls_req_cert: Literal["hard", "demand"] = "hard"
    """OpenLDAP's TLS_REQCERT; both refuse a directory whose certificate is not valid, the other words would not."""

    ldap_access_filter: (
        Annotated[
            str, Form(ONE_LINE_PATTERN, "an LDAP filter on one line", "memberOf=cn=ml,ou=groups,dc=example,dc=com")
        ]
        | None
    ) = None
    """LDAP filter of the users who may log in."""

    generate_ssh_keys_for_users: bool = True
    """Whether a user gets an SSH key for travel between nodes at the first login."""

    additional_sssd_configs: Annotated[dict[str, str], Field(default_factory=dict)]
    """Further keys of the domain's section in sssd.conf; values are text, so `true` needs quotation marks."""
