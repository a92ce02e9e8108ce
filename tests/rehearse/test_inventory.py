import os
from collections.abc import Iterator

import boto3
import pytest
from moto.server import ThreadedMotoServer

from slipway.rehearse.inventory import InventoryError, added, rows, take_inventory
from slipway.rehearse.isolation import ACCOUNT, NotLoopbackError, emulated_account, only_variables

REGION = "us-west-2"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    address = f"http://127.0.0.1:{server.get_host_and_port()[1]}"
    with only_variables({"PATH": os.environ["PATH"], **emulated_account(address, REGION)}):
        yield address
    server.stop()


def test_every_row_is_answered_and_new_things_are_seen(endpoint: str) -> None:
    before = take_inventory(endpoint, REGION, ACCOUNT)
    boto3.client("s3").create_bucket(Bucket="models", CreateBucketConfiguration={"LocationConstraint": REGION})
    ecs = boto3.client("ecs")
    ecs.create_cluster(clusterName="endpoint")
    engine = {"name": "engine", "image": "tgi", "memory": 1024}
    ecs.register_task_definition(family="model", containerDefinitions=[engine])
    ecs.create_service(cluster="endpoint", serviceName="model", taskDefinition="model", desiredCount=0)
    after = take_inventory(endpoint, REGION, ACCOUNT)
    assert "S3 bucket" not in before
    assert after["S3 bucket"] == ("models",)
    assert after["ECS cluster"] == ("endpoint",)
    assert len(after["ECS service"]) == len(after["ECS task definition"]) == 1
    ecs.delete_service(cluster="endpoint", service="model", force=True)
    ecs.deregister_task_definition(taskDefinition="model:1")
    ecs.delete_cluster(cluster="endpoint")
    boto3.client("s3").delete_bucket(Bucket="models")
    assert take_inventory(endpoint, REGION, ACCOUNT) == before


def test_what_belongs_to_a_vpc_is_not_listed_beside_it(endpoint: str) -> None:
    before = take_inventory(endpoint, REGION, ACCOUNT)
    ec2 = boto3.client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    assert added(before, take_inventory(endpoint, REGION, ACCOUNT)) == {"VPC": (vpc,)}
    group = ec2.create_security_group(GroupName="own", Description="own", VpcId=vpc)["GroupId"]
    table = ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    assert added(before, take_inventory(endpoint, REGION, ACCOUNT)) == {
        "VPC": (vpc,),
        "security group": (group,),
        "route table": (table,),
    }
    ec2.delete_security_group(GroupId=group)
    ec2.delete_route_table(RouteTableId=table)
    ec2.delete_vpc(VpcId=vpc)


def test_no_answer_is_an_error_and_not_an_empty_account() -> None:
    with (
        only_variables(emulated_account("http://127.0.0.1:9", REGION)),
        pytest.raises(InventoryError, match="no list of"),
    ):
        take_inventory("http://127.0.0.1:9", REGION, ACCOUNT)


def test_only_loopback_is_asked() -> None:
    with pytest.raises(NotLoopbackError):
        take_inventory("https://ec2.us-west-2.amazonaws.com", REGION, ACCOUNT)


def test_each_kind_and_each_type_is_listed_once() -> None:
    kinds = [row.kind for row in rows()]
    types = [name for row in rows() for name in row.types]
    assert len(set(kinds)) == len(kinds)
    assert len(set(types)) == len(types)
