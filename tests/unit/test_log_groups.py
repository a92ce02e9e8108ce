"""The logs of an environment are encrypted with a key of the account that only CloudWatch Logs uses."""

from tests.assembly import Assembly
from tests.iam.account import Account
from tests.iam.simulator import ACCOUNT


def test_every_log_group_has_the_environments_key(each_assembly: Assembly) -> None:
    account = Account([each_assembly])
    own = [made.arn for made in account.resources("AWS::KMS::Key") if made.logical_id.startswith("LogKey")]
    customers = each_assembly.environment.kms
    (key,) = [customers.key_arn] if customers else own

    keys = {made.logical_id: made.resolved.get("KmsKeyId") for made in account.resources("AWS::Logs::LogGroup")}

    assert set(keys.values()) == {key}, keys


def test_the_key_serves_log_groups_of_the_account_alone(default: Assembly) -> None:
    account = Account([default])
    (key,) = (made for made in account.resources("AWS::KMS::Key") if made.logical_id.startswith("LogKey"))
    administrators, service = key.resolved["KeyPolicy"]["Statement"]

    assert administrators["Principal"] == {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}
    assert service["Principal"] == {"Service": "logs.us-west-2.amazonaws.com"}
    assert service["Condition"] == {
        "ArnLike": {"kms:EncryptionContext:aws:logs:arn": f"arn:aws:logs:us-west-2:{ACCOUNT}:log-group:*"}
    }
    assert key.resolved["EnableKeyRotation"] is True
