"""The accounting database: private, reachable by the head node alone, its password nowhere but in the secret."""

import json
import re
from typing import Any

import pytest

from slipway import facts
from tests.assembly import Assembly


@pytest.fixture(params=["team", "directory"])
def assembly(request: pytest.FixtureRequest) -> Assembly:
    """An environment with accounting: one that is ephemeral, one that is persistent."""
    found: Assembly = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def instance(assembly: Assembly) -> Any:
    """The properties of the database."""
    return assembly.resource("storage", "AWS::RDS::DBInstance")


@pytest.fixture
def cluster(assembly: Assembly) -> Any:
    """The cluster's configuration."""
    return assembly.resource("training", "Custom::PclusterCluster")["ClusterConfiguration"]


def rules_of_the_database(assembly: Assembly, resource_type: str) -> list[Any]:
    """The security group rules of one type around the database."""
    rules = assembly.resources("storage", resource_type)
    return [rule["Properties"] for logical_id, rule in rules.items() if logical_id.startswith("Accounting")]


def test_the_database_is_what_the_environment_file_asks_for(assembly: Assembly, instance: Any) -> None:
    wanted = assembly.environment.storage.accounting_database
    assert wanted is not None

    assert (instance["Engine"], instance["EngineVersion"]) == ("mysql", facts.database_engine("mysql").version)
    assert instance["DBInstanceClass"] == wanted.instance_type
    assert instance["AllocatedStorage"] == str(wanted.storage_gib)
    assert instance["MultiAZ"] is wanted.multi_az
    assert instance["BackupRetentionPeriod"] == wanted.backup_retention_days


def test_the_database_is_private_encrypted_and_never_bills_extended_support(instance: Any) -> None:
    assert instance["PubliclyAccessible"] is False
    assert (instance["StorageEncrypted"], instance["StorageType"]) == (True, "gp3")
    assert instance["EngineLifecycleSupport"] == "open-source-rds-extended-support-disabled"


def test_slurmdbd_must_use_tls_and_may_wait_for_its_locks(assembly: Assembly) -> None:
    group = assembly.resource("storage", "AWS::RDS::DBParameterGroup")

    assert group["Family"] == "mysql8.4"
    assert group["Parameters"] == {"innodb_lock_wait_timeout": "900", "require_secure_transport": "1"}


def test_the_database_may_stand_in_two_zones(assembly: Assembly) -> None:
    subnets = assembly.resource("storage", "AWS::RDS::DBSubnetGroup")["SubnetIds"]

    assert len(subnets) == 1 + len(assembly.environment.network.other_availability_zone_ids)
    assert all("PrivateSubnet" in json.dumps(subnet) for subnet in subnets)


def test_the_password_is_plain_text_without_characters_that_slurmdbd_conf_or_rds_refuse(assembly: Assembly) -> None:
    secret = assembly.resource("storage", "AWS::SecretsManager::Secret")["GenerateSecretString"]

    # SecretStringTemplate would make it JSON, and the JSON the password.
    assert secret == {"ExcludePunctuation": True, "PasswordLength": 32}


def test_the_template_holds_a_reference_to_the_password_only(instance: Any, assembly: Assembly) -> None:
    parts = instance["MasterUserPassword"]["Fn::Join"][1]

    assert parts[0] == "{{resolve:secretsmanager:"
    assert parts[2] == ":SecretString:::}}"
    for template in assembly.templates().values():
        assert not re.search(r'"(MasterUserPassword|SecretString)": "', json.dumps(template))


def test_only_the_head_nodes_group_reaches_the_port_of_mysql(assembly: Assembly, cluster: Any) -> None:
    (ingress,) = rules_of_the_database(assembly, "AWS::EC2::SecurityGroupIngress")
    (egress,) = rules_of_the_database(assembly, "AWS::EC2::SecurityGroupEgress")

    for rule in (ingress, egress):
        assert (rule["IpProtocol"], rule["FromPort"], rule["ToPort"]) == ("tcp", 3306, 3306)
    assert ingress["SourceSecurityGroupId"] == egress["GroupId"]
    assert egress["DestinationSecurityGroupId"] == ingress["GroupId"]
    (client,) = (
        group
        for group in cluster["HeadNode"]["Networking"]["AdditionalSecurityGroups"]
        if "AccountingClientSecurityGroup" in json.dumps(group)
    )
    others = [*cluster["Scheduling"]["SlurmQueues"], *cluster["LoginNodes"]["Pools"]]
    assert not any(client in node["Networking"]["AdditionalSecurityGroups"] for node in others)


def test_no_group_of_the_database_keeps_the_rule_that_lets_everything_out(assembly: Assembly) -> None:
    groups = {
        logical_id: resource["Properties"]
        for logical_id, resource in assembly.resources("storage", "AWS::EC2::SecurityGroup").items()
        if logical_id.startswith("Accounting")
    }

    assert len(groups) == 2
    for group in groups.values():
        assert [rule["CidrIp"] for rule in group["SecurityGroupEgress"]] == ["255.255.255.255/32"]


def test_parallelcluster_gets_host_and_port_without_a_scheme(cluster: Any) -> None:
    database = cluster["Scheduling"]["SlurmSettings"]["Database"]
    host, port = database["Uri"]["Fn::Join"][1]

    assert "EndpointAddress" in json.dumps(host)
    assert port == ":3306"
    assert database["UserName"] == "slurm"


def test_without_accounting_there_is_neither_database_nor_secret(default: Assembly) -> None:
    types = {resource["Type"] for resource in default.template("storage")["Resources"].values()}

    assert not {name for name in types if name.startswith(("AWS::RDS", "AWS::SecretsManager"))}
