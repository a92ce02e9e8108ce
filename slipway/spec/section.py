"""What every section of an environment file has in common: strict, closed, immutable, documented."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints


class Section(BaseModel):
    """A mapping in the environment file. Unknown keys are refused, values are not converted between types."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)


AvailabilityZoneId = Annotated[str, StringConstraints(pattern=r"^[a-z]{3,4}[0-9]-az[0-9]$")]
"""An availability zone *id* such as `usw2-az4`. Ids mean the same place in every account; names (`us-west-2b`) do not."""

InstanceTypeName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]+\.[a-z0-9]+$")]
"""An EC2 instance type such as `trn1.32xlarge`. It must be a row of the facts."""
