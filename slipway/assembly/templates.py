"""Clusters in CloudFormation templates, with what the templates say about subnets, buckets, policies and file systems.

A reference to a resource becomes a text such as `${network.Subnet1}`: stack and logical id. References between stacks
lead to the same text.
"""

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from slipway.assembly.cluster import Cluster
from slipway.assembly.context import Context, Subnet
from slipway.assembly.existing_network import existing_network
from slipway.assembly.sections import Section, UnknownValue, with_open_texts
from slipway.assembly.stacks import CLUSTER_TYPE
from slipway.config.problems import Path
from slipway.config.ranges import RESERVED_ADDRESSES

Template = Mapping[str, Any]

_PROVIDER_RELEASE = re.compile(r"/parallelcluster/([0-9]+\.[0-9]+\.[0-9]+)/templates/")
_SESSION_ACTION = "ssmmessages:OpenDataChannel"
_SCRIPTS_TYPE = "Custom::CDKBucketDeployment"


@dataclass(frozen=True)
class TemplateCluster:
    """A cluster in a template."""

    stack: str
    logical_id: str
    cluster: Cluster
    """Its paths begin in the configuration."""

    @property
    def path(self) -> Path:
        """Where the configuration stands in the template."""
        return ("Resources", self.logical_id, "Properties", "ClusterConfiguration")


@dataclass(frozen=True)
class Templates:
    """The templates of one deployment by the name of their stack."""

    templates: Mapping[str, Template]

    region: str | None = None
    """AWS Region of the stacks; None when they leave it open."""

    asset_files: Callable[[str], list[str] | None] = field(default=lambda _: None)
    """Names of the files in a zipped asset, by its object key; None when it is not at hand."""

    def clusters(self) -> list[TemplateCluster]:
        """Return all clusters of all templates."""
        return [
            self._cluster(stack, logical_id, resource) for stack, logical_id, resource in self._resources(CLUSTER_TYPE)
        ]

    def _cluster(self, stack: str, logical_id: str, resource: Mapping[str, Any]) -> TemplateCluster:
        configuration = _mapping(resource.get("Properties")).get("ClusterConfiguration")
        root = Section((), self._readable(configuration, stack))
        return TemplateCluster(stack, logical_id, Cluster(root, self._context(stack, resource)))

    def _context(self, stack: str, cluster: Mapping[str, Any]) -> Context:
        provider = self._provider(stack, cluster)
        release = _PROVIDER_RELEASE.search(provider.hint("TemplateURL") or "")
        buckets = {self.reference(name, logical_id) for name, logical_id, _ in self._resources("AWS::S3::Bucket")}
        return Context(
            region=self.region,
            subnets=dict(self.subnets()),
            # A template without buckets is made for those that are there already.
            own_buckets=buckets or None,
            script_urls=self._script_urls(),
            policy_arns=dict(self._policy_arns()),
            session_policies=set(self._session_policies()),
            file_system_zones=dict(self._file_system_zones()),
            # With a role of one's own it is not known what that role may attach.
            made_by_provider=None if "CustomLambdaRole" in _mapping(provider.value.get("Parameters")) else True,
            release=release[1] if release else None,
            permissions_boundaries=self._permissions_boundaries(),
        )

    # ---- references ------------------------------------------------------------------------------------------

    def _readable(self, value: Any, stack: str) -> Any:
        return with_open_texts(self._local(value, stack), self._known(stack))

    def _known(self, stack: str) -> dict[str, Any]:
        """Say what `Ref` stands for: a parameter's default, a resource of this stack, nothing else."""
        template = self.templates[stack]
        defaults = {
            name: parameter["Default"]
            for name, parameter in _mapping(template.get("Parameters")).items()
            if isinstance(parameter, Mapping) and isinstance(parameter.get("Default"), str | int | float)
        }
        resources = {
            logical_id: self.reference(stack, logical_id) for logical_id in _mapping(template.get("Resources"))
        }
        return defaults | resources

    def _local(self, value: Any, stack: str) -> Any:
        """Replace references to other stacks by the text of what they lead to."""
        if isinstance(value, list | tuple):
            return [self._local(item, stack) for item in value]
        if not isinstance(value, Mapping):
            return value
        if isinstance(where := value.get("Fn::FindInMap"), list | tuple):
            return self._found_in_map(where, stack)
        output = value.get("Fn::GetStackOutput")
        if isinstance(output, Mapping):
            return self._output(output)
        return {key: self._local(item, stack) for key, item in value.items()}

    def _found_in_map(self, where: Sequence[Any], stack: str) -> Any:
        found: Any = self.templates[stack].get("Mappings")
        for key in where:
            found = _mapping(found).get(key) if isinstance(key, str) else None
        return "${Fn::FindInMap}" if found is None else found

    def _output(self, output: Mapping[str, Any]) -> Any:
        stack, name = str(output.get("StackName")), str(output.get("OutputName"))
        outputs = _mapping(self.templates.get(stack, {}).get("Outputs"))
        if name not in outputs:
            return f"${{{stack}:{name}}}"
        return self._readable(_mapping(outputs[name]).get("Value"), stack)

    @staticmethod
    def reference(stack: str, logical_id: str) -> str:
        """Return the text that a `Ref` to a resource becomes, in whichever stack it stands."""
        return f"${{{stack}.{logical_id}}}"

    def _resources(self, resource_type: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        for stack, template in self.templates.items():
            for logical_id, resource in _mapping(template.get("Resources")).items():
                if isinstance(resource, Mapping) and resource.get("Type") == resource_type:
                    yield stack, logical_id, resource

    def sections(self, resource_type: str) -> Iterator[tuple[str, str, Section]]:
        """Yield stack, logical id and properties of the resources of one type; references in them are texts."""
        for stack, logical_id, resource in self._resources(resource_type):
            properties = self._readable(resource.get("Properties") or {}, stack)
            yield stack, logical_id, Section((logical_id,), properties)

    # ---- what the resources say --------------------------------------------------------------------------------

    def subnets(self) -> Iterator[tuple[str, Subnet]]:
        """Yield the subnets by the text of a reference to them."""
        open_tables = self._open_route_tables()
        tables = {
            properties.hint("SubnetId"): properties.hint("RouteTableId")
            for _, _, properties in self.sections("AWS::EC2::SubnetRouteTableAssociation")
        }
        for stack, logical_id, properties in self.sections("AWS::EC2::Subnet"):
            name = self.reference(stack, logical_id)
            public = (properties.hint("MapPublicIpOnLaunch") == "true") or tables.get(name) in open_tables
            zone = properties.hint("AvailabilityZoneId")
            yield name, Subnet(zone_id=zone, public=public, addresses=_addresses(properties.hint("CidrBlock")))
        existing = existing_network(self.templates.values())
        for subnet in existing.subnets if existing else ():
            yield subnet.id, Subnet(zone_id=subnet.zone_id, public=subnet.public, addresses=None)

    def _open_route_tables(self) -> set[str | None]:
        gateways = {self.reference(stack, name) for stack, name, _ in self._resources("AWS::EC2::InternetGateway")}
        return {
            route.hint("RouteTableId")
            for _, _, route in self.sections("AWS::EC2::Route")
            if route.hint("GatewayId") in gateways
        }

    def _script_urls(self) -> set[str] | None:
        urls: set[str] = set()
        for _, _, deployment in self.sections(_SCRIPTS_TYPE):
            bucket = deployment.hint("DestinationBucketName")
            prefix = (deployment.hint("DestinationBucketKeyPrefix") or "").strip("/")
            for key in _texts(deployment, "SourceObjectKeys"):
                files = self.asset_files(key)
                if files is None:
                    return None
                urls |= {f"s3://{bucket}/{prefix}/{name}" if prefix else f"s3://{bucket}/{name}" for name in files}
        return urls or None

    def _policy_arns(self) -> Iterator[tuple[str, str]]:
        for stack, logical_id, policy in self.sections("AWS::IAM::ManagedPolicy"):
            path = policy.hint("Path") or "/"
            name = policy.hint("ManagedPolicyName") or f"{stack}-{logical_id}"
            yield self.reference(stack, logical_id), f"arn:aws:iam::${{AWS::AccountId}}:policy{path}{name}"

    def _session_policies(self) -> Iterator[str]:
        for stack, logical_id, policy in self.sections("AWS::IAM::ManagedPolicy"):
            if _allows_sessions(policy):
                yield self.reference(stack, logical_id)

    def _file_system_zones(self) -> Iterator[tuple[str, str]]:
        subnets = dict(self.subnets())
        for stack, logical_id, file_system in self.sections("AWS::FSx::FileSystem"):
            for subnet in _texts(file_system, "SubnetIds"):
                if subnet in subnets and (zone := subnets[subnet].zone_id):
                    yield self.reference(stack, logical_id), zone

    def _permissions_boundaries(self) -> set[str]:
        roles = (role.hint("PermissionsBoundary") for _, _, role in self.sections("AWS::IAM::Role"))
        return {boundary for boundary in roles if boundary}

    def _provider(self, stack: str, cluster: Mapping[str, Any]) -> Section:
        """Return the properties of the nested stack whose function makes the cluster."""
        token = _mapping(_mapping(cluster.get("Properties")).get("ServiceToken")).get("Fn::GetAtt")
        logical_id = str(token[0]) if isinstance(token, list | tuple) and token else ""
        nested = _mapping(_mapping(self.templates[stack].get("Resources")).get(logical_id))
        return Section((logical_id,), self._readable(_mapping(nested.get("Properties")), stack))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _allows_sessions(policy: Section) -> bool:
    try:
        statements = policy.section("PolicyDocument").items("Statement")
        allowed = [_texts(statement, "Action") for statement in statements if statement.written("Effect") == "Allow"]
    except UnknownValue:
        return False
    return any(fnmatchcase(_SESSION_ACTION, pattern) for patterns in allowed for pattern in patterns)


def _texts(section: Section, key: str) -> list[str]:
    try:
        return section.texts(key)
    except UnknownValue:
        return []


def _addresses(cidr: str | None) -> int | None:
    try:
        return ipaddress.ip_network(cidr or "").num_addresses - RESERVED_ADDRESSES
    except ValueError:
        return None
