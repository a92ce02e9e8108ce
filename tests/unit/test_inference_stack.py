"""The inference stack: an endpoint that passes on little, hosts that can go, a first deployment that succeeds."""

from pathlib import Path
from typing import Any

import pytest

from neuron_constructs.inference.container_image import is_in_ecr
from neuron_constructs.inference.endpoint import Endpoint
from slipway import facts
from tests.assembly import Assembly, load, synthesize

WITH_ENDPOINT = ["default", "small", "public", "apikey"]


@pytest.fixture(params=WITH_ENDPOINT)
def assembly(request: pytest.FixtureRequest) -> Assembly:
    """Every environment that has an endpoint."""
    found: Assembly = request.getfixturevalue(request.param)
    return found


def container(assembly: Assembly) -> dict[str, Any]:
    """The engine's container definition."""
    (definition,) = assembly.resource("inference", "AWS::ECS::TaskDefinition")["ContainerDefinitions"]
    found: dict[str, Any] = definition
    return found


def attributes(resource: dict[str, Any], key: str) -> dict[str, str]:
    """Load balancer or target group attributes by key."""
    return {item["Key"]: item["Value"] for item in resource[key]}


def test_an_environment_without_inference_has_no_such_stack(ultracluster: Assembly) -> None:
    assert "slipway-ultracluster-inference" not in ultracluster.templates()


def test_the_first_deployment_wants_no_task(default: Assembly) -> None:
    assert default.resource("inference", "AWS::ECS::Service")["DesiredCount"] == 0
    assert default.resource("inference", "AWS::AutoScaling::AutoScalingGroup")["MinSize"] == "0"


def test_only_the_openai_paths_reach_the_engine(assembly: Assembly) -> None:
    rule = assembly.resource("inference", "AWS::ElasticLoadBalancingV2::ListenerRule")
    listener = assembly.resource("inference", "AWS::ElasticLoadBalancingV2::Listener")

    assert rule["Conditions"] == [
        {
            "Field": "path-pattern",
            "PathPatternConfig": {"Values": ["/v1/chat/completions", "/v1/completions", "/v1/models"]},
        }
    ]
    (default_action,) = listener["DefaultActions"]
    assert default_action["Type"] == "fixed-response"
    assert default_action["FixedResponseConfig"]["StatusCode"] == "404"


def test_an_internal_endpoint_is_open_to_the_vpc_only(default: Assembly) -> None:
    balancer = default.resource("inference", "AWS::ElasticLoadBalancingV2::LoadBalancer")
    groups = default.resources("inference", "AWS::EC2::SecurityGroup")
    (ingress,) = [item["Properties"]["SecurityGroupIngress"] for key, item in groups.items() if "Endpoint" in key]

    assert balancer["Scheme"] == "internal"
    assert [(rule["CidrIp"], rule["FromPort"]) for rule in ingress] == [("10.40.0.0/16", 80)]


def test_a_public_endpoint_speaks_tls_and_checks_tokens(public: Assembly) -> None:
    balancer = public.resource("inference", "AWS::ElasticLoadBalancingV2::LoadBalancer")
    listener = public.resource("inference", "AWS::ElasticLoadBalancingV2::Listener")
    rule = public.resource("inference", "AWS::ElasticLoadBalancingV2::ListenerRule")

    assert balancer["Scheme"] == "internet-facing"
    assert listener["Protocol"] == "HTTPS"
    assert listener["SslPolicy"].startswith("ELBSecurityPolicy-TLS13-1-2")
    check, forward = sorted(rule["Actions"], key=lambda action: int(action["Order"]))
    assert check["Type"] == "jwt-validation"
    assert forward["Type"] == "forward"


def test_a_public_endpoint_without_tls_cannot_be_built() -> None:
    class Props:
        """The part of the props that the guard reads."""

        internet_facing = True
        jwt_issuer = None
        certificate_arn = None

    with pytest.raises(ValueError, match="needs a certificate"):
        Endpoint(None, "Endpoint", Props())  # type: ignore[arg-type]


def test_allowed_cidrs_replace_the_default(apikey: Assembly) -> None:
    groups = apikey.resources("inference", "AWS::EC2::SecurityGroup")
    (ingress,) = [item["Properties"]["SecurityGroupIngress"] for key, item in groups.items() if "Endpoint" in key]

    assert [(rule["CidrIp"], rule["FromPort"]) for rule in ingress] == [("10.40.0.0/16", 443), ("10.99.0.0/16", 443)]


def test_an_api_key_comes_from_secrets_manager_and_never_enters_the_template(apikey: Assembly) -> None:
    (secret,) = container(apikey)["Secrets"]

    assert secret["Name"] == facts.inference_engine("vllm").api_key_environment
    assert secret["ValueFrom"] == apikey.environment.inference.endpoint.authentication.secret_arn  # type: ignore[union-attr]
    assert "{{resolve:secretsmanager" not in str(apikey.template("inference"))


def test_the_task_has_all_devices_of_the_host_and_most_of_its_memory(assembly: Assembly) -> None:
    inference = assembly.environment.inference
    assert inference is not None
    kind = facts.instance_type(inference.instance_type)
    definition = container(assembly)
    devices = [device["HostPath"] for device in definition["LinuxParameters"]["Devices"]]

    assert devices == [f"/dev/neuron{number}" for number in range(kind.neuron_devices)]
    assert definition["LinuxParameters"]["Capabilities"] == {"Add": ["IPC_LOCK"]}
    assert "Privileged" not in definition
    # More than half: a second task does not fit on the host. Less than 92 %: host, agent and Mountpoint live too.
    assert 0.5 < definition["MemoryReservation"] / (kind.memory_gib * 1024) < 0.95


def test_an_image_in_ecr_may_be_pulled_and_no_other(tmp_path: Path) -> None:
    environment = load("default")
    assert environment.inference is not None
    image = "111122223333.dkr.ecr.us-west-2.amazonaws.com/engines/tgi:3.3.5-neuron"
    inference = environment.inference.model_copy(update={"image": image})
    assembly = synthesize(environment.model_copy(update={"inference": inference}), tmp_path)
    policies = assembly.resources("inference", "AWS::IAM::Policy")
    (policy,) = [item["Properties"]["PolicyDocument"] for key, item in policies.items() if "ExecutionRole" in key]
    resources = {
        action: statement["Resource"]
        for statement in policy["Statement"]
        for action in ([statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"])
    }

    assert resources["ecr:BatchGetImage"] == "arn:aws:ecr:us-west-2:111122223333:repository/engines/tgi"
    assert "engines/tgi:3.3.5-neuron" in str(container(assembly)["Image"])


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("111122223333.dkr.ecr.us-west-2.amazonaws.com/tgi:1", True),
        (f"111122223333.dkr.ecr.us-west-2.amazonaws.com/team/tgi@sha256:{'0' * 64}", True),
        ("111122223333.dkr.ecr.cn-north-1.amazonaws.com.cn/tgi:1", True),
        ("public.ecr.aws/neuron/pytorch-inference:1", False),
        ("ghcr.io/huggingface/text-generation-inference:3.3.5-neuron", False),
    ],
)
def test_only_private_ecr_repositories_need_permission(reference: str, expected: bool) -> None:
    assert is_in_ecr(reference) is expected


def test_the_model_is_mounted_read_only_where_the_engine_looks(assembly: Assembly) -> None:
    inference = assembly.environment.inference
    assert inference is not None
    engine = facts.inference_engine(inference.engine)
    definition = container(assembly)
    environment = {item["Name"]: item["Value"] for item in definition["Environment"]}
    prefix = inference.model.prefix if inference.model else "no-model-chosen"

    assert environment[engine.model_environment] == f"/models/{prefix}"
    (mount,) = definition["MountPoints"]
    assert (mount["ContainerPath"], mount["ReadOnly"]) == (f"/models/{prefix}", True)
    (volume,) = assembly.resource("inference", "AWS::ECS::TaskDefinition")["Volumes"]
    assert volume["Host"] == {"SourcePath": f"/mnt/models/{prefix}"}


def test_user_data_hands_the_script_its_parameters_and_fits(public: Assembly) -> None:
    template = public.resource("inference", "AWS::EC2::LaunchTemplate")["LaunchTemplateData"]
    parts = template["UserData"]["Fn::Base64"]["Fn::Join"][1]
    text = "".join(part if isinstance(part, str) else "0123456789012345678901234567890123" for part in parts)

    assert "export SLIPWAY_MODEL_PREFIX=tanuki-8b/v1\n" in text
    assert "export SLIPWAY_NEURON_DEVICES=6\n" in text
    assert "export SLIPWAY_MODEL_MOUNT=/mnt/models/tanuki-8b/v1\n" in text
    assert len(text.encode()) < 16 * 1024
    assert text.startswith("#!/bin/bash\n")


def test_hosts_demand_imdsv2_from_themselves_only(assembly: Assembly) -> None:
    template = assembly.resource("inference", "AWS::EC2::LaunchTemplate")["LaunchTemplateData"]

    assert template["MetadataOptions"]["HttpTokens"] == "required"
    assert template["MetadataOptions"]["HttpPutResponseHopLimit"] == 1
    (disk,) = template["BlockDeviceMappings"]
    assert disk["Ebs"]["Encrypted"] is True
    assert "neuron" in str(assembly.template("inference")["Parameters"])


def test_hosts_stand_only_in_zones_that_offer_them(assembly: Assembly) -> None:
    environment = assembly.environment
    assert environment.inference is not None
    zones = (environment.network.training_availability_zone_id, *environment.network.other_availability_zone_ids)
    offered = facts.offered_zone_ids(environment.inference.instance_type, environment.region)
    group = assembly.resource("inference", "AWS::AutoScaling::AutoScalingGroup")

    assert len(group["VPCZoneIdentifier"]) == len([zone for zone in zones if zone in offered])


def test_destroy_does_not_wait_for_protected_hosts(assembly: Assembly) -> None:
    provider = assembly.resource("inference", "AWS::ECS::CapacityProvider")["AutoScalingGroupProvider"]
    group = assembly.resource("inference", "AWS::AutoScaling::AutoScalingGroup")

    assert provider["ManagedTerminationProtection"] == "DISABLED"
    assert "NewInstancesProtectedFromScaleIn" not in group


def test_the_service_goes_before_the_cluster_lets_go_of_its_capacity_provider(assembly: Assembly) -> None:
    (association,) = assembly.resources("inference", "AWS::ECS::ClusterCapacityProviderAssociations")
    (service,) = assembly.resources("inference", "AWS::ECS::Service").values()

    assert association in service["DependsOn"]


@pytest.mark.parametrize(("name", "healthy", "at_most"), [("public", 100, 200), ("apikey", 0, 100)])
def test_a_new_version_starts_beside_the_old_one_only_with_a_spare_host(
    name: str, healthy: int, at_most: int, request: pytest.FixtureRequest
) -> None:
    service = request.getfixturevalue(name).resource("inference", "AWS::ECS::Service")
    deployment = service["DeploymentConfiguration"]

    assert (deployment["MinimumHealthyPercent"], deployment["MaximumPercent"]) == (healthy, at_most)
    assert deployment["DeploymentCircuitBreaker"] == {"Enable": True, "Rollback": True}


@pytest.mark.parametrize(("name", "kept"), [("default", 0), ("public", 2), ("apikey", 0)])
def test_another_model_or_image_replaces_the_hosts_one_by_one(
    name: str, kept: int, request: pytest.FixtureRequest
) -> None:
    assembly: Assembly = request.getfixturevalue(name)
    (group,) = assembly.resources("inference", "AWS::AutoScaling::AutoScalingGroup").values()
    update = group["UpdatePolicy"]["AutoScalingRollingUpdate"]

    assert (update["MaxBatchSize"], update["MinInstancesInService"]) == (1, kept)
    assert kept < int(group["Properties"]["MaxSize"])
    # ECS scales by alarms; it must not while CloudFormation counts hosts.
    assert "AlarmNotification" in update["SuspendProcesses"]


def test_no_task_moves_between_zones_for_the_sake_of_balance(assembly: Assembly) -> None:
    assert assembly.resource("inference", "AWS::ECS::Service")["AvailabilityZoneRebalancing"] == "DISABLED"


def test_container_insights_write_to_a_log_group_that_goes_with_the_stack(assembly: Assembly) -> None:
    cluster = next(iter(assembly.resources("inference", "AWS::ECS::Cluster").values()))
    name = cluster["Properties"]["ClusterName"]
    (group,) = [
        logical_id
        for logical_id, resource in assembly.resources("inference", "AWS::Logs::LogGroup").items()
        if resource["Properties"].get("LogGroupName") == f"/aws/ecs/containerinsights/{name}/performance"
    ]

    assert name == f"slipway-{assembly.environment.name}-inference"
    # There first, or CloudWatch makes one of its own; gone last, or it makes it again.
    assert group in cluster["DependsOn"]


def test_connections_outlive_long_prompts_and_stopping_tasks(assembly: Assembly) -> None:
    balancer = assembly.resource("inference", "AWS::ElasticLoadBalancingV2::LoadBalancer")
    targets = assembly.resource("inference", "AWS::ElasticLoadBalancingV2::TargetGroup")
    group = attributes(targets, "TargetGroupAttributes")

    assert int(attributes(balancer, "LoadBalancerAttributes")["idle_timeout.timeout_seconds"]) == 900
    assert int(group["deregistration_delay.timeout_seconds"]) >= container(assembly)["StopTimeout"]
    assert group["load_balancing.algorithm.type"] == "least_outstanding_requests"
    assert (targets["HealthCheckPath"], targets["Matcher"]) == ("/health", {"HttpCode": "200"})


def test_tasks_are_reached_by_the_endpoint_only_and_reach_nobody(assembly: Assembly) -> None:
    groups = assembly.resources("inference", "AWS::EC2::SecurityGroup")
    (task,) = [item["Properties"] for key, item in groups.items() if "TaskSecurityGroup" in key]
    (host,) = [item["Properties"] for key, item in groups.items() if "Hosts" in key]
    ingress = assembly.resource("inference", "AWS::EC2::SecurityGroupIngress")

    assert "SecurityGroupIngress" not in task
    assert "SourceSecurityGroupId" in ingress
    assert [rule["CidrIp"] for rule in task["SecurityGroupEgress"]] == ["255.255.255.255/32"]
    assert "SecurityGroupIngress" not in host
    assert [(rule["CidrIp"], rule["FromPort"]) for rule in host["SecurityGroupEgress"]] == [("0.0.0.0/0", 443)]


def test_access_logs_go_to_the_bucket_that_outlives_the_endpoint(assembly: Assembly) -> None:
    balancer = assembly.resource("inference", "AWS::ElasticLoadBalancingV2::LoadBalancer")
    settings = {item["Key"]: item["Value"] for item in balancer["LoadBalancerAttributes"]}

    assert settings["access_logs.s3.enabled"] == "true"
    assert settings["access_logs.s3.bucket"]["Fn::GetStackOutput"]["StackName"].endswith("-network")
    assert settings["routing.http.drop_invalid_header_fields.enabled"] == "true"
