"""A template written by hand, for tests of the gateway itself: one listener, rules as given, plain services."""

from collections.abc import Mapping, Sequence
from typing import Any

from slipway import facts

NOT_FOUND = {"Type": "fixed-response", "FixedResponseConfig": {"StatusCode": "404", "MessageBody": "nothing here"}}


def forward(**weights: Any) -> dict[str, Any]:
    """An action that forwards to the target groups of services by weight."""
    groups = [{"TargetGroupArn": {"Ref": f"{service}Targets"}, "Weight": weight} for service, weight in weights.items()]
    return {"Type": "forward", "ForwardConfig": {"TargetGroups": groups}}


def rule(priority: int, paths: Sequence[str], *actions: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A listener's rule for some paths."""
    return {
        "Priority": priority,
        "ListenerArn": {"Ref": "Listener"},
        "Conditions": [{"Field": "path-pattern", "PathPatternConfig": {"Values": list(paths)}}],
        "Actions": [{**action, "Order": order} for order, action in enumerate(actions, 1)],
        **more,
    }


def small_template(
    rules: Sequence[Mapping[str, Any]],
    *services: str,
    engine: str = "tgi",
    attributes: Mapping[str, str] | None = None,
    parameters: Mapping[str, Any] | None = None,
    deregistration_seconds: int = 300,
) -> dict[str, Any]:
    """A template with a plain HTTP listener, rules, and services that all run one engine."""
    row = facts.inference_engine(engine)
    resources: dict[str, Any] = {
        "Balancer": _resource(
            "LoadBalancer",
            LoadBalancerAttributes=[{"Key": key, "Value": value} for key, value in (attributes or {}).items()],
            Scheme="internal",
            Type="application",
            SecurityGroups=[],
            Subnets=[],
        ),
        "Listener": _resource(
            "Listener", LoadBalancerArn={"Ref": "Balancer"}, Port=80, Protocol="HTTP", DefaultActions=[NOT_FOUND]
        ),
        **{f"Rule{number}": _resource("ListenerRule", **properties) for number, properties in enumerate(rules)},
    }
    for service in services:
        resources |= _service(service, row, deregistration_seconds)
    return {
        "Parameters": dict(parameters or {}),
        "Resources": resources,
        "Outputs": {"BaseUrl": {"Value": "http://balancer/v1"}, "ModelId": {"Value": "/models/some"}},
        "Metadata": {
            "Slipway::Endpoint": {
                "authentication": "none",
                "models": [
                    {
                        "name": service,
                        "engine": engine,
                        "base_url_output": "BaseUrl",
                        "model_id_output": "ModelId",
                    }
                    for service in services
                ],
            }
        },
    }


def _service(name: str, row: facts.InferenceEngine, deregistration_seconds: int) -> dict[str, Any]:
    compiled = facts.CompiledShape(batch_size=4, sequence_length=2048, tensor_parallel_size=2)
    settings = facts.EngineSettings(
        model_directory="/models/some", model_name="some", keep_alive_seconds=960, compiled=compiled
    )
    container = {
        "Name": "Engine",
        "Environment": [{"Name": key, "Value": value} for key, value in row.environment_for(settings).items()],
        "EntryPoint": list(row.entry_point or ()),
        "Command": row.command_for(settings),
        "PortMappings": [{"ContainerPort": row.port}],
        "StopTimeout": row.stop_timeout_seconds,
    }
    return {
        f"{name}Targets": _resource(
            "TargetGroup",
            Port=row.port,
            Protocol="HTTP",
            TargetType="ip",
            HealthCheckPath=row.health_path,
            VpcId="vpc",
            TargetGroupAttributes=[
                {"Key": "deregistration_delay.timeout_seconds", "Value": str(deregistration_seconds)}
            ],
        ),
        f"{name}Task": {
            "Type": "AWS::ECS::TaskDefinition",
            "Properties": {"ContainerDefinitions": [container]},
        },
        f"{name}Service": {
            "Type": "AWS::ECS::Service",
            "Properties": {
                "ServiceName": name,
                "DesiredCount": 1,
                "TaskDefinition": {"Ref": f"{name}Task"},
                "LoadBalancers": [
                    {
                        "ContainerName": "Engine",
                        "ContainerPort": row.port,
                        "TargetGroupArn": {"Ref": f"{name}Targets"},
                    }
                ],
            },
        },
    }


def _resource(kind: str, **properties: Any) -> dict[str, Any]:
    return {"Type": f"AWS::ElasticLoadBalancingV2::{kind}", "Properties": properties}
