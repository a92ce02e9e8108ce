"""`slipway rotate-key` against moto: what the secret holds at each moment, and what is refused."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, NoCredentialsError

from slipway.operate.endpoint import deployed
from slipway.operate.endpoint.keys import Keys
from slipway.operate.rotate_key import run
from tests.operate.rotate_key.account import FILE, OLD, Account, rotate


def test_the_new_key_is_current_only_when_all_tasks_take_it(account: Account) -> None:
    account.deploy()
    result = rotate()

    assert result.exit_code == 0, result.output
    [during] = [Keys.of(text) for text in account.seen_by_tasks]
    after = Keys.of(account.text)
    assert (during.current, during.previous) == (OLD, None)
    assert after == Keys(str(during.coming), previous=OLD)
    assert len(after.current) == 48
    assert not {OLD, after.current} & set(result.output.replace("'", " ").split())
    assert account.watcher_is_untouched


def test_finish_leaves_the_current_key_alone(account: Account) -> None:
    account.deploy()
    rotate()
    new = Keys.of(account.text).current
    result = rotate("--finish")

    assert result.exit_code == 0, result.output
    assert account.text == account.seen_by_tasks[-1] == new


def test_a_second_rotation_is_refused_until_the_first_is_finished(account: Account) -> None:
    account.deploy()
    rotate()
    before = account.text
    result = rotate()

    assert result.exit_code == 2
    assert "--finish` first" in result.output
    assert account.text == before


@pytest.mark.parametrize(
    ("state", "said"), [("FAILED", "has ended this replacement"), ("IN_PROGRESS", "still replaces its tasks")]
)
def test_a_rotation_whose_tasks_are_not_replaced_goes_on_with_the_same_key(
    account: Account, state: str, said: str
) -> None:
    account.deploy()
    account.settle(state)
    failed = rotate()
    begun = Keys.of(account.text)
    refused = rotate("--finish")
    account.settle("COMPLETED")
    result = rotate()

    assert (failed.exit_code, refused.exit_code, result.exit_code) == (1, 2, 0), result.output
    assert said in failed.output
    assert begun.current == OLD
    assert Keys.of(account.text) == Keys(str(begun.coming), previous=OLD)


def test_printed_commands_name_the_environment_as_a_shell_reads_it(account: Account, tmp_path: Path) -> None:
    account.deploy()
    file = shutil.copy(FILE, tmp_path / "my key; id.yaml")
    done, refused = rotate(file=str(file)), rotate(file=str(file))

    assert f"slipway rotate-key -e '{file}' --finish" in done.output
    assert f"slipway rotate-key -e '{file}' --finish" in refused.output


@pytest.mark.parametrize(
    ("description", "said"),
    [({"takes_several_keys": False}, "take one key only"), ({"authentication": "none"}, "has no API key")],
)
def test_an_endpoint_that_cannot_is_refused(account: Account, description: dict[str, Any], said: str) -> None:
    account.deploy(**description)
    result = rotate()

    assert result.exit_code == 2
    assert said in result.output
    assert account.text == OLD


def test_without_a_yes_nothing_is_changed(account: Account) -> None:
    account.deploy()
    result = rotate(answer="n\n")

    assert result.exit_code == 2
    assert (account.text, account.seen_by_tasks) == (OLD, [])


def test_an_endpoint_that_is_not_deployed_is_refused(account: Account) -> None:
    result = rotate()

    assert result.exit_code == 2
    assert "is not deployed" in result.output


def test_without_credentials_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    result = rotate()

    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert "The config profile (nobody) could not be found. Log in, or set AWS_PROFILE" in result.output


def denied(action: str) -> ClientError:
    """What AWS answers to who may not."""
    return ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no policy allows it."}}, action)


@pytest.mark.parametrize("error", [NoCredentialsError(), denied("GetSecretValue")])
def test_aws_refuses_before_anything_is_changed(
    account: Account, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Credentials can end between two calls."""
    account.deploy()

    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr(deployed.DeployedEndpoint, "api_key_secret", refuse)
    result = rotate()

    assert (result.exit_code, result.output.count("\n")) == (2, 1), result.output
    assert "Nothing was changed" in result.output
    assert account.text == OLD


@pytest.mark.parametrize(("action", "exit_code"), [("PutSecretValue", 2), ("UpdateService", 1)])
def test_a_missing_permission_is_named(
    account: Account, monkeypatch: pytest.MonkeyPatch, action: str, exit_code: int
) -> None:
    """Before the first write nothing was changed; after it the same command goes on."""
    account.deploy()
    find = deployed.find_deployed

    def found(environment: str) -> deployed.DeployedEndpoint:
        endpoint = find(environment)

        def refuse(**_: object) -> None:
            raise denied(action)

        endpoint.session.events.register(f"before-call.*.{action}", refuse)
        return endpoint

    monkeypatch.setattr(run, "find_deployed", found)
    result = rotate()

    assert result.exit_code == exit_code, result.output
    assert f"these credentials may not call {action}" in result.output
    assert ("Nothing was changed" in result.output) is (account.text == OLD) is (exit_code == 2)
