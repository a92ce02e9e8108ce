"""An Amazon Cognito user pool for machines: clients get tokens for the endpoint by their id and secret."""

from collections.abc import Sequence
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_cognito as cognito
from constructs import Construct

from neuron_constructs.acknowledgements import acknowledge
from neuron_constructs.inference.token_check import TokenCheck, TokenClaim

_RESERVED_WORDS = ("aws", "amazon", "cognito")
_RESOURCE_SERVER = "endpoint"
_NO_USERS = "No person signs in to this pool: no users, no sign-up, only clients with a secret of their own."


@dataclass(frozen=True, kw_only=True)
class MachineClientsProps:
    """Properties of `MachineClients`."""

    domain_prefix: str
    """Name of the token endpoint, shared by all accounts of a Region: lower-case letters, digits and hyphens, at most
    63, without the words `aws`, `amazon` and `cognito`."""

    token_minutes: int
    """Minutes for which a token is valid: 5 to 1440."""

    models: Sequence[str]
    """Names of the models. Each is a scope: a client asks those that an administrator allows it."""


class MachineClients(Construct):
    """A user pool with a scope for each model, and a client that has them all.

    Further clients can be added to the pool; the scopes that they are allowed say which models they may ask.
    """

    user_pool: cognito.UserPool
    client: cognito.UserPoolClient
    tokens: TokenCheck
    token_command: str

    def __init__(self, scope: Construct, id: str, props: MachineClientsProps) -> None:  # noqa: A002
        """Create the user pool.

        Raises:
            ValueError: Amazon Cognito would refuse the domain prefix.
        """
        for word in _RESERVED_WORDS:
            if word in props.domain_prefix:
                raise ValueError(f"a domain prefix of Amazon Cognito may not contain {word!r}: {props.domain_prefix}")
        super().__init__(scope, id)
        self.user_pool = self._user_pool()
        scopes = [
            cognito.ResourceServerScope(scope_name=model, scope_description=f"Ask the model {model}")
            for model in props.models
        ]
        server = self.user_pool.add_resource_server("ResourceServer", identifier=_RESOURCE_SERVER, scopes=scopes)
        domain = self.user_pool.add_domain(
            "Domain", cognito_domain=cognito.CognitoDomainOptions(domain_prefix=props.domain_prefix)
        )
        self.client = self.user_pool.add_client(
            "Client",
            generate_secret=True,
            o_auth=cognito.OAuthSettings(
                flows=cognito.OAuthFlows(client_credentials=True),
                scopes=[cognito.OAuthScope.resource_server(server, scope) for scope in scopes],
            ),
            access_token_validity=cdk.Duration.minutes(props.token_minutes),
            prevent_user_existence_errors=True,
        )
        # The L2 leaves an empty list of sign-in flows out, and Cognito then allows its own choice of them.
        resource = self.client.node.default_child
        assert isinstance(resource, cognito.CfnUserPoolClient)
        resource.explicit_auth_flows = ["ALLOW_REFRESH_TOKEN_AUTH"]
        self.tokens = self._token_check(props.models)
        self.token_command = self._token_command(domain)

    def _user_pool(self) -> cognito.UserPool:
        pool = cognito.UserPool(
            self,
            "UserPool",
            self_sign_up_enabled=False,
            account_recovery=cognito.AccountRecovery.NONE,
            password_policy=cognito.PasswordPolicy(
                min_length=16, require_lowercase=True, require_uppercase=True, require_digits=True, require_symbols=True
            ),
            # A client's secret can be made again: destroy must destroy it.
            deletion_protection=False,
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        acknowledge(pool, {"AwsSolutions-COG2": _NO_USERS, "AwsSolutions-COG8": _NO_USERS})
        return pool

    def claim_of(self, model: str) -> TokenClaim:
        """Return what a token must say for a model.

        Only an access token has a scope, and the pool gives it to no client but those that an administrator allowed it.
        So the client's id need not be checked, and another client is let in without a deployment.
        """
        return _scope_claim([model])

    def _token_check(self, models: Sequence[str]) -> TokenCheck:
        region = cdk.Stack.of(self).region
        issuer = f"https://cognito-idp.{region}.amazonaws.com/{self.user_pool.user_pool_id}"
        return TokenCheck(
            issuer=issuer,
            jwks_endpoint=f"{issuer}/.well-known/jwks.json",
            claims=[_scope_claim(models)],
        )

    def _token_command(self, domain: cognito.UserPoolDomain) -> str:
        """Return a command that prints a token. The secret goes through pipes only: no command line, no file."""
        client_id = self.client.user_pool_client_id
        return " | ".join(
            (
                f"aws cognito-idp describe-user-pool-client --region {cdk.Stack.of(self).region}"
                f" --user-pool-id {self.user_pool.user_pool_id} --client-id {client_id}"
                " --query UserPoolClient.ClientSecret --output text",
                f"""sed 's/.*/user = "{client_id}:&"/'""",
                "curl --silent --show-error --fail --config - --data grant_type=client_credentials"
                f" {domain.base_url()}/oauth2/token",
                # Ends with an error if there is no token.
                """awk -F'"' '{for (i = 1; i < NF; i++) if ($i == "access_token") {print $(i + 2); found = 1}}"""
                " END {exit !found}'",
            )
        )


def _scope_claim(models: Sequence[str]) -> TokenClaim:
    scopes = [f"{_RESOURCE_SERVER}/{model}" for model in models]
    return TokenClaim(name="scope", format="space-separated-values", values=scopes)
