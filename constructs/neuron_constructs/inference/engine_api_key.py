"""The API keys that an endpoint takes: a secret of the account, or one that the stack makes."""

import aws_cdk as cdk
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from neuron_constructs.acknowledgements import acknowledge, skip_checkov

_NOT_ROTATED = (
    "Tasks read the keys when they start, and clients must get the new one: who runs `slipway rotate-key` decides when."
)
_OWN_KEY = "Secrets Manager's own key encrypts it; a customer's key can be had with a secret of one's own."


class EngineApiKey(Construct):
    """A secret with the keys as its plain text (slipway/operate/endpoint/keys.py); its value is in no template."""

    secret: secretsmanager.ISecret

    def __init__(self, scope: Construct, id: str, *, secret_arn: str | None) -> None:  # noqa: A002
        """Refer to a secret, or make one.

        Args:
            scope: parent construct.
            id: construct id.
            secret_arn: complete ARN of a secret that is there; None makes one with 48 letters and digits.
        """
        super().__init__(scope, id)
        if secret_arn:
            self.secret = secretsmanager.Secret.from_secret_complete_arn(self, "Secret", secret_arn)
        else:
            self.secret = self._made()

    def _made(self) -> secretsmanager.Secret:
        made = secretsmanager.Secret(
            self,
            "Secret",
            description="Slipway: API key of the inference endpoint",
            generate_secret_string=secretsmanager.SecretStringGenerator(password_length=48, exclude_punctuation=True),
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        acknowledge(
            made,
            {
                "AwsSolutions-SMG4": _NOT_ROTATED,
                "NIST.800.53.R5-SecretsManagerRotationEnabled": _NOT_ROTATED,
                "NIST.800.53.R5-SecretsManagerUsingKMSKey": _OWN_KEY,
            },
        )
        skip_checkov(made.node.default_child, {"CKV_AWS_149": _OWN_KEY})
        return made
