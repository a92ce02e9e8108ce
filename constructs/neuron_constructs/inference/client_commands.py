"""Commands that ask an endpoint, ready to be printed as a stack's outputs and pasted into a shell.

Only strings are joined, so tokens pass through; what a command quotes must not hold a quote itself, as base URLs and
model ids do not. The key comes from the shell variable ``OPENAI_API_KEY``, which the ``openai`` client reads by itself,
and appears in no process list.
"""

import json

_ASK = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 64}


def curl_command(base_url: str, model_id: str, *, has_key: bool) -> str:
    """Return a command for bash that has curl (7.76 or newer) ask for one chat completion.

    Args:
        base_url: base URL of the model, with ``/v1`` at its end.
        model_id: what clients send as ``model``.
        has_key: whether the endpoint asks for a key or token.
    """
    body = json.dumps({"model": model_id, **_ASK})
    ask = (
        f"--fail-with-body --silent --show-error --header 'Content-Type: application/json' --data '{body}' "
        f"'{base_url}/chat/completions'"
    )
    if not has_key:
        return f"curl {ask}"
    return f"""printf 'Authorization: Bearer %s' "${{OPENAI_API_KEY:?}}" | curl --header @- {ask}"""


def openai_command(base_url: str, model_id: str, *, has_key: bool) -> str:
    """Return a command for a shell that has the ``openai`` client for Python ask for one chat completion.

    Args:
        base_url: base URL of the model, with ``/v1`` at its end.
        model_id: what clients send as ``model``.
        has_key: whether the endpoint asks for a key or token.
    """
    # The client insists on a key, even where the endpoint asks for none.
    key = "" if has_key else ', api_key="none"'
    asked = ", ".join(f"{name}={json.dumps(value)}" for name, value in _ASK.items())
    return (
        f"""python3 -c 'import openai; client = openai.OpenAI(base_url="{base_url}"{key}); """
        f"""print(client.chat.completions.create(model="{model_id}", {asked}).choices[0].message.content)'"""
    )


def api_key_command(secret_arn: str, region: str) -> str:
    """Return a command for a shell that puts the endpoint's API key into ``OPENAI_API_KEY``.

    Args:
        secret_arn: ARN of the AWS Secrets Manager secret with the keys, of which clients use the first.
        region: the secret's AWS Region.
    """
    return (
        f"export OPENAI_API_KEY=\"$(aws secretsmanager get-secret-value --region '{region}' --secret-id '{secret_arn}' "
        '--query SecretString --output text | cut -d, -f1)"'
    )
