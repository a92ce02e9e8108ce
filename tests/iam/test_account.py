"""The account that tests of permissions ask: every role resolves to complete policies."""

import json
import re

from tests.assembly import Assembly
from tests.iam.account import Account
from tests.iam.simulator import ACCOUNT, decide


def test_every_role_is_resolved_to_text(each_assembly: Assembly) -> None:
    roles = Account([each_assembly]).roles()

    texts = [json.dumps([role.trust, role.policies, role.boundaries]) for role in roles]

    assert roles
    assert not [text for text in texts if '"Fn::' in text or '"Ref"' in text]


def test_the_account_of_templates_is_that_of_requests(default: Assembly) -> None:
    named = set(re.findall(r"arn:aws:[a-z0-9-]+:[a-z0-9-]*:(\d{12}):", json.dumps(_policies(default))))

    assert named == {ACCOUNT}


def _policies(assembly: Assembly) -> list[object]:
    return [policy for role in Account([assembly]).roles() for policy in role.policies]


def test_a_role_may_what_its_own_policies_allow(default: Assembly) -> None:
    account = Account([default])
    role = account.role("slipway-default-inference", "ModelsTanuki8bServiceHosts")
    bucket = next(made for made in account.resources("AWS::S3::Bucket") if made.logical_id.startswith("Models"))

    decisions = decide([role.request(f"s3:{name}Object", f"{bucket.arn}/m/1/weights") for name in ("Get", "Put")])

    assert decisions == ["Allowed", "ImplicitlyDenied"]
