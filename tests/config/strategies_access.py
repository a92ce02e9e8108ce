"""Hypothesis strategies for logins to the cluster: SSH, login nodes, a directory of users."""

from hypothesis import strategies as st

from tests.config.strategies_training import Values, plain_types, with_some


@st.composite
def accesses(draw: st.DrawFn, region: str, zone: str) -> Values:
    """Draw the keys of the `training` section that are about logins."""
    optional = {
        "ssh": {
            "key_name": draw(st.sampled_from(["operators", "the team's key (2026)"])),
            "allowed_cidr": draw(st.sampled_from(["10.0.0.0/8", "192.168.7.0/24", "203.0.113.7/32"])),
        },
        "login_nodes": draw(_login_nodes(region, zone)),
        "directory_service": draw(_directories(region)),
    }
    return draw(with_some(optional, {}))


def login_addresses(access: Values) -> int:
    """Return how many addresses the login nodes and their load balancer take."""
    pool = access.get("login_nodes")
    return 0 if pool is None else 8 + int(pool.get("count", 1))


@st.composite
def _login_nodes(draw: st.DrawFn, region: str, zone: str) -> Values:
    instance_type = draw(st.sampled_from(plain_types(zone, region))).name
    optional = {"count": draw(st.integers(0, 10)), "gracetime_period_minutes": draw(st.integers(3, 120))}
    return draw(with_some(optional, {"instance_type": instance_type}))


@st.composite
def _directories(draw: st.DrawFn, region: str) -> Values:
    required: Values = {
        "domain_name": draw(st.sampled_from(["corp.example.com", "dc=corp,dc=example,dc=com"])),
        "domain_addr": draw(
            st.sampled_from(["ldaps://corp.example.com", "ldaps://a.example.com,ldaps://b.example.com"])
        ),
        "password_secret_arn": f"arn:aws:secretsmanager:{region}:111122223333:secret:directory-reader-AbCdEf",
        "domain_read_only_user": "cn=reader,ou=users,dc=corp,dc=example,dc=com",
    }
    optional = {
        "additional_sssd_configs": {"access_provider": "ldap", "ldap_page_size": "500"},
        "ldap_tls_ca_cert": "/etc/ssl/certs/corp.pem",
        "ldap_tls_req_cert": draw(st.sampled_from(["hard", "demand"])),
        "ldap_access_filter": draw(
            st.sampled_from(["memberOf=cn=ml,dc=corp,dc=example,dc=com", "(&(objectClass=person)(cn=a \\28b\\29))"])
        ),
        "generate_ssh_keys_for_users": draw(st.booleans()),
    }
    return draw(with_some(optional, required))
