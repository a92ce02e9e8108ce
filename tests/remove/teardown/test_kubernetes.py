"""A Kubernetes cluster's nodes go before its stack, and nothing that it made outlives it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from moto.eks.models import EKSBackend
from typer.testing import CliRunner, Result

from slipway.aws.account import Account
from slipway.aws.stacks import deployed_stacks
from slipway.cli import app
from slipway.errors import FailedError
from slipway.remove.teardown import kubernetes_nodes, lambda_interfaces
from slipway.remove.teardown.kubernetes_nodes import end_job_nodes, job_node_groups, job_nodes
from slipway.remove.teardown.made_by_kubernetes import Kind, made_by
from tests.remove.teardown.conftest import TOPIC, SlowTermination
from tests.remove.teardown.fakes import ENVIRONMENT, NETWORK, STACKS, TAGS, TEMPLATES, FakePrograms, write_assembly

KUBERNETES = f"slipway-{ENVIRONMENT}-kubernetes"
OWNED = {f"kubernetes.io/cluster/{KUBERNETES}": "owned"}


def destroy(assembly: Path, *options: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(app, ["destroy", "--assembly", str(assembly), *options], input=typed)


def tag_list(tags: dict[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubernetes_nodes, "POLL_SECONDS", 0)


@pytest.fixture
def cluster(account: Account) -> Account:
    """The environment's stacks, and an EKS cluster with core nodes and a node group of jobs that wants two nodes."""
    for name in (*STACKS, KUBERNETES):
        account.client("cloudformation").create_stack(StackName=name, TemplateBody=TOPIC, Tags=tag_list(TAGS))
    subnets = [subnet["SubnetId"] for subnet in account.client("ec2").describe_subnets()["Subnets"][:2]]
    account.client("eks").create_cluster(
        name=KUBERNETES, roleArn="arn:aws:iam::123456789012:role/eks", resourcesVpcConfig={"subnetIds": subnets}
    )
    for name, label in {"CoreNodes-1a2b": "core", "Trn1-3c4d": "trn1"}.items():
        account.client("eks").create_nodegroup(
            clusterName=KUBERNETES,
            nodegroupName=name,
            subnets=subnets,
            nodeRole="arn:aws:iam::123456789012:role/node",
            labels={"slipway/node-group": label},
            scalingConfig={"minSize": 0, "maxSize": 4, "desiredSize": 2},
        )
    return account


@pytest.fixture
def assembly(tmp_path: Path) -> Path:
    """The environment's cloud assembly, with the stack of the EKS cluster."""
    resource = {"Type": "AWS::EKS::Cluster", "Properties": {"Name": KUBERNETES}}
    return write_assembly(tmp_path / "with-kubernetes", {**TEMPLATES, KUBERNETES: {"Cluster": resource}})


@pytest.fixture
def programs(programs: FakePrograms, account: Account) -> FakePrograms:
    """A CDK CLI that deletes the cluster, too."""

    def delete_cluster() -> None:
        if KUBERNETES in account.client("eks").list_clusters()["clusters"]:
            for name in account.client("eks").list_nodegroups(clusterName=KUBERNETES)["nodegroups"]:
                account.client("eks").delete_nodegroup(clusterName=KUBERNETES, nodegroupName=name)
            account.client("eks").delete_cluster(name=KUBERNETES)
            account.client("cloudformation").delete_stack(StackName=KUBERNETES)

    programs.before_each = delete_cluster
    return programs


def start_nodes(account: Account, node_group: str, count: int = 2) -> list[str]:
    """Start instances with the tags that EKS gives the nodes of a node group."""
    tags = {"eks:cluster-name": KUBERNETES, "eks:nodegroup-name": node_group}
    answer = account.client("ec2").run_instances(
        ImageId="ami-12c6146b",
        InstanceType="trn1.32xlarge",
        MinCount=count,
        MaxCount=count,
        TagSpecifications=[{"ResourceType": "instance", "Tags": tag_list(tags)}],
    )
    return [instance["InstanceId"] for instance in answer["Instances"]]


@pytest.fixture
def scaling(account: Account, slow_termination: SlowTermination, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What EKS does when a group shall have no node: it terminates them, slowly. The groups that were told to."""
    told: list[str] = []
    update = EKSBackend.update_nodegroup_config

    def terminate(backend: EKSBackend, **parameters: Any) -> Any:
        told.append(parameters["nodegroup_name"])
        nodes = [node.instance_id for node in job_nodes(account, KUBERNETES)]
        if nodes:
            account.client("ec2").terminate_instances(InstanceIds=nodes)
        return update(backend, **parameters)

    monkeypatch.setattr(EKSBackend, "update_nodegroup_config", terminate)
    monkeypatch.setattr("slipway.remove.teardown.kubernetes_nodes.time.sleep", slow_termination.poll)
    return told


def load_balancer(account: Account) -> str:
    subnets = [subnet["SubnetId"] for subnet in account.client("ec2").describe_subnets()["Subnets"][:2]]
    tags = tag_list({"elbv2.k8s.aws/cluster": KUBERNETES})
    answer = account.client("elbv2").create_load_balancer(Name="tensorboard", Subnets=subnets, Tags=tags)
    arn: str = answer["LoadBalancers"][0]["LoadBalancerArn"]
    return arn


def classic_load_balancer(account: Account) -> str:
    listener = {"Protocol": "tcp", "LoadBalancerPort": 80, "InstancePort": 80}
    account.client("elb").create_load_balancer(
        LoadBalancerName="classic", Listeners=[listener], AvailabilityZones=["us-west-2a"], Tags=tag_list(OWNED)
    )
    return "classic"


def volume(account: Account) -> str:
    tags = tag_list({**OWNED, "CSIVolumeName": "pvc-1"})
    specification = {"ResourceType": "volume", "Tags": tags}
    answer = account.client("ec2").create_volume(
        AvailabilityZone="us-west-2a", Size=10, TagSpecifications=[specification]
    )
    id_: str = answer["VolumeId"]
    return id_


def network_interface(account: Account) -> str:
    [subnet] = account.client("ec2").describe_subnets()["Subnets"][:1]
    specification = {
        "ResourceType": "network-interface",
        "Tags": tag_list({"cluster.k8s.amazonaws.com/name": KUBERNETES}),
    }
    answer = account.client("ec2").create_network_interface(
        SubnetId=subnet["SubnetId"], TagSpecifications=[specification]
    )
    id_: str = answer["NetworkInterface"]["NetworkInterfaceId"]
    return id_


def security_group(account: Account) -> str:
    specification = {"ResourceType": "security-group", "Tags": tag_list(OWNED)}
    [vpc] = account.client("ec2").describe_vpcs()["Vpcs"][:1]
    answer = account.client("ec2").create_security_group(
        GroupName="k8s-elb-1", Description="of a load balancer", VpcId=vpc["VpcId"], TagSpecifications=[specification]
    )
    id_: str = answer["GroupId"]
    return id_


MAKERS: dict[Kind, Callable[[Account], str]] = {
    "load balancer": load_balancer,
    "classic load balancer": classic_load_balancer,
    "volume": volume,
    "network interface": network_interface,
    "security group": security_group,
}


def test_nodes_of_jobs_go_before_stacks_and_core_nodes_stay(
    cluster: Account, assembly: Path, programs: FakePrograms, scaling: list[str]
) -> None:
    nodes, core = start_nodes(cluster, "Trn1-3c4d"), start_nodes(cluster, "CoreNodes-1a2b", 1)
    seen: list[dict[str, str]] = []
    delete_cluster = programs.before_each

    def look() -> None:
        answer = cluster.client("ec2").describe_instances(InstanceIds=[*nodes, *core])
        rows = [row for reservation in answer["Reservations"] for row in reservation["Instances"]]
        seen.append({row["InstanceId"]: row["State"]["Name"] for row in rows})
        delete_cluster()

    programs.before_each = look

    result = destroy(assembly, "--yes", "--with-running-jobs")

    assert result.exit_code == 0, result.output
    assert f"{KUBERNETES}: 2 nodes shutting-down" in result.output
    assert seen == [{**dict.fromkeys(nodes, "terminated"), **dict.fromkeys(core, "running")}]
    assert set(scaling) == {"Trn1-3c4d"}
    assert deployed_stacks(cluster.client("cloudformation")) == {}


def test_running_nodes_are_named_and_refused(cluster: Account, assembly: Path, programs: FakePrograms) -> None:
    start_nodes(cluster, "Trn1-3c4d")
    start_nodes(cluster, "CoreNodes-1a2b", 1)

    result = destroy(assembly, "--yes")

    assert result.exit_code == 2
    assert f"{KUBERNETES}, queue trn1: 2 nodes running" in result.output
    assert "queue core" not in result.output
    assert job_node_groups(cluster, KUBERNETES)[0].wanted == 2


def test_a_node_that_the_autoscaler_starts_meanwhile_goes_too(
    cluster: Account, scaling: list[str], slow_termination: SlowTermination, monkeypatch: pytest.MonkeyPatch
) -> None:
    polls: list[float] = []

    def poll(seconds: float) -> None:
        slow_termination.poll(seconds)
        polls.append(seconds)
        if len(polls) == 1:
            start_nodes(cluster, "Trn1-3c4d", 1)
            cluster.client("eks").update_nodegroup_config(
                clusterName=KUBERNETES,
                nodegroupName="Trn1-3c4d",
                scalingConfig={"minSize": 0, "maxSize": 4, "desiredSize": 1},
            )

    monkeypatch.setattr("slipway.remove.teardown.kubernetes_nodes.time.sleep", poll)
    start_nodes(cluster, "Trn1-3c4d")

    end_job_nodes(cluster, KUBERNETES, timeout_seconds=60, tell=lambda _line: None)

    assert job_nodes(cluster, KUBERNETES) == []
    assert job_node_groups(cluster, KUBERNETES)[0].wanted == 0


def test_no_node_is_launched_any_more(cluster: Account) -> None:
    [group] = job_node_groups(cluster, KUBERNETES)
    [name] = group.auto_scaling_groups
    cluster.client("autoscaling").create_launch_configuration(
        LaunchConfigurationName="nodes", ImageId="ami-12c6146b", InstanceType="trn1.32xlarge"
    )
    cluster.client("autoscaling").create_auto_scaling_group(
        AutoScalingGroupName=name,
        LaunchConfigurationName="nodes",
        MinSize=0,
        MaxSize=4,
        AvailabilityZones=["us-west-2a"],
    )

    end_job_nodes(cluster, KUBERNETES, timeout_seconds=60, tell=lambda _line: None)

    [row] = cluster.client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=[name])[
        "AutoScalingGroups"
    ]
    assert [process["ProcessName"] for process in row["SuspendedProcesses"]] == ["Launch"]


def test_nodes_that_do_not_end_are_told_and_no_stack_is_deleted(cluster: Account) -> None:
    start_nodes(cluster, "Trn1-3c4d", 1)

    with pytest.raises(FailedError, match=r"still has 1 node running for jobs\. No stack was deleted"):
        end_job_nodes(cluster, KUBERNETES, timeout_seconds=0, tell=lambda _line: None)


@pytest.mark.parametrize("kind", MAKERS)
def test_what_a_cluster_made_is_found_and_what_others_made_is_not(cluster: Account, kind: Kind) -> None:
    before = made_by(cluster, KUBERNETES)
    id_ = MAKERS[kind](cluster)

    assert before == []
    assert [(made.kind, made.id) for made in made_by(cluster, KUBERNETES)] == [(kind, id_)]
    assert made_by(cluster, "another") == []


@pytest.mark.parametrize("kind", ["load balancer", "classic load balancer", "volume"])
def test_what_would_outlive_the_cluster_is_refused_while_it_stands(
    cluster: Account, assembly: Path, programs: FakePrograms, kind: Kind
) -> None:
    id_ = MAKERS[kind](cluster)

    result = destroy(assembly, "--yes")

    assert result.exit_code == 2
    assert f"{kind} {id_} was made by the Kubernetes cluster {KUBERNETES}" in result.output
    assert "kubectl get service,persistentvolumeclaim" in result.output
    assert programs.attempts == 0


def test_after_the_cluster_the_network_and_its_last_words_are_swept(
    cluster: Account, assembly: Path, programs: FakePrograms
) -> None:
    network_interface(cluster)
    security_group(cluster)
    delete_cluster = programs.before_each

    def write_last_words() -> None:
        delete_cluster()
        cluster.client("logs").create_log_group(logGroupName=f"/aws/eks/{KUBERNETES}/cluster")

    programs.before_each = write_last_words

    result = destroy(assembly, "--yes")

    assert result.exit_code == 0, result.output
    assert result.output.count("which the Kubernetes cluster left: deleted") == 2
    assert f"log group /aws/eks/{KUBERNETES}/cluster deleted" in result.output
    assert made_by(cluster, KUBERNETES) == []
    assert cluster.client("logs").describe_log_groups()["logGroups"] == []


def test_a_load_balancer_of_a_cluster_that_is_gone_goes_before_the_network(
    cluster: Account, assembly: Path, programs: FakePrograms
) -> None:
    for name in cluster.client("eks").list_nodegroups(clusterName=KUBERNETES)["nodegroups"]:
        cluster.client("eks").delete_nodegroup(clusterName=KUBERNETES, nodegroupName=name)
    cluster.client("eks").delete_cluster(name=KUBERNETES)
    cluster.client("cloudformation").delete_stack(StackName=KUBERNETES)
    load_balancer(cluster)
    deployed: list[int] = []
    programs.before_each = lambda: deployed.append(len(made_by(cluster, KUBERNETES)))

    result = destroy(assembly, "--yes")

    assert result.exit_code == 0, result.output
    assert deployed == [0]
    assert NETWORK not in deployed_stacks(cluster.client("cloudformation"))


def lambda_interface(account: Account) -> str:
    """An interface that Lambda has made for a function of the environment, in a VPC that need not be its own."""
    vpc = account.client("ec2").create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    group = account.client("ec2").create_security_group(
        GroupName="functions",
        Description="Functions",
        VpcId=vpc,
        TagSpecifications=[{"ResourceType": "security-group", "Tags": tag_list(TAGS)}],
    )["GroupId"]
    subnet = account.client("ec2").create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"]
    answer = account.client("ec2").create_network_interface(
        SubnetId=subnet, Groups=[group], Description=f"AWS Lambda VPC ENI-{KUBERNETES}-Kubectl"
    )
    # Somebody else's function, in the same subnet.
    account.client("ec2").create_network_interface(SubnetId=subnet, Description="AWS Lambda VPC ENI-others")
    id_: str = answer["NetworkInterface"]["NetworkInterfaceId"]
    return id_


def test_interfaces_of_functions_go_as_soon_as_lambda_lets_them(
    cluster: Account, assembly: Path, programs: FakePrograms, monkeypatch: pytest.MonkeyPatch
) -> None:
    interface = lambda_interface(cluster)
    states = iter(["in-use", "in-use", "available"])
    asked = lambda_interfaces.lambda_interfaces
    monkeypatch.setattr(
        lambda_interfaces,
        "lambda_interfaces",
        lambda account, environment: {id_: next(states) for id_ in asked(account, environment)},
    )
    monkeypatch.setattr(lambda_interfaces, "POLL_SECONDS", 0)
    # The network's stack fails on its subnet.
    programs.failures = 1

    result = destroy(assembly, "--yes")

    assert result.exit_code == 0, result.output
    assert result.output.count("waiting for Lambda to let go of network interfaces: 1") == 3
    assert interface not in asked(cluster, ENVIRONMENT)
    assert programs.attempts == 2


def test_interfaces_that_lambda_keeps_are_waited_for_no_longer_than_told(cluster: Account) -> None:
    lambda_interface(cluster)
    said: list[str] = []
    cluster.client("ec2").meta.events.register(
        "before-call.ec2.DeleteNetworkInterface", lambda **_: pytest.fail("an interface in use is left alone")
    )

    def in_use(**parameters: Any) -> None:
        for row in parameters["parsed"].get("NetworkInterfaces", []):
            row["Status"] = "in-use"

    cluster.client("ec2").meta.events.register("after-call.ec2.DescribeNetworkInterfaces", in_use)

    lambda_interfaces.release_lambda_interfaces(cluster, ENVIRONMENT, timeout_seconds=0, tell=said.append)

    assert said == []


def test_a_volume_that_is_left_holds_data_and_is_only_told(
    cluster: Account, assembly: Path, programs: FakePrograms
) -> None:
    delete_cluster = programs.before_each
    made: list[str] = []

    def leave_a_volume() -> None:
        delete_cluster()
        made.append(volume(cluster))

    programs.before_each = leave_a_volume

    result = destroy(assembly, "--yes")

    assert result.exit_code == 1
    assert f"NOT DELETED: volume {made[0]}" in result.output
    assert f"aws ec2 delete-volume --region us-west-2 --volume-id {made[0]}" in result.output
    assert cluster.client("ec2").describe_volumes(VolumeIds=made)["Volumes"]
