"""Reads the files of services/, and says what the columns mean."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict

from slipway.facts.rows import YAML_LOADER

_FOLDER = Path(__file__).with_name("services")

Entry = Mapping[str, Any]
"""A part of a resource type's entry. The tool that uses it has the model with its columns."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Source(_Part):
    """Where something is documented."""

    source: str
    as_of: date


class HoldsData(_Part):
    """Users' data that go with a resource."""

    asked: bool = False
    """Whether `slipway destroy` names it, and asks for the environment's name before it deletes one."""

    reason: str | None = None
    """What its data are, for a reader of `slipway plan`."""


class Kept(_Part):
    """Why a resource stays."""

    reason: str
    source: str
    """An address, or a file of the project."""


class ReplacingProperty(_Part):
    """A property whose change replaces the resource."""

    path: str
    source: str


class ResourceType(_Part):
    """What is known of one resource type. All parts may be left out."""

    ignored: bool = False
    """Whether it is nothing but a record of the CDK's: no tool speaks of it."""

    deploy_actions: tuple[str, ...] | None = None
    """IAM actions that CloudFormation's own role needs, from the first creation to the last deletion.

    Source: the `handlers.*.permissions` of each type's public CloudFormation schema, as pulumi/pulumi-aws-native keeps
    them (aws-cloudformation-schema/ @43eed3b0, of 2026-08-07), as of 2026-11-22. Left out: services that Slipway's
    templates never reach through the type (API Gateway, App Runner, AppSync, Amplify, S3 Tables, VPC Lattice, EFS, VPN
    gateways, IAM users and groups), and names that are not IAM actions, as cfn-lint reports (s3:DeleteBucketCors).
    AWS::Budgets::Budget, AWS::CodeBuild::Project, AWS::FSx::FileSystem and AWS::Route53::RecordSet have no such schema:
    their actions, and those of AWS::SSM::Document, are from the Service Authorization Reference. Added from there and
    from user guides: what UpdatePolicy does to a group (autoscaling:SuspendProcesses), the change sets and tags of
    nested stacks, the last backup of a file system, the role of FSx for linked buckets, and the private names of
    interface endpoints (route53:AssociateVPCWithHostedZone)."""

    linked_services: tuple[str, ...] = ()
    """Services whose service-linked role it needs. Source: each service's user guide, as of 2026-11-22."""

    passed_linked_roles: tuple[str, ...] = ()
    """Services to which it passes their own service-linked role. The CDK names this role in the template, which
    counts as passing it. Nobody but the service can assume it."""

    create_seconds: int | Entry | None = None
    """Mean time to create one, in seconds: see `slipway.catalogue.create_times`."""

    billing: Entry | None = None
    """How it bills: see `slipway.catalogue.billing`."""

    quotas: tuple[Entry, ...] = ()
    """Quotas that count it: see `slipway.check.preflight.counted_quotas`."""

    fixed_name: Entry | None = None
    """A name that AWS refuses a second time: see `slipway.check.preflight.checks.names`."""

    unique_name: tuple[str, ...] = ()
    """Paths of the properties that tell one from all others in AWS when the template chooses them. The name is last,
    behind what it is a name in.
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-properties-name.html"""

    logical_id_has_hash: bool = False
    """Whether its logical id holds the hash of a file, so that another content looks like another resource."""

    started_by_hash: bool = False
    """Whether it starts something from the file whose hash it holds: another content is a change of the resource."""

    moving_attributes: tuple[str, ...] = ()
    """Attributes that get a new value with every update, as a node group or an Auto Scaling group refers to a
    version of its launch template.
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-resource-ec2-launchtemplate.html"""

    default_deletion_policy: str | None = None
    """What CloudFormation does without a DeletionPolicy, where that is not Delete.
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-attribute-deletionpolicy.html"""

    replacing_properties: tuple[ReplacingProperty, ...] = ()
    """Properties whose change replaces it, which CloudFormation's own differ does not know."""

    change_notes: tuple[Entry, ...] = ()
    """Sentences to say about a change: see `slipway.review.changes.facts`."""

    protections: tuple[Entry, ...] = ()
    """What protects it or its data: see `slipway.review.changes.permissions.protections`."""

    access: tuple[Entry, ...] = ()
    """Settings that let somebody do more: see `slipway.review.changes.permissions.clusters`."""

    holds_data: HoldsData | None = None

    kept_when_persistent: Kept | None = None
    """Why it stays when the environment file says `persistent`, for the environment or for its storage."""

    drawing: Entry | None = None
    """How the picture shows it: see `slipway.review.report.architecture.rows`."""


_UNKNOWN = ResourceType()


class _Service(_Part):
    billing_source: Source | None = None
    """Where `billing` is documented when an entry has no source of its own."""

    resource_types: Mapping[str, ResourceType] = {}
    service_linked_roles: tuple[Entry, ...] = ()
    """See `slipway.check.preflight.checks.service_linked_roles`."""

    listings: tuple[Entry, ...] = ()
    """How an account's resources are listed, recognized, priced and removed: see `slipway.remove.leftovers.kind`."""


@cache
def _services() -> tuple[_Service, ...]:
    files = sorted(_FOLDER.glob("*.yaml"))
    return tuple(_Service.model_validate(yaml.load(file.read_bytes(), YAML_LOADER)) for file in files)


@cache
def resource_types() -> Mapping[str, ResourceType]:
    """Return all entries by CloudFormation type.

    Raises:
        ValueError: a type is in two files.
    """
    found: dict[str, ResourceType] = {}
    for service in _services():
        for name, entry in service.resource_types.items():
            if name in found:
                raise ValueError(f"{name} is twice in slipway/catalogue/services")
            found[name] = _with_source(entry, service.billing_source)
    return MappingProxyType(found)


def known(resource_type: str) -> ResourceType:
    """Return a type's entry, an empty one if there is none."""
    return resource_types().get(resource_type, _UNKNOWN)


def _with_source(entry: ResourceType, source: Source | None) -> ResourceType:
    if entry.billing is None or source is None:
        return entry
    return entry.model_copy(update={"billing": {**source.model_dump(), **entry.billing}})


def listings() -> tuple[Entry, ...]:
    """Return the list calls of all services."""
    return tuple(row for service in _services() for row in service.listings)


def service_linked_roles() -> tuple[Entry, ...]:
    """Return the service-linked roles of all services."""
    return tuple(row for service in _services() for row in service.service_linked_roles)
