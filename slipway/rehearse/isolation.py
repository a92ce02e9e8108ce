"""What a rehearsal's processes may see: a folder of their own, fake credentials, and loopback only.

The variables are an allow-list. Nothing that could lead to an AWS account (a profile, a token, an endpoint, a
proxy) is inherited, so nothing has to be remembered and removed.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from slipway.rehearse.errors import RehearsalError

ACCOUNT = "123456789012"
"""The emulator's account where the environment file names none: the one AWS uses in its documentation."""

CREDENTIAL = "testing"
"""Access key and secret of the emulated account; no real key has this form."""

INHERITED = ("PATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "USER", "LOGNAME")
"""The variables that a child takes over from whoever started the rehearsal."""

CLOSED_PROXY = "http://127.0.0.1:9"
"""The discard port of this machine. As everyone's proxy it makes a call to anywhere else fail at once."""


class NotLoopbackError(RehearsalError):
    """An endpoint that is not an address of this machine: the rehearsal refuses to talk to it."""


def require_loopback(endpoint: str) -> str:
    """Return the endpoint if it is a loopback address.

    A host name is refused as well, `localhost` included: what it means is up to the machine's resolver.

    Args:
        endpoint: URL such as `http://127.0.0.1:4566`.

    Raises:
        NotLoopbackError: it is anything else.
    """
    host = urlsplit(endpoint).hostname or ""
    try:
        loopback = ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise NotLoopbackError(f"the rehearsal talks to a loopback address only, not to {endpoint!r}")
    return endpoint


def offline_variables(
    home: Path, temporary: Path, jsii_cache: Path, executables: Path, inherited: Mapping[str, str]
) -> dict[str, str]:
    """Variables for a process that needs no AWS: no credentials, no way out, nothing written elsewhere.

    Args:
        home: stands in for the user's home folder, where the CDK CLI and ParallelCluster keep caches.
        temporary: folder for temporary files.
        jsii_cache: where jsii unpacks aws-cdk-lib once for all runs.
        executables: folder that comes first on the PATH: the virtual environment's.
        inherited: the variables of this process; only `INHERITED` is taken over.
    """
    return {
        **{name: inherited[name] for name in INHERITED if name in inherited},
        "PATH": f"{executables}{os.pathsep}{inherited.get('PATH', os.defpath)}",
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "JSII_RUNTIME_PACKAGE_CACHE_ROOT": str(jsii_cache),
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        # The CDK CLI asks the system for the user's home, not HOME; its cache says which account an access key is of.
        "CDK_HOME": str(home / ".cdk"),
        "CDK_DISABLE_VERSION_CHECK": "1",
        "CDK_DISABLE_CLI_TELEMETRY": "1",
        "CI": "1",
        "NO_COLOR": "1",
        "HTTP_PROXY": CLOSED_PROXY,
        "HTTPS_PROXY": CLOSED_PROXY,
        "NO_PROXY": "127.0.0.1,localhost",
    }


def emulated_account(endpoint: str, region: str) -> dict[str, str]:
    """Variables that make every AWS SDK and the CDK CLI talk to the emulator, and to nobody else.

    Args:
        endpoint: URL of the emulator.
        region: AWS Region it plays.

    Raises:
        NotLoopbackError: the endpoint is not on this machine.
    """
    require_loopback(endpoint)
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ENDPOINT_URL_S3": endpoint,
        # What the CLI puts into TemplateURL; without it CloudFormation would be sent to the real S3.
        "AWS_ENDPOINT_URL_S3_FOR_CLOUDFORMATION": endpoint,
        "AWS_ACCESS_KEY_ID": CREDENTIAL,
        "AWS_SECRET_ACCESS_KEY": CREDENTIAL,
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
    }


@contextmanager
def only_variables(variables: Mapping[str, str]) -> Iterator[None]:
    """Give this process exactly these variables for a while: boto3 reads them, too."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
