"""What Slipway knows of each AWS resource type, in one place: a file for each service in services/.

A tool asks for the part that it needs. A new resource type is an entry in its service's file, and nothing else in the
tools. What the emulator does with a type is in its own rows, because the emulator knows nothing of Slipway.
"""

from slipway.catalogue.billing import Billing, Charge, billings
from slipway.catalogue.create_times import CreateTime, create_seconds, create_times
from slipway.catalogue.services import ResourceType, known, listings, resource_types, service_linked_roles

__all__ = [
    "Billing",
    "Charge",
    "CreateTime",
    "ResourceType",
    "billings",
    "create_seconds",
    "create_times",
    "known",
    "listings",
    "resource_types",
    "service_linked_roles",
]
