"""An EKS cluster of its own: who reaches it, what runs in it, and in which order it comes and goes."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from slipway import facts
from slipway.config.rules.kubernetes_addresses import NODE_ADDRESSES
from tests.kubernetes_cluster_stack import ADMINISTRATORS, NAME, Synthesized, cluster_stack, synthesize

VERSION = facts.kubernetes_version("1.35")
BEFORE_NODES = {"eks-pod-identity-agent", "vpc-cni", "kube-proxy", "eks-node-monitoring-agent"}


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """A cluster that only the VPC reaches."""
    return synthesize(cluster_stack(tmp_path_factory.mktemp("private")))


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """A cluster that one range of the internet reaches too, without a named administrator."""
    return synthesize(
        cluster_stack(tmp_path_factory.mktemp("public"), public_access_cidrs=("203.0.113.0/24",), administrator_arns=())
    )


def add_ons(template: Synthesized) -> Mapping[str, Mapping[str, Any]]:
    """The add-ons by name, each with its logical id as `Id`."""
    return {
        resource["Properties"]["AddonName"]: {**resource, "Id": logical_id}
        for logical_id, resource in template.resources("EKS::Addon").items()
    }


def references(value: Any) -> Iterator[str]:
    """Logical ids that a part of a template refers to."""
    match value:
        case {"Ref": name}:
            yield name
        case {"Fn::GetAtt": [name, _]}:
            yield name
        case dict():
            for part in value.values():
                yield from references(part)
        case list():
            for part in value:
                yield from references(part)


def waits_for(template: Synthesized, logical_id: str) -> set[str]:
    """All resources that are made before this one, and deleted after it."""
    found: set[str] = set()
    open_ids = [logical_id]
    while open_ids:
        resource = template.template["Resources"].get(open_ids.pop(), {})
        new = {*references(resource.get("Properties", {})), *resource.get("DependsOn", [])} - found
        found |= new
        open_ids += new
    return found


def configuration(add_on: Mapping[str, Any]) -> Any:
    """What an add-on is told beyond its own defaults."""
    return json.loads(add_on["Properties"].get("ConfigurationValues", "{}"))


def test_only_the_vpc_reaches_the_api_unless_ranges_are_named(private: Synthesized, public: Synthesized) -> None:
    inside = private.one("EKS::Cluster")[1]["Properties"]["ResourcesVpcConfig"]
    outside = public.one("EKS::Cluster")[1]["Properties"]["ResourcesVpcConfig"]

    assert (inside["EndpointPrivateAccess"], inside["EndpointPublicAccess"]) == (True, False)
    assert (outside["EndpointPrivateAccess"], outside["EndpointPublicAccess"]) == (True, True)
    assert outside["PublicAccessCidrs"] == ["203.0.113.0/24"]


def test_administrators_have_access_and_the_creator_has_none(private: Synthesized) -> None:
    access = private.one("EKS::Cluster")[1]["Properties"]["AccessConfig"]
    entries = [entry["Properties"] for entry in private.resources("EKS::AccessEntry").values()]
    named = {entry["PrincipalArn"] for entry in entries if isinstance(entry["PrincipalArn"], str)}

    assert access == {"AuthenticationMode": "API", "BootstrapClusterCreatorAdminPermissions": False}
    # Two roles of one name in two accounts are two administrators.
    assert named == set(ADMINISTRATORS)
    assert len(entries) == len(ADMINISTRATORS) + 1
    assert all("AmazonEKSClusterAdminPolicy" in json.dumps(entry["AccessPolicies"]) for entry in entries)


def test_without_administrators_only_the_cdks_function_has_access(public: Synthesized) -> None:
    _, entry = public.one("EKS::AccessEntry")

    assert "KubectlProviderHandler" in json.dumps(entry["Properties"]["PrincipalArn"])


def test_api_data_is_encrypted_with_a_key_that_goes_with_the_cluster(private: Synthesized) -> None:
    key_id, key = private.one("KMS::Key")
    _, cluster = private.one("EKS::Cluster")

    # Without the deprecated list of what is encrypted.
    assert cluster["Properties"]["EncryptionConfig"] == [{"Provider": {"KeyArn": {"Fn::GetAtt": [key_id, "Arn"]}}}]
    assert key["Properties"]["EnableKeyRotation"] is True
    assert key["DeletionPolicy"] == "Delete"


def test_the_version_does_not_cost_more_when_its_standard_support_ends(private: Synthesized) -> None:
    properties = private.one("EKS::Cluster")[1]["Properties"]

    assert properties["Version"] == "1.35"
    assert properties["UpgradePolicy"] == {"SupportType": "STANDARD"}


def test_every_log_of_the_control_plane_is_kept_as_long_as_asked(private: Synthesized) -> None:
    cluster_id, cluster = private.one("EKS::Cluster")
    types = {entry["Type"] for entry in cluster["Properties"]["Logging"]["ClusterLogging"]["EnabledTypes"]}
    group_id = next(
        logical_id
        for logical_id, group in private.resources("Logs::LogGroup").items()
        if group["Properties"].get("LogGroupName") == f"/aws/eks/{NAME}/cluster"
    )

    assert types == {"api", "audit", "authenticator", "controllerManager", "scheduler"}
    assert group_id in waits_for(private, cluster_id)


def test_every_log_group_goes_with_the_stack(private: Synthesized) -> None:
    groups = private.resources("Logs::LogGroup").values()

    assert {group["DeletionPolicy"] for group in groups} == {"Delete"}
    assert {group["Properties"]["RetentionInDays"] for group in groups} == {30}
    assert {group["Properties"].get("LogGroupName") for group in groups} == {
        None,
        f"/aws/eks/{NAME}/cluster",
        *(f"/aws/containerinsights/{NAME}/{kind}" for kind in ("application", "dataplane", "host", "performance")),
    }


def test_the_cdks_functions_write_to_groups_that_outlive_them(private: Synthesized) -> None:
    functions = private.resources("Lambda::Function")
    groups = {
        logical_id: function["Properties"]["LoggingConfig"]["LogGroup"]["Ref"]
        for logical_id, function in functions.items()
    }

    assert len(groups) == 2
    assert all(group in waits_for(private, function) for function, group in groups.items())
    assert set(groups.values()) <= set(private.resources("Logs::LogGroup"))


@pytest.mark.parametrize("version", facts.kubernetes_versions())
def test_every_version_has_the_add_ons_of_its_facts_and_a_kubectl_that_speaks_to_it(
    version: str, tmp_path: Path
) -> None:
    made = synthesize(cluster_stack(tmp_path, version=version))
    installed = {name: add_on["Properties"]["AddonVersion"] for name, add_on in add_ons(made).items()}
    layers = json.dumps([layer["Properties"] for layer in made.resources("Lambda::LayerVersion").values()])
    kubectl = re.search(r"kubectl 1\.([0-9]+)\.", layers)

    assert installed == dict(facts.kubernetes_version(version).add_ons)
    assert made.one("EKS::Cluster")[1]["Properties"]["BootstrapSelfManagedAddons"] is False
    # Kubernetes supports kubectl one minor version up and down.
    assert kubectl
    assert abs(int(kubectl[1]) - int(version.split(".")[1])) <= 1


def test_nodes_come_after_what_makes_them_ready_and_before_what_runs_on_them(private: Synthesized) -> None:
    nodes, _ = private.one("EKS::Nodegroup")
    ids = {name: add_on["Id"] for name, add_on in add_ons(private).items()}
    before_nodes = {name for name, logical_id in ids.items() if logical_id in waits_for(private, nodes)}
    after_nodes = {name for name, logical_id in ids.items() if nodes in waits_for(private, logical_id)}

    assert before_nodes == BEFORE_NODES
    assert after_nodes == set(VERSION.add_ons) - BEFORE_NODES
    # Without its agent vpc-cni has no rights, and without vpc-cni no node becomes ready.
    assert ids["eks-pod-identity-agent"] in waits_for(private, ids["vpc-cni"])


def test_network_policies_are_enforced(private: Synthesized) -> None:
    assert configuration(add_ons(private)["vpc-cni"])["enableNetworkPolicy"] == "true"


def test_a_node_takes_the_addresses_that_the_rules_count(private: Synthesized) -> None:
    targets = configuration(add_ons(private)["vpc-cni"])["env"]
    assert targets == {"MINIMUM_IP_TARGET": str(NODE_ADDRESSES - 1), "WARM_IP_TARGET": "2"}


def test_the_cloudwatch_agent_measures_nodes_and_traces_no_process(private: Synthesized) -> None:
    wanted = configuration(add_ons(private)["amazon-cloudwatch-observability"])

    assert wanted["manager"]["applicationSignals"]["autoMonitor"] == {"monitorAllServices": False}
    assert wanted["agent"]["config"]["logs"]["metrics_collected"] == {
        "kubernetes": {"enhanced_container_insights": True}
    }


@pytest.mark.parametrize(
    ("add_on", "namespace", "service_account"),
    [
        ("vpc-cni", "kube-system", "aws-node"),
        ("amazon-cloudwatch-observability", "amazon-cloudwatch", "cloudwatch-agent"),
    ],
)
def test_the_role_of_an_add_on_is_for_its_service_account_in_this_cluster(
    private: Synthesized, add_on: str, namespace: str, service_account: str
) -> None:
    cluster_id, _ = private.one("EKS::Cluster")
    (association,) = add_ons(private)[add_on]["Properties"]["PodIdentityAssociations"]
    role = private.resources("IAM::Role")[association["RoleArn"]["Fn::GetAtt"][0]]
    (statement,) = role["Properties"]["AssumeRolePolicyDocument"]["Statement"]

    assert association["ServiceAccount"] == service_account
    assert statement["Principal"] == {"Service": "pods.eks.amazonaws.com"}
    assert sorted(statement["Action"]) == ["sts:AssumeRole", "sts:TagSession"]
    assert statement["Condition"] == {
        "StringEquals": {
            "aws:RequestTag/eks-cluster-arn": {"Fn::GetAtt": [cluster_id, "Arn"]},
            "aws:RequestTag/kubernetes-namespace": namespace,
            "aws:RequestTag/kubernetes-service-account": service_account,
        }
    }


def test_agents_cannot_make_a_log_group_that_the_stack_does_not_own(private: Synthesized) -> None:
    actions = {
        action
        for policy in private.resources("IAM::ManagedPolicy").values()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        for action in statement["Action"]
    }
    add_on = add_ons(private)["amazon-cloudwatch-observability"]["Id"]
    insights = {
        logical_id
        for logical_id, group in private.resources("Logs::LogGroup").items()
        if "containerinsights" in group["Properties"].get("LogGroupName", "")
    }

    assert {"logs:CreateLogStream", "logs:PutLogEvents"} <= actions
    assert "logs:CreateLogGroup" not in actions
    assert len(insights) == 4
    assert insights <= waits_for(private, add_on)


def test_core_nodes_are_as_many_as_wanted_in_every_subnet(private: Synthesized) -> None:
    _, nodes = private.one("EKS::Nodegroup")
    properties = nodes["Properties"]

    assert properties["ScalingConfig"] == {"DesiredSize": 2, "MinSize": 2, "MaxSize": 4}
    assert properties["Subnets"] == private.one("EKS::Cluster")[1]["Properties"]["ResourcesVpcConfig"]["SubnetIds"]
    assert len(properties["Subnets"]) == 2
    assert properties["AmiType"] == "AL2023_x86_64_STANDARD"
    # EKS refuses a newer image for a group whose version stays.
    assert (properties["Version"], properties["ReleaseVersion"]) == ("1.35", VERSION.newest_ami_release)
    assert properties["Labels"] == {"slipway/node-group": "core"}
    assert properties["NodeRepairConfig"] == {"Enabled": True}
    assert "Taints" not in properties


def test_core_nodes_keep_their_role_from_pods_and_their_disk_encrypted(private: Synthesized) -> None:
    _, template = private.one("EC2::LaunchTemplate")
    data = template["Properties"]["LaunchTemplateData"]
    (disk,) = data["BlockDeviceMappings"]

    assert data["InstanceType"] == "m6i.xlarge"
    assert data["MetadataOptions"] == {"HttpTokens": "required", "HttpPutResponseHopLimit": 1}
    assert disk["Ebs"]["Encrypted"] is True
    for specification in data["TagSpecifications"]:
        assert {"Key": "slipway:environment", "Value": "test"} in specification["Tags"]
    assert {specification["ResourceType"] for specification in data["TagSpecifications"]} == {"instance", "volume"}


def test_nodes_hold_no_rights_of_the_network_add_on(private: Synthesized) -> None:
    role_id = private.one("EKS::Nodegroup")[1]["Properties"]["NodeRole"]["Fn::GetAtt"][0]
    policies = json.dumps(private.resources("IAM::Role")[role_id]["Properties"]["ManagedPolicyArns"])

    assert "AmazonEKS_CNI_Policy" not in policies
    assert "SessionManagerPolicy" in policies


def test_the_network_is_the_same_with_a_cluster_in_it(private: Synthesized) -> None:
    assert "kubernetes.io" not in json.dumps(private.network)


def test_two_syntheses_are_the_same(private: Synthesized, tmp_path: Path) -> None:
    assert synthesize(cluster_stack(tmp_path)).template == private.template


def test_kubectl_is_loaded_only_for_a_cluster() -> None:
    look = "import sys, neuron_constructs.kubernetes.cluster; print('aws_cdk.lambda_layer_kubectl_v35' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)

    assert run.stdout.strip() == "False"


def test_roles_of_the_functions_in_the_vpc_outlive_the_cluster(private: Synthesized) -> None:
    cluster_id, cluster = private.one("EKS::Cluster")
    functions = [function["Properties"] for function in private.resources("Lambda::Function").values()]
    roles = {function["Role"]["Fn::GetAtt"][0] for function in functions if "VpcConfig" in function}

    assert len(roles) == 2
    assert roles <= set(cluster["DependsOn"])
    assert all(cluster_id not in waits_for(private, role) for role in roles)


def test_functions_reach_the_api_by_a_group_of_their_own_as_long_as_there_is_one(private: Synthesized) -> None:
    _, cluster = private.one("EKS::Cluster")
    rule_id, rule = private.one("EC2::SecurityGroupIngress")
    functions = [function["Properties"] for function in private.resources("Lambda::Function").values()]
    groups = [group for function in functions for group in function.get("VpcConfig", {}).get("SecurityGroupIds", [])]

    assert groups == [rule["Properties"]["SourceSecurityGroupId"]] * 2
    assert cluster["Properties"]["ResourcesVpcConfig"]["SecurityGroupIds"] == [rule["Properties"]["GroupId"]]
    assert (rule["Properties"]["FromPort"], rule["Properties"]["ToPort"]) == (443, 443)
    # Made before the cluster, gone after it: all that the functions remove is removed by then.
    assert rule_id in cluster["DependsOn"]
