"""Who reaches the file systems: members of their client groups, and not whatever else has an address in the VPC."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.assembly import Assembly
from tests.conftest import AssemblyFactory

LUSTRE = {("tcp", 988, 988), ("tcp", 1018, 1023)}
NFS = {(protocol, *ports) for protocol in ("tcp", "udp") for ports in ((111, 111), (2049, 2049), (20001, 20003))}
WHERE = {"Lustre": LUSTRE, "Home": NFS}

Rule = tuple[str, int, int]


def groups(assembly: Assembly, name: str) -> dict[str, Any]:
    """The properties of a file system's groups: `servers` and `clients`."""
    found = {}
    for logical_id, resource in assembly.resources("storage", "AWS::EC2::SecurityGroup").items():
        if logical_id.startswith(name):
            found["clients" if "Client" in logical_id else "servers"] = (logical_id, resource["Properties"])
    return found


def rules(assembly: Assembly, group: str, direction: str) -> Iterator[tuple[Rule, str]]:
    """A group's rules with the other side: the logical id of a group, or a range of addresses."""
    own = assembly.resources("storage", "AWS::EC2::SecurityGroup")[group]["Properties"]
    apart = assembly.resources("storage", f"AWS::EC2::SecurityGroup{direction}").values()
    mine = [rule["Properties"] for rule in apart if rule["Properties"]["GroupId"]["Fn::GetAtt"][0] == group]
    other = {"Ingress": "SourceSecurityGroupId", "Egress": "DestinationSecurityGroupId"}[direction]
    for rule in (*own.get(f"SecurityGroup{direction}", ()), *mine):
        peer = rule[other]["Fn::GetAtt"][0] if other in rule else rule["CidrIp"]
        if peer != "255.255.255.255/32":
            yield (rule["IpProtocol"], rule["FromPort"], rule["ToPort"]), peer


@pytest.mark.parametrize("name", WHERE)
def test_nobody_but_a_member_of_the_client_group_reaches_a_file_system(each_own_storage: Assembly, name: str) -> None:
    found = groups(each_own_storage, name)
    if not found:
        assert (name, each_own_storage.environment.storage.home) == ("Home", None)
        return
    (servers, _), (clients, _) = found["servers"], found["clients"]
    among_servers = {(("tcp", 988, 1023), servers)} if name == "Lustre" else set()
    to_clients = {(rule, clients) for rule in WHERE[name]}
    to_servers = {(rule, servers) for rule in WHERE[name]}
    # Lustre's servers connect to their clients too, to take back locks.
    both_ways = name == "Lustre"

    assert set(rules(each_own_storage, servers, "Ingress")) == to_clients | among_servers
    assert set(rules(each_own_storage, servers, "Egress")) == (to_clients | among_servers if both_ways else set())
    assert set(rules(each_own_storage, clients, "Egress")) == to_servers
    assert set(rules(each_own_storage, clients, "Ingress")) == (to_servers if both_ways else set())


def test_every_node_of_the_cluster_is_a_client(each_slurm_assembly: Assembly) -> None:
    cluster = each_slurm_assembly.resource("training", "Custom::PclusterCluster")["ClusterConfiguration"]
    pools = cluster.get("LoginNodes", {}).get("Pools", [])
    nodes = [cluster["HeadNode"], *cluster["Scheduling"]["SlurmQueues"], *pools]
    wanted = [name for name in WHERE if groups(each_slurm_assembly, name)]

    for node in nodes:
        member = json.dumps(node["Networking"]["AdditionalSecurityGroups"])
        assert [name for name in wanted if f"{name}ClientSecurityGroup" in member] == wanted


def test_every_node_of_kubernetes_is_a_client_of_lustre(assemblies: AssemblyFactory) -> None:
    templates = assemblies("kubernetes").resources("kubernetes", "AWS::EC2::LaunchTemplate")

    assert len(templates) > 1
    for template in templates.values():
        data = template["Properties"]["LaunchTemplateData"]
        members = [data["SecurityGroupIds"]] if "SecurityGroupIds" in data else []
        members += [interface["Groups"] for interface in data.get("NetworkInterfaces", [])]
        assert members
        for groups_of_one in members:
            assert "ClusterSecurityGroupId" in json.dumps(groups_of_one)
            assert "LustreClientSecurityGroup" in json.dumps(groups_of_one)
