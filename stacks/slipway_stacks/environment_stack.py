"""What all stacks of an environment share: name, region, tags, the boundary of their roles."""

import aws_cdk as cdk
from constructs import Construct

from neuron_constructs.customer_key import use_customer_key
from slipway.assembly.existing import EXISTING_METADATA, ExistingResource
from slipway.assembly.existing_network import ADDRESSES_METADATA
from slipway.assembly.stacks import ACCOUNT_METADATA, ENVIRONMENT_TAG
from slipway.config.environment import Environment
from slipway.config.rules.addresses import training_subnet_addresses


class EnvironmentStack(cdk.Stack):
    """A stack named `slipway-<environment>-<role>` in the environment's region.

    The account stays open: the template is the same in every account and synth needs no credentials. The metadata say
    which one the environment file names, for the commands that read the assembly.
    """

    def __init__(
        self, scope: Construct, role: str, environment: Environment, *, description: str, protected: bool = False
    ) -> None:
        """Create the stack.

        Args:
            scope: the app.
            role: what the stack holds, in one lower-case word; the last part of its name.
            environment: the environment file.
            description: one sentence for the CloudFormation console.
            protected: refuse to delete the stack until somebody takes the protection off.
        """
        super().__init__(
            scope,
            f"slipway-{environment.name}-{role}",
            env=cdk.Environment(region=environment.region),
            description=description,
            tags={ENVIRONMENT_TAG: environment.name, **environment.tags},
            termination_protection=protected,
            synthesizer=cdk.DefaultStackSynthesizer(qualifier=environment.bootstrap_qualifier)
            if environment.bootstrap_qualifier
            else None,
            # An aspect over the templates' roles: those of the CDK's own functions are among them.
            permissions_boundary=cdk.PermissionsBoundary.from_arn(environment.permissions_boundary_arn)
            if environment.permissions_boundary_arn
            else None,
        )
        if environment.account:
            self.add_metadata(ACCOUNT_METADATA, environment.account)
        if environment.kms:
            use_customer_key(self, environment.kms.key_arn)
        if environment.network.existing and (needed := training_subnet_addresses(environment).get(role)):
            self.add_metadata(ADDRESSES_METADATA, sum(needed.values()))
        self._existing: list[ExistingResource] = []

    def use_existing(self, resource: ExistingResource) -> None:
        """Name in the template a resource that the stack uses and does not own, for commands that read the assembly."""
        self._existing.append(resource)
        self.add_metadata(EXISTING_METADATA, [existing.as_metadata for existing in self._existing])
