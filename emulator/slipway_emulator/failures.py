"""The failures that CloudFormation reports to its caller as a sentence."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any


class ProvisioningError(Exception):
    """A resource or a stack could not be provisioned; the message is what CloudFormation gives as status reason."""


class TemplateError(ProvisioningError):
    """The template itself is wrong; CloudFormation refuses the request before it touches a resource."""


class UnfinishedCreationError(ProvisioningError):
    """A resource's creation failed when a part of it already existed; a rollback has to delete that part.

    Attributes:
        physical_id: What the part is called.
        attributes: What is known of it, by name.
    """

    def __init__(self, reason: str, physical_id: str, attributes: Mapping[str, Any] = MappingProxyType({})) -> None:
        super().__init__(reason)
        self.physical_id = physical_id
        self.attributes = attributes
