"""What moto's IAM holds at this moment: who has an access key, which policies decide, what an ARN really is."""

import json
from collections.abc import Mapping
from typing import Any

from moto.iam.models import IAMBackend, iam_backends
from moto.kms.models import kms_backends
from moto.logs.models import logs_backends
from moto.s3.models import s3_backends
from moto.sts.models import sts_backends

from slipway_emulator.permissions.acting import ADMINISTRATOR
from slipway_emulator.permissions.evaluation import Policies
from slipway_emulator.settings import ACCOUNT, PARTITION

_BUCKET = f"arn:{PARTITION}:s3:::"
_WITH_PATH = {"role": "roles", "instance-profile": "instance_profiles", "policy": "managed_policies"}


class GoneError(Exception):
    """A role or user does not exist (any more)."""


def _iam() -> IAMBackend:
    backend: IAMBackend = iam_backends[ACCOUNT][PARTITION]
    return backend


def _snapshot(store: Mapping[str, Any]) -> list[Any]:
    """Return what a store of moto's holds now: other threads go on to change it, which ends a loop over it."""
    return list(store.values())


def owner_of(access_key: str) -> str:
    """Return the ARN of the user or role that an access key is of; `ADMINISTRATOR` for any other key."""
    if role := sts_backends[ACCOUNT][PARTITION].get_assumed_role_from_access_key(access_key):
        return str(role.role_arn)
    for user in _snapshot(_iam().users):
        if any(key.access_key_id == access_key for key in user.access_keys):
            return str(user.arn)
    return ADMINISTRATOR


def session_keys(role_arn: str, name: str) -> dict[str, str]:
    """Take on a role, as a service does, and return the variables that make an SDK sign with it."""
    session = sts_backends[ACCOUNT][PARTITION].assume_role(
        region_name="us-east-1",
        role_session_name=name[:64],
        role_arn=role_arn,
        policy="",
        duration=3600,
        external_id="",
    )
    return {
        "AWS_ACCESS_KEY_ID": session.access_key_id,
        "AWS_SECRET_ACCESS_KEY": session.secret_access_key,
        "AWS_SESSION_TOKEN": session.session_token,
    }


def policies_of(arn: str) -> Policies:
    """Return the policies of a user or a role.

    Raises:
        GoneError: there is none.
    """
    kind = "users" if ":user/" in arn else "roles"
    holder = next((one for one in _snapshot(getattr(_iam(), kind)) if one.arn == arn), None)
    if holder is None:
        raise GoneError(arn)
    inline = [text if isinstance(text, str) else json.dumps(text) for text in _snapshot(holder.policies)]
    attached = [_current(policy) for policy in _snapshot(holder.managed_policies)]
    boundary = getattr(holder, "permissions_boundary_arn", None)
    return Policies([*inline, *attached], _current(_iam().managed_policies[boundary]) if boundary else None)


def policy_of_resource(action: str, resource: str | None) -> str | None:
    """Return the policy of a bucket, a key or a role, where the action is decided by one."""
    if resource is None:
        return None
    if action.startswith("sts:Assume"):
        role = next((one for one in _snapshot(_iam().roles) if one.arn == resource), None)
        return _text(role.assume_role_policy_document) if role else None
    if resource.startswith(_BUCKET):
        bucket = s3_backends[ACCOUNT][PARTITION].buckets.get(resource.removeprefix(_BUCKET).partition("/")[0])
        return _text(bucket.policy) if bucket else None
    if action.startswith("kms:") and ":key/" in resource:
        keys = kms_backends[ACCOUNT][resource.split(":")[3]].keys
        key = keys.get(resource.rpartition("/")[2])
        return _text(key.policy) if key else None
    return None


def role_exists(arn: str) -> bool:
    """Whether a role exists; one of another account does not, here."""
    return any(role.arn == arn for role in _snapshot(_iam().roles))


def real_arn(resource: str | None) -> str | None:
    """Return the ARN with its path of a role, profile or policy that a call names without."""
    kind, _, name = (resource or "").rpartition(":")[2].partition("/")
    if not (resource or "").startswith(f"arn:{PARTITION}:iam::{ACCOUNT}:") or kind not in _WITH_PATH:
        return resource
    found = _snapshot(getattr(_iam(), _WITH_PATH[kind]))
    return next((str(one.arn) for one in found if one.name == name), resource)


def log_group_exists(region: str, name: str) -> bool:
    """Whether a log group exists."""
    return name in logs_backends[ACCOUNT][region].groups


def _current(policy: Any) -> str:
    return _text(next(version.document for version in policy.versions if version.is_default)) or ""


def _text(document: Any) -> str | None:
    if isinstance(document, bytes):
        return document.decode()
    return json.dumps(document) if isinstance(document, dict) else document
