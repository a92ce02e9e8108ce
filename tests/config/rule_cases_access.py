"""The rule cases of logins and of ARNs at the top level."""

from typing import Any

from tests.config.rule_cases import Case

SSH = "training.ssh"
LOGIN = "training.login_nodes"
DIRECTORY = "training.directory_service"
USERS = "training.users"
ALICE = {"name": "alice", "uid": 70001}
SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:directory-reader-AbCdEf"


def ssh(allowed_cidr: str) -> dict[str, Any]:
    """SSH for a range."""
    return {SSH: {"key_name": "operators", "allowed_cidr": allowed_cidr}}


def directory(**changes: Any) -> dict[str, Any]:
    """A directory of users, changed as said."""
    values = {
        "domain_name": "corp.example.com",
        "domain_addr": "ldaps://corp.example.com",
        "password_secret_arn": SECRET,
        "domain_read_only_user": "cn=reader,ou=users,dc=corp,dc=example,dc=com",
    }
    return {DIRECTORY: {**values, **changes}}


ACCESS = [
    Case(
        "ssh-range-valid",
        ssh("10.8.0.1/16"),
        f"{SSH}.allowed_cidr",
        "names a host inside a range. Write 10.8.0.0/16.",
        ssh("10.8.0.0/16"),
    ),
    Case(
        "ssh-not-for-everyone",
        ssh("0.0.0.0/0"),
        f"{SSH}.allowed_cidr",
        "everyone may connect. Name the network that people come from",
        ssh("10.0.0.0/8"),
    ),
    Case(
        "ssh-not-for-everyone",
        ssh("0.0.0.0/1"),
        f"{SSH}.allowed_cidr",
        "everyone in 0.0.0.0/1 may connect. Name the network that people come from",
        ssh("10.0.0.0/8"),
    ),
    Case(
        "login-node-type-known",
        {LOGIN: {"instance_type": "m6i.larg"}},
        f"{LOGIN}.instance_type",
        "Write m6i.large, m6i.xlarge, m6i.2xlarge,",
        {LOGIN: {"instance_type": "m6i.large"}},
    ),
    Case(
        "login-node-without-accelerator",
        {LOGIN: {"instance_type": "trn1.2xlarge"}},
        f"{LOGIN}.instance_type",
        "login nodes would waste the accelerator of trn1.2xlarge",
        {LOGIN: {"instance_type": "m6i.xlarge"}},
    ),
    Case(
        "login-node-offered",
        {
            "region": "us-east-1",
            "network.training_availability_zone_id": "use1-az3",
            "network.other_availability_zone_ids": ["use1-az4"],
            LOGIN: {},
        },
        f"{LOGIN}.instance_type",
        "m6i.large is not offered in use1-az3",
        {
            "region": "us-east-1",
            "network.training_availability_zone_id": "use1-az4",
            "network.other_availability_zone_ids": ["use1-az3"],
            LOGIN: {},
        },
        also=frozenset({"node-type-offered", "head-node-offered"}),
    ),
    Case(
        "users-distinct",
        {USERS: [ALICE, ALICE | {"uid": 70002}]},
        "training.users[1].name",
        "another user is named alice. Write another name.",
        {USERS: [ALICE, {"name": "bob", "uid": 70002}]},
    ),
    Case(
        "users-distinct",
        {USERS: [ALICE, ALICE | {"name": "bob"}]},
        "training.users[1].uid",
        "the user alice has the user id 70001. Write another number",
        {USERS: [ALICE]},
    ),
    Case(
        "users-not-of-the-system",
        {USERS: [ALICE | {"name": "ubuntu"}]},
        "training.users[0].name",
        "ubuntu is a name of the operating system",
        {USERS: [ALICE | {"name": "ubuntu2"}]},
    ),
    Case(
        "users-without-directory",
        {**directory(), USERS: [ALICE]},
        "training.users",
        "there is a directory of users, too. Keep one of the two.",
        directory(),
    ),
    Case(
        "directory-settings-free",
        directory(additional_sssd_configs={"id_provider": "ad"}),
        f"{DIRECTORY}.additional_sssd_configs.id_provider",
        "ParallelCluster needs `ldap` here (got 'ad'). Remove this line.",
        directory(additional_sssd_configs={"access_provider": "simple"}),
    ),
    Case(
        "directory-settings-free",
        directory(
            ldap_access_filter="memberOf=cn=ml,dc=example,dc=com", additional_sssd_configs={"access_provider": "simple"}
        ),
        f"{DIRECTORY}.additional_sssd_configs.access_provider",
        "ParallelCluster needs `ldap` here (got 'simple')",
        directory(ldap_access_filter="memberOf=cn=ml,dc=example,dc=com"),
    ),
    Case(
        "directory-settings-on-one-line",
        directory(additional_sssd_configs={"ldap_page_size": "500\naccess_provider = permit"}),
        f"{DIRECTORY}.additional_sssd_configs.ldap_page_size",
        'must be text on one line (got "500\\naccess_provider = permit")',
        directory(additional_sssd_configs={"ldap_page_size": "500", "ldap_user_gecos": ""}),
    ),
    Case(
        "directory-settings-on-one-line",
        directory(additional_sssd_configs={"ldap page]": "500"}),
        f"{DIRECTORY}.additional_sssd_configs['ldap page]']",
        "is not a key of sssd.conf (got 'ldap page]')",
        directory(additional_sssd_configs={"ldap_user_extra_attrs": "mail, lastUSN:lastUSN"}),
    ),
    Case(
        "directory-filter-balanced",
        directory(ldap_access_filter="(&(objectClass=person)(uid=a)"),
        f"{DIRECTORY}.ldap_access_filter",
        "has 3 opening and 2 closing parentheses",
        directory(ldap_access_filter="(&(objectClass=person)(cn=a \\28b))"),
    ),
    Case(
        "directory-filter-balanced",
        directory(ldap_access_filter="(uid=a)(uid=b)"),
        f"{DIRECTORY}.ldap_access_filter",
        "must be one filter inside one pair of parentheses (got '(uid=a)(uid=b)')",
        directory(ldap_access_filter="(|(uid=a)(uid=b))"),
    ),
    Case(
        "directory-secret-in-region",
        directory(password_secret_arn=SECRET.replace("us-west-2", "us-east-1")),
        f"{DIRECTORY}.password_secret_arn",
        "the ARN is of us-east-1, the environment in 'us-west-2'",
        directory(),
    ),
    Case(
        "permissions-boundary-in-partition",
        {"permissions_boundary_arn": "arn:aws-cn:iam::111122223333:policy/boundary"},
        "permissions_boundary_arn",
        "the ARN is of the partition aws-cn, us-west-2 is in aws. Write arn:aws:iam:",
        {"permissions_boundary_arn": "arn:aws:iam::aws:policy/PowerUserAccess"},
    ),
]
