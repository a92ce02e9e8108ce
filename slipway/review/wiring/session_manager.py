"""Session Manager: sessions reach machines, and run as the user that they are for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from slipway.review.changes.resources import Resource
from slipway.review.wiring.registry import Finding, about, rule
from slipway.review.wiring.resources import Resources

_SERVICES = {"ssm", "ssmmessages"}
"""What the agent needs for sessions; agents before 3.3.40.0 also need `ec2messages`."""


@rule(
    severity="warning",
    reason="The agent on machines without a route to the internet cannot register: no session reaches them.",
    fix="Add the missing interface endpoint.",
    source='AWS Systems Manager user guide, "Improve the security of EC2 instances by using VPC endpoints for Systems '
    'Manager"',
)
def endpoints_of_session_manager_are_complete(resources: Resources) -> Iterator[Finding]:
    """A VPC with an interface endpoint for Systems Manager has all that sessions need."""
    services: dict[str, dict[str, Resource]] = {}
    for endpoint in resources.of_type("AWS::EC2::VPCEndpoint"):
        name = str(endpoint.at("ServiceName")).rpartition(".")[2]
        services.setdefault(str(endpoint.at("VpcId")), {})[name] = endpoint
    for found in services.values():
        present = [each for name, each in found.items() if name in _SERVICES]
        missing = sorted(_SERVICES - set(found))
        if present and missing:
            yield about(present[0], "ServiceName", f"its VPC has no endpoint for {', '.join(missing)}")


@rule(
    reason="Everyone who may start a session is the user ssm-user, who may run every command as root.",
    fix="Write `runAsEnabled: true`.",
    source='AWS Systems Manager user guide, "Turn on Run As support for Linux and macOS managed nodes"',
)
def session_runs_as_its_user(resources: Resources) -> Iterator[Finding]:
    """A session document that names a default user for Run As enables Run As."""
    for document in resources.of_type("AWS::SSM::Document"):
        inputs = document.at("Content.inputs")
        if isinstance(inputs, Mapping) and "runAsDefaultUser" in inputs and inputs.get("runAsEnabled") is False:
            yield about(document, "Content.inputs.runAsEnabled", "it names a user, and Run As is off")
