"""Rules and notices about logins: SSH, login nodes, the directory of users."""

import re
from collections.abc import Iterator

from slipway import facts
from slipway.config.access import DirectoryService, LoginNodes, Ssh
from slipway.config.environment import Environment
from slipway.config.problems import Finding, listed, shown
from slipway.config.ranges import PRIVATE_RANGES, parse_range, range_finding, too_wide
from slipway.config.rules.arns import other_region
from slipway.config.rules.offerings import not_offered, plain_types, unknown_type, unpriced_type
from slipway.config.rules.registry import environment_notice, environment_rule
from slipway.config.rules.slurm import slurm_cluster
from slipway.config.rules.user_ids import shared_names_and_ids
from slipway.config.section import ONE_LINE_PATTERN, InvalidPart

_ALLOWED_CIDR = ("training", "ssh", "allowed_cidr")
_LOGIN_NODE_TYPE = ("training", "login_nodes", "instance_type")
_DIRECTORY = ("training", "directory_service")
_USERS = ("training", "users")

_SSSD_KEY = "For example `ldap_page_size`."
# RFC 4515: parentheses in a value are written as \28 and \29.
_LDAP_FILTER = "For example `(&(objectClass=person)(memberOf=cn=ml,dc=example))`; in a value write \\28 and \\29."


def _ssh(environment: Environment) -> Ssh:
    """Return the SSH section.

    Raises:
        InvalidPart: The cluster has no SSH, so there is nothing to check.
    """
    ssh = slurm_cluster(environment).ssh
    if ssh is None:
        raise InvalidPart("ssh")
    return ssh


def _login_nodes(environment: Environment) -> LoginNodes:
    """Return the login nodes' section.

    Raises:
        InvalidPart: The cluster has no login nodes.
    """
    login_nodes = slurm_cluster(environment).login_nodes
    if login_nodes is None:
        raise InvalidPart("login_nodes")
    return login_nodes


def _directory(environment: Environment) -> DirectoryService:
    """Return the directory's section.

    Raises:
        InvalidPart: The cluster has no directory.
    """
    directory = slurm_cluster(environment).directory_service
    if directory is None:
        raise InvalidPart("directory_service")
    return directory


@environment_rule
def ssh_range_valid(environment: Environment) -> Iterator[Finding]:
    """The range that may connect by SSH is an IPv4 range without host bits."""
    yield from range_finding(_ALLOWED_CIDR, _ssh(environment).allowed_cidr)


@environment_rule
def ssh_not_for_everyone(environment: Environment) -> Iterator[Finding]:
    """SSH is open neither to 0.0.0.0/0 nor to another range wider than /8."""
    for allowed in too_wide([_ssh(environment).allowed_cidr]):
        strangers = "everyone" if allowed.prefixlen == 0 else f"everyone in {allowed}"
        fix = "Name the network that people come from: the VPC's range, or that of a VPN."
        yield Finding(_ALLOWED_CIDR, f"{strangers} may connect", fix)


@environment_notice
def ssh_range_reachable(environment: Environment) -> Iterator[Finding]:
    """The range that may connect by SSH has no private addresses, and the nodes have no others."""
    allowed = parse_range(_ssh(environment).allowed_cidr)
    if allowed is not None and not any(allowed.overlaps(private) for private in PRIVATE_RANGES):
        message = f"{allowed} is on the internet, and the nodes have private addresses only"
        fix = "Write the VPC's range, or that of a network joined to it; from elsewhere use Session Manager."
        yield Finding(_ALLOWED_CIDR, message, fix)


@environment_rule
def login_node_type_known(environment: Environment) -> Iterator[Finding]:
    """The login nodes' instance type is one that Slipway knows."""
    yield from unknown_type(_LOGIN_NODE_TYPE, _login_nodes(environment).instance_type, plain_types(), any_cpu_type=True)


@environment_notice
def login_node_type_unpriced(environment: Environment) -> Iterator[Finding]:
    """The login nodes' instance type is one without facts."""
    yield from unpriced_type(_LOGIN_NODE_TYPE, _login_nodes(environment).instance_type)


@environment_rule
def login_node_without_accelerator(environment: Environment) -> Iterator[Finding]:
    """The login nodes have no accelerator: they run all the time, and chips would be idle."""
    name = _login_nodes(environment).instance_type
    if facts.instance_type(name).neuron_devices:
        message = f"login nodes would waste the accelerator of {name}"
        yield Finding(_LOGIN_NODE_TYPE, message, f"Write {listed(row.name for row in plain_types())}.")


@environment_rule
def login_node_offered(environment: Environment) -> Iterator[Finding]:
    """The training zone offers the login nodes' instance type."""
    zone = environment.network.training_availability_zone_id
    yield from not_offered(_LOGIN_NODE_TYPE, _login_nodes(environment).instance_type, environment.region, (zone,))


@environment_notice
def directory_users_get_in(environment: Environment) -> Iterator[Finding]:
    """There is a directory of users and no SSH: Session Manager logs everyone in as one user of its own."""
    _directory(environment)
    if slurm_cluster(environment).ssh is None:
        message = "users of the directory log in by SSH, which is closed"
        yield Finding(_DIRECTORY, message, "Add `training.ssh`.", at_key=True)


@environment_rule
def users_distinct(environment: Environment) -> Iterator[Finding]:
    """No two users share a name or a user id."""
    yield from shared_names_and_ids(_USERS, slurm_cluster(environment).users, "user")


@environment_rule
def users_not_of_the_system(environment: Environment) -> Iterator[Finding]:
    """No user has the name of a user or group that the nodes have already."""
    for index, user in enumerate(slurm_cluster(environment).users):
        if user.name in facts.system_names():
            message = f"{user.name} is a name of the operating system, of ParallelCluster or of AWS's agents"
            yield Finding((*_USERS, index, "name"), message, "Write the name of a person, for example `alice`.")


@environment_rule
def users_without_directory(environment: Environment) -> Iterator[Finding]:
    """Users come from the file or from a directory: the same name in both would be two users."""
    training = slurm_cluster(environment)
    if training.users and training.directory_service is not None:
        yield Finding(_USERS, "there is a directory of users, too", "Keep one of the two.", at_key=True)


@environment_rule
def directory_settings_free(environment: Environment) -> Iterator[Finding]:
    """additional_sssd_configs has no other id_provider than `ldap`, and no other access_provider beside a filter."""
    directory = _directory(environment)
    # aws-parallelcluster 3.16.1, directory_service_validators.py, AdditionalSssdConfigsValidator.
    reserved = ["id_provider", *(["access_provider"] if directory.ldap_access_filter is not None else [])]
    for key in reserved:
        value = directory.additional_sssd_configs.get(key, "ldap")
        if value != "ldap":
            path = (*_DIRECTORY, "additional_sssd_configs", key)
            yield Finding(path, f"ParallelCluster needs `ldap` here (got {shown(value)})", "Remove this line.")


@environment_rule
def directory_settings_on_one_line(environment: Environment) -> Iterator[Finding]:
    """A key of additional_sssd_configs has lower-case letters, digits and `_`, and its value no line break."""
    for key, value in _directory(environment).additional_sssd_configs.items():
        path = (*_DIRECTORY, "additional_sssd_configs", key)
        if not re.fullmatch(r"[a-z0-9_]+", key):
            yield Finding(path, f"is not a key of sssd.conf (got {shown(key)})", _SSSD_KEY, at_key=True)
        elif not re.fullmatch(rf"({ONE_LINE_PATTERN})?", value):
            yield Finding(path, f"must be text on one line (got {shown(value)})", "Write each key by itself.")


@environment_rule
def directory_filter_balanced(environment: Environment) -> Iterator[Finding]:
    """ldap_access_filter is one LDAP filter: each parenthesis is closed, and none stands in a value."""
    written = _directory(environment).ldap_access_filter
    if written is None:
        return
    path, filter_ = (*_DIRECTORY, "ldap_access_filter"), re.sub(r"\\[0-9A-Fa-f]{2}", "", written)
    opened, closed = filter_.count("("), filter_.count(")")
    if opened != closed:
        message = f"has {opened} opening and {closed} closing parentheses (got {shown(written)})"
        yield Finding(path, message, _LDAP_FILTER)
    elif "(" in filter_ and not _is_one_group(filter_):
        message = f"must be one filter inside one pair of parentheses (got {shown(written)})"
        yield Finding(path, message, _LDAP_FILTER)


def _is_one_group(filter_: str) -> bool:
    """Whether the first parenthesis is closed by the last character and not before."""
    depth = 0
    for index, character in enumerate(filter_):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return index == len(filter_) - 1
    return False


@environment_rule
def directory_secret_in_region(environment: Environment) -> Iterator[Finding]:
    """The secret with the reading user's password is in the environment's partition and Region."""
    fix = "Keep the secret there: the head node reads those of its own Region."
    path = (*_DIRECTORY, "password_secret_arn")
    yield from other_region(path, _directory(environment).password_secret_arn, environment.region, fix)
