"""The environment file's root."""

from typing import Annotated

from pydantic import Field

from slipway.config.encryption import Kms
from slipway.config.inference import Inference
from slipway.config.kubernetes import Kubernetes
from slipway.config.network import Network
from slipway.config.operations import Operations
from slipway.config.section import Form, Section
from slipway.config.storage import Lifecycle, Storage
from slipway.config.training import Training

NAME = Form(r"[a-z][a-z0-9-]{0,19}", "a lower-case letter, then letters, digits and hyphens, 20 at most", "default")
"""How the name of an environment must look."""


class Environment(Section):
    """One complete environment: what `cdk deploy --all` builds and `cdk destroy --all` removes."""

    name: Annotated[str, NAME]
    """Name of the environment, part of every stack's name: 20 characters at most."""

    region: str
    """AWS Region, for example `us-west-2`. It must offer the instance types, and ParallelCluster to `training`."""

    account: (
        Annotated[str, Form(r"[0-9]{12}", "the 12 digits of an AWS account's id, in quotation marks", "111122223333")]
        | None
    ) = None
    """Id of the AWS account that it belongs to, in quotation marks: every `slipway` command that asks AWS refuses the
    credentials of another one. Leave it out for an environment of any account. The rehearsal plays this account.
    Resources stay the same with it, so `npx cdk deploy` itself does not compare accounts."""

    lifecycle: Lifecycle = "ephemeral"
    """What `cdk destroy` leaves: nothing, or the file system and the data buckets."""

    tags: Annotated[dict[str, str], Field(default_factory=dict, max_length=20)]
    """Further tags for every resource and node; `slipway:environment` is always set."""

    network: Network
    """The VPC."""

    storage: Storage
    """FSx for Lustre and the buckets."""

    training: Training | None = None
    """The Slurm cluster; leave out for an environment that trains on Kubernetes."""

    kubernetes: Kubernetes | None = None
    """The EKS cluster; leave out for an environment that trains with Slurm."""

    inference: Inference | None = None
    """The endpoint; leave out for an environment that only trains."""

    permissions_boundary_arn: (
        Annotated[
            str,
            Form(
                r"arn:aws[a-z-]*:iam::([0-9]{12}|aws):policy/[A-Za-z0-9_+=,.@/-]+",
                "the ARN of a managed policy",
                "arn:aws:iam::111122223333:policy/developer-boundary",
            ),
        ]
        | None
    ) = None
    """Managed policy that bounds every role of the environment, the nodes' included."""

    bootstrap_qualifier: (
        Annotated[str, Form(r"[a-z0-9]{1,10}", "up to 10 lower-case letters and digits", "team1")] | None
    ) = None
    """Qualifier of a CDK bootstrap of the environment's own, so that no other environment is deployed with its roles;
    leave out for the account's default one. `slipway deploy-role` prints the command that makes it."""

    kms: Kms | None = None
    """A key of the account's own for buckets, file systems, volumes, database, logs, secrets; leave out for AWS's."""

    operations: Operations = Operations()
    """Alarms, budget, logs."""

    @property
    def has_public_endpoint(self) -> bool:
        """Whether models are served to the internet."""
        return self.inference is not None and self.inference.endpoint.exposure == "public"
