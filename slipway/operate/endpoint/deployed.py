"""The endpoint of a deployed environment: what its stack's outputs and template say, and the key that it takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import httpx2
from botocore.exceptions import BotoCoreError, ClientError
from pydantic import BaseModel, ConfigDict, ValidationError

from slipway.aws.account import open_account
from slipway.aws.stacks import deployed_template, find_stack, outputs
from slipway.errors import RefusedError
from slipway.operate.endpoint.keys import Keys
from slipway.operate.endpoint.target import Target, Way
from slipway.operate.roll_out.environment import Place, find_place

METADATA = "Slipway::Endpoint"
"""Key of the template's metadata that describes the endpoint."""

TOKEN_URL = "https://{domain}.auth.{region}.amazoncognito.com/oauth2/token"
"""Where Amazon Cognito gives tokens to machines."""

_TOKEN_SECONDS = 20.0


class _Described(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")


class DescribedModel(_Described):
    """A model of the endpoint."""

    name: str
    """Its name in the environment file."""

    engine: str
    """Its inference engine, a row of the facts."""

    base_url_output: str
    """The stack's output with its base URL."""

    model_id_output: str
    """The stack's output with the id that clients send."""


class EndpointDescription(_Described):
    """What the template says about the endpoint. Values of resources are in outputs, which it names."""

    models: tuple[DescribedModel, ...]
    """The models behind it."""

    authentication: Literal["none", "api_key", "jwt", "cognito"]
    """Who may ask."""

    api_key_secret_output: str | None = None
    """The output with the ARN of the secret that holds the keys."""

    takes_several_keys: bool = False
    """Whether tasks take every key of the secret; those of Slipway's early days take its whole text as one."""

    user_pool_output: str | None = None
    """The output with the id of the user pool that gives tokens."""

    user_pool_client_output: str | None = None
    """The output with the id of its client."""


@dataclass(frozen=True)
class DeployedEndpoint:
    """An endpoint that stands.

    Attributes:
        session: boto3 session in its Region.
        stack: the inference stack's name.
        description: what the template says.
        outputs: the stack's outputs.
    """

    session: Any
    stack: str
    description: EndpointDescription
    outputs: Mapping[str, str]

    def targets(self, model: str | None, environment_key: str | None, way: Way) -> list[Target]:
        """Return what to ask, with the key it takes.

        Args:
            model: a model's name; none means each.
            environment_key: the value of OPENAI_API_KEY; only an own issuer's endpoint takes it.
            way: how to reach it.

        Raises:
            RefusedError: there is no such model, or no key.
            botocore.exceptions.ClientError: AWS refuses.
        """
        models = [one for one in self.description.models if model in (None, one.name)]
        if not models:
            names = ", ".join(one.name for one in self.description.models)
            raise RefusedError(f"{self.stack} has no model {model!r}, it has {names}")
        key = self._key(environment_key)
        return [
            Target(
                name=one.name,
                base_url=self._output(one.base_url_output).rstrip("/"),
                model=self._output(one.model_id_output),
                authentication=self.description.authentication,
                key=key,
                engine=one.engine,
                way=way,
            )
            for one in models
        ]

    def api_key_secret(self) -> str:
        """Return the ARN of the secret with the API keys, of which tasks take each.

        Raises:
            RefusedError: the endpoint has no API key, or its tasks take one only.
        """
        if self.description.authentication != "api_key":
            raise RefusedError(
                f"{self.stack} has no API key: its file says authentication {self.description.authentication}"
            )
        if not self.description.takes_several_keys:
            raise RefusedError(
                f"the tasks of {self.stack} take one key only, it was deployed by an older Slipway: deploy it again"
            )
        return self._output(self.description.api_key_secret_output)

    def _output(self, name: str | None) -> str:
        if name is None or name not in self.outputs:
            raise RefusedError(
                f"{self.stack} has no output {name}, which its template names: it was deployed by another version of "
                "Slipway; deploy it again"
            )
        return self.outputs[name]

    def _key(self, environment_key: str | None) -> str | None:
        match self.description.authentication:
            case "none":
                return None
            case "api_key":
                secret = self._output(self.description.api_key_secret_output)
                found = self.session.client("secretsmanager").get_secret_value(SecretId=secret)
                return Keys.of(found["SecretString"]).current
            case "cognito":
                return self._token()
            case "jwt" if environment_key:
                return environment_key
            case "jwt":
                raise RefusedError("the endpoint takes tokens of your own issuer: put one into OPENAI_API_KEY")

    def _token(self) -> str:
        """Return a token for the stack's own client."""
        cognito = self.session.client("cognito-idp")
        pool = self._output(self.description.user_pool_output)
        client = cognito.describe_user_pool_client(
            UserPoolId=pool, ClientId=self._output(self.description.user_pool_client_output)
        )["UserPoolClient"]
        domain = cognito.describe_user_pool(UserPoolId=pool)["UserPool"].get("Domain")
        if not domain or "ClientSecret" not in client:
            raise RefusedError(f"user pool {pool} has no domain, or its client no secret: deploy {self.stack} again")
        url = TOKEN_URL.format(domain=domain, region=self.session.region_name)
        try:
            answer = httpx2.post(
                url,
                data={"grant_type": "client_credentials", "scope": " ".join(client.get("AllowedOAuthScopes", ()))},
                auth=(client["ClientId"], client["ClientSecret"]),
                timeout=_TOKEN_SECONDS,
            )
            return str(answer.raise_for_status().json()["access_token"])
        except httpx2.HTTPStatusError as error:
            raise RefusedError(f"{url} gives no token: {error.response.status_code} {error.response.text}") from error
        except (httpx2.HTTPError, ValueError, KeyError) as error:
            raise RefusedError(f"{url} gives no token: {error}") from error


def find_targets(environment: str, model: str | None, environment_key: str | None, way: Way) -> list[Target]:
    """Return what to ask of a deployed environment.

    Args:
        environment: a name in environments/, or a file that ends in .yaml.
        model: a model's name in that file; none means each.
        environment_key: the value of OPENAI_API_KEY.
        way: how to reach the endpoint.

    Raises:
        RefusedError: there is no such environment, it is not deployed, there is no such model, or no credentials.
    """
    endpoint = find_deployed(environment)
    try:
        return endpoint.targets(model, environment_key, way)
    except ClientError as error:
        raise RefusedError(f"AWS refuses {error.operation_name}: {error.response['Error'].get('Message')}") from error
    except BotoCoreError as error:
        raise RefusedError(f"no AWS account: {error}. Log in, or set AWS_PROFILE") from error


def find_deployed(environment: str) -> DeployedEndpoint:
    """Return the endpoint of a deployed environment.

    Args:
        environment: a name in environments/, or a file that ends in .yaml.

    Raises:
        RefusedError: there is no such environment, it is not deployed, or no credentials.
    """
    place = find_place(environment)
    try:
        return _find_endpoint(place)
    except ClientError as error:
        raise RefusedError(f"AWS refuses {error.operation_name}: {error.response['Error'].get('Message')}") from error
    except BotoCoreError as error:
        raise RefusedError(f"no AWS account: {error}. Log in, or set AWS_PROFILE") from error


def _find_endpoint(place: Place) -> DeployedEndpoint:
    account = open_account(place.region, place.account)
    cloudformation = account.client("cloudformation")
    found, template = find_stack(cloudformation, place.stack), deployed_template(cloudformation, place.stack)
    if found is None or template is None:
        raise RefusedError(
            f"{place.stack} is not deployed in this account and Region ({place.region}): `npx cdk deploy` it first"
        )
    try:
        # boto3 answers with ordered mappings.
        description = EndpointDescription.model_validate_json(json.dumps(template.get("Metadata", {}).get(METADATA)))
    except ValidationError as error:
        raise RefusedError(
            f"the template of {place.stack} does not describe its endpoint ({METADATA}): it was deployed by another "
            "version of Slipway; deploy it again, or ask with --url"
        ) from error
    return DeployedEndpoint(account.session, place.stack, description, outputs(found))
