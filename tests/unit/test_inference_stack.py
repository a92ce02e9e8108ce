"""The inference stack: its parts fit together, its first deployment succeeds, and it can go."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from neuron_constructs.inference.engine_proxy import PROXY_CONTAINER, PROXY_PORT
from slipway import facts
from slipway.config import load_environment
from slipway.config.inference import ServedModel
from tests.assembly import Assembly, environment_path, synthesize

WITH_ENDPOINT = ["default", "small", "public", "apikey", "machines", "rolledout", "trainium2"]
SERVICE = "AWS::ECS::Service"


@pytest.fixture(params=WITH_ENDPOINT)
def assembly(request: pytest.FixtureRequest) -> Assembly:
    """Every environment that has an endpoint."""
    found: Assembly = request.getfixturevalue(request.param)
    return found


def models(assembly: Assembly) -> tuple[ServedModel, ...]:
    assert assembly.environment.inference is not None
    return assembly.environment.inference.models


def services(assembly: Assembly) -> dict[str, Any]:
    """Services of models and candidates by name: the daemon has none of its own."""
    return {
        resource["Properties"]["ServiceName"]: resource
        for resource in assembly.resources("inference", SERVICE).values()
        if resource["Properties"].get("SchedulingStrategy") != "DAEMON"
    }


def outputs(assembly: Assembly) -> dict[str, Any]:
    return {name: output["Value"] for name, output in assembly.template("inference")["Outputs"].items()}


def conditions(assembly: Assembly) -> Any:
    return assembly.template("inference").get("Conditions", {})


def test_an_environment_without_inference_has_no_such_stack(ultracluster: Assembly) -> None:
    assert "slipway-ultracluster-inference" not in ultracluster.templates()


def test_each_model_has_a_service_and_a_canary_a_second_one(assembly: Assembly) -> None:
    wanted = [model.name.replace(".", "-") for model in models(assembly)]
    wanted += [f"{model.name.replace('.', '-')}-candidate" for model in models(assembly) if model.canary]

    assert sorted(services(assembly)) == sorted(wanted)


def test_the_first_deployment_wants_no_task_of_a_model_that_is_rolled_out(assembly: Assembly) -> None:
    for model in models(assembly):
        count = services(assembly)[model.name.replace(".", "-")]["Properties"]["DesiredCount"]
        if model.prefix is None:
            condition, _, otherwise = count["Fn::If"]
            assert otherwise == 0
            # The parameter's default is the value that the condition denies.
            parameter = assembly.template("inference")["Parameters"][f"{model.slug}Served"]
            assert [{"Ref": f"{model.slug}Served"}, parameter["Default"]] in [
                conditions(assembly)[condition]["Fn::Not"][0]["Fn::Equals"]
            ]
        else:
            assert count == model.scaling.min_count
    for group in assembly.resources("inference", "AWS::AutoScaling::AutoScalingGroup").values():
        assert group["Properties"]["MinSize"] == "0"


def test_a_candidate_gets_no_request_before_it_is_chosen(rolledout: Assembly) -> None:
    (model,) = (model for model in models(rolledout) if model.canary)
    parameters = rolledout.template("inference")["Parameters"]
    weights = [
        {json.dumps(target["Weight"]) for target in action["ForwardConfig"]["TargetGroups"]}
        for rule in rolledout.resources("inference", "AWS::ElasticLoadBalancingV2::ListenerRule").values()
        for action in rule["Properties"]["Actions"]
        if action["Type"] == "forward" and "ForwardConfig" in action
    ]

    assert weights
    assert all(len(weight) == 2 for weight in weights)
    assert {json.loads(weight)["Ref"] for pair in weights for weight in pair} == {
        f"{model.slug}ServedWeight",
        f"{model.slug}CandidateWeight",
    }
    assert str(parameters[f"{model.slug}CandidateWeight"]["Default"]) == "0"
    assert services(rolledout)[f"{model.name}-candidate"]["Properties"]["DesiredCount"]["Fn::If"][1:] == [1, 0]


def test_a_service_starts_after_its_target_group_has_a_listener(assembly: Assembly) -> None:
    """ECS refuses a target group that no load balancer uses."""
    rules = assembly.resources("inference", "AWS::ElasticLoadBalancingV2::ListenerRule")
    for service in services(assembly).values():
        (registered,) = service["Properties"]["LoadBalancers"]
        target_group = registered["TargetGroupArn"]
        using = {name for name, rule in rules.items() if json.dumps(target_group) in json.dumps(rule["Properties"])}
        assert using
        assert using <= set(service["DependsOn"])


def test_a_service_goes_before_the_cluster_lets_go_of_its_capacity_provider(assembly: Assembly) -> None:
    (association,) = assembly.resources("inference", "AWS::ECS::ClusterCapacityProviderAssociations")

    for service in assembly.resources("inference", SERVICE).values():
        if service["Properties"].get("SchedulingStrategy") != "DAEMON":
            assert association in service["DependsOn"]


def test_destroy_does_not_wait_for_protected_hosts(assembly: Assembly) -> None:
    for provider in assembly.resources("inference", "AWS::ECS::CapacityProvider").values():
        assert provider["Properties"]["AutoScalingGroupProvider"]["ManagedTerminationProtection"] == "DISABLED"
    for group in assembly.resources("inference", "AWS::AutoScaling::AutoScalingGroup").values():
        assert "NewInstancesProtectedFromScaleIn" not in group["Properties"]


def test_a_deployment_by_surge_has_a_host_to_spare(assembly: Assembly) -> None:
    groups = assembly.resources("inference", "AWS::AutoScaling::AutoScalingGroup")
    for model in models(assembly):
        deployment = services(assembly)[model.name.replace(".", "-")]["Properties"]["DeploymentConfiguration"]
        (group,) = (group for key, group in groups.items() if f"{model.slug}ServiceHosts" in key)
        most_tasks = max(model.scaling.max_count or 0, model.scaling.min_count)
        bounds = (deployment["MinimumHealthyPercent"], deployment["MaximumPercent"])
        if model.deployment == "surge":
            assert bounds == (100, 200)
            assert int(group["Properties"]["MaxSize"]) > most_tasks
        else:
            assert bounds == (0, 100)
            assert int(group["Properties"]["MaxSize"]) >= most_tasks
        assert deployment["DeploymentCircuitBreaker"] == {"Enable": True, "Rollback": True}


def test_hosts_are_replaced_one_by_one_and_never_below_what_serves(assembly: Assembly) -> None:
    for group in assembly.resources("inference", "AWS::AutoScaling::AutoScalingGroup").values():
        update = group["UpdatePolicy"]["AutoScalingRollingUpdate"]
        assert update["MaxBatchSize"] == 1
        assert update["MinInstancesInService"] < int(group["Properties"]["MaxSize"])
        # ECS scales by alarms; it must not while CloudFormation counts hosts.
        assert "AlarmNotification" in update["SuspendProcesses"]


def test_hosts_stand_only_in_zones_that_offer_them(assembly: Assembly) -> None:
    environment = assembly.environment
    zones = (environment.network.training_availability_zone_id, *environment.network.other_availability_zone_ids)
    groups = assembly.resources("inference", "AWS::AutoScaling::AutoScalingGroup")
    for model in models(assembly):
        offered = facts.offered_zone_ids(model.instance_type, environment.region)
        if model.capacity_reservation:
            # All are in it, so in its zone.
            offered = frozenset({model.capacity_reservation.availability_zone_id})
        (group,) = (group for key, group in groups.items() if f"{model.slug}ServiceHosts" in key)
        assert len(group["Properties"]["VPCZoneIdentifier"]) == len([zone for zone in zones if zone in offered])


def test_no_task_moves_between_zones_for_the_sake_of_balance(assembly: Assembly) -> None:
    for service in services(assembly).values():
        assert service["Properties"]["AvailabilityZoneRebalancing"] == "DISABLED"


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


def test_tasks_are_reached_by_the_endpoint_only_and_reach_nobody(assembly: Assembly) -> None:
    groups = assembly.resources("inference", "AWS::EC2::SecurityGroup")
    tasks = [item["Properties"] for key, item in groups.items() if "TaskSecurityGroup" in key]

    assert len(tasks) == len(services(assembly))
    for task in tasks:
        assert "SecurityGroupIngress" not in task
        assert [rule["CidrIp"] for rule in task["SecurityGroupEgress"]] == ["255.255.255.255/32"]


def test_requests_to_an_engine_come_from_the_load_balancer_alone(assembly: Assembly) -> None:
    (endpoint,) = [
        key for key in assembly.resources("inference", "AWS::EC2::SecurityGroup") if key.startswith("Endpoint")
    ]
    sources = {
        rule["Properties"]["GroupId"]["Fn::GetAtt"][0]: rule["Properties"].get("SourceSecurityGroupId")
        for rule in assembly.resources("inference", "AWS::EC2::SecurityGroupIngress").values()
    }
    to_tasks = {group: source for group, source in sources.items() if "TaskSecurityGroup" in group}

    assert len(to_tasks) == len(services(assembly))
    assert all(source == {"Fn::GetAtt": [endpoint, "GroupId"]} for source in to_tasks.values())


def test_with_api_keys_a_task_takes_tls_alone(apikey: Assembly) -> None:
    (group,) = apikey.resources("inference", "AWS::ElasticLoadBalancingV2::TargetGroup").values()
    targets = group["Properties"]
    assert (targets["Protocol"], targets["HealthCheckProtocol"], targets["Port"]) == ("HTTPS", "HTTPS", PROXY_PORT)
    assert targets["HealthCheckPath"] == facts.inference_engine("vllm-hf").health_path

    rules = apikey.resources("inference", "AWS::EC2::SecurityGroupIngress").values()
    to_tasks = [rule["Properties"] for rule in rules if "TaskSecurityGroup" in str(rule["Properties"]["GroupId"])]
    assert [(rule["FromPort"], rule["ToPort"], rule["IpProtocol"]) for rule in to_tasks] == [
        (PROXY_PORT, PROXY_PORT, "tcp")
    ]

    (service,) = services(apikey).values()
    (entrance,) = service["Properties"]["LoadBalancers"]
    assert (entrance["ContainerName"], entrance["ContainerPort"]) == (PROXY_CONTAINER, PROXY_PORT)


def test_a_model_with_copied_images_takes_its_proxy_from_the_account_too(tmp_path: Path) -> None:
    content = yaml.safe_load(environment_path("apikey").read_text(encoding="utf-8"))
    [model] = content["inference"]["models"]
    del model["image"]
    model["mirror_image"] = True
    (tmp_path / "apikey.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    mirrored = synthesize(load_environment(tmp_path / "apikey.yaml"), tmp_path / "assembly")

    containers = [
        container
        for definition in mirrored.resources("inference", "AWS::ECS::TaskDefinition").values()
        for container in definition["Properties"]["ContainerDefinitions"]
    ]
    (proxy,) = (container for container in containers if container["Name"] == PROXY_CONTAINER)
    assert "ProxyMirrorRepository" in json.dumps(proxy["Image"])
    projects = json.dumps(mirrored.resources("inference", "AWS::CodeBuild::Project"))
    assert facts.cluster_image("engine-proxy").image in projects
    assert {"LlamaMirrorCommand", "MirrorProxyCommand"} <= set(outputs(mirrored))


def test_an_api_key_never_enters_the_template(apikey: Assembly) -> None:
    text = json.dumps(apikey.template("inference"))

    assert "{{resolve:secretsmanager" not in text
    assert outputs(apikey)["ApiKeySecretArn"] in text


def test_clients_find_what_they_need_in_the_outputs(assembly: Assembly) -> None:
    described = assembly.template("inference")["Metadata"]["Slipway::Endpoint"]
    found = outputs(assembly)

    assert [model["name"] for model in described["models"]] == [model.name for model in models(assembly)]
    for model in described["models"]:
        assert model["base_url_output"] in found
        assert model["model_id_output"] in found
    for key in ("api_key_secret_output", "user_pool_output", "user_pool_client_output"):
        # The CDK leaves out what is none.
        assert key not in described or described[key] in found
    for model in models(assembly):
        assert {f"{model.slug}CurlCommand", f"{model.slug}OpenAiCommand"} <= set(found)
        assert (f"{model.slug}MirrorCommand" in found) is model.mirror_image
    has_proxy = described["authentication"] == "api_key"
    assert ("MirrorProxyCommand" in found) is (has_proxy and any(model.mirror_image for model in models(assembly)))


def test_several_models_have_base_urls_of_their_own(public: Assembly) -> None:
    urls = [json.dumps(value) for name, value in outputs(public).items() if name.endswith("BaseUrl")]

    assert len(set(urls)) == len(models(public)) > 1
    assert all(re.search(r'/v1"\]*\}*$', url) for url in urls)


def test_model_on_lustre_comes_from_the_bucket_that_is_published_to(apikey: Assembly, default: Assembly) -> None:
    def linked(assembly: Assembly) -> set[str]:
        found = assembly.resources("storage", "AWS::FSx::DataRepositoryAssociation").values()
        return {link["Properties"]["FileSystemPath"] for link in found}

    assert "/models" in linked(apikey)
    assert "/models" not in linked(default)
