"""The account of a living cluster: what CloudFormation would have made for it, in an emulated EC2."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from tests.live_cluster.judged_cluster import JudgedCluster

CAPACITY_BLOCK = "cr-0123456789abcdef0"


class AwsAccount:
    """Clients of the emulated services, and the cluster's VPC, launch templates, tables and private zone."""

    def __init__(self, cluster: JudgedCluster, port: int, faults: Path) -> None:
        self.environment = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_DEFAULT_REGION": cluster.region,
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        self._cluster = cluster
        self._faults = faults
        self._launch_templates: dict[str, Any] = {}
        self.ec2, self.dynamodb, self.route53, self._iam = (
            self._client(service) for service in ("ec2", "dynamodb", "route53", "iam")
        )
        self.nodes_table = f"parallelcluster-slurm-{cluster.name}"
        self.fleet_table = f"parallelcluster-{cluster.name}"

    def create(self) -> None:
        """Create what the cluster's stack has, as far as nodes and head node use it."""
        # Instances get addresses of 127.0.0.0/8: slurmctld reaches every node under the address that EC2 gave it.
        vpc = self.ec2.create_vpc(CidrBlock="127.40.0.0/16")["Vpc"]["VpcId"]
        subnet = self.ec2.create_subnet(VpcId=vpc, CidrBlock="127.40.0.0/20")["Subnet"]["SubnetId"]
        group = self.ec2.create_security_group(GroupName="compute", Description="-", VpcId=vpc)["GroupId"]
        self._iam.create_instance_profile(InstanceProfileName="compute")
        for name, template in self._cluster.launch_templates.items():
            data = _resolved(template, group)
            for interface in data["NetworkInterfaces"]:
                interface["SubnetId"] = subnet
            self.ec2.create_launch_template(LaunchTemplateName=self._full_name(name), LaunchTemplateData=data)
            self._launch_templates[name] = data
        zone = self.route53.create_hosted_zone(Name=f"{self._cluster.name}.pcluster.", CallerReference="1")
        self.hosted_zone = zone["HostedZone"]["Id"].rpartition("/")[2]
        self._create_tables()
        self.set_block("scheduled")

    def create_stack(self, name: str, tags: Mapping[str, str]) -> None:
        """Create the cluster's stack as far as `pcluster update-compute-fleet` looks at it: name, status, version.

        The version is that of the tags which ParallelCluster gives everything.
        """
        template = next(iter(self._launch_templates.values()))
        of_cluster = {tag["Key"]: tag["Value"] for tag in template["TagSpecifications"][0]["Tags"]}
        all_tags = {**of_cluster, **tags}
        self._client("cloudformation").create_stack(
            StackName=name,
            TemplateBody=json.dumps({"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}}),
            Tags=[{"Key": key, "Value": value} for key, value in all_tags.items() if isinstance(value, str)],
        )

    def replace_image(self, queue: str, image: str) -> None:
        """Give the launch templates of a queue a version with another image, which is their latest one."""
        for name, data in self._launch_templates.items():
            if name.partition("/")[0] == queue:
                self.ec2.create_launch_template_version(
                    LaunchTemplateName=self._full_name(name), LaunchTemplateData=data | {"ImageId": image}
                )

    def set_capacity(self, instances: int | None) -> None:
        """Let EC2 run only so many instances at once; None: any number."""
        file = self._faults / "capacity"
        file.unlink(missing_ok=True)
        if instances is not None:
            file.write_text(str(instances), encoding="utf-8")

    def set_block(self, state: str) -> None:
        """Set the state of the Capacity Block: `scheduled`, `active` or `expired`."""
        (self._faults / "block").write_text(state, encoding="utf-8")

    def terminate(self, instance: str) -> None:
        """Terminate an instance from outside, as EC2 does with Spot capacity."""
        self.ec2.terminate_instances(InstanceIds=[instance])

    def instances(self) -> dict[str, dict[str, Any]]:
        """Return all instances by id, terminated ones too."""
        pages = self.ec2.get_paginator("describe_instances").paginate()
        return {
            instance["InstanceId"]: instance
            for page in pages
            for reservation in page["Reservations"]
            for instance in reservation["Instances"]
        }

    def node_name(self, instance: str) -> str | None:
        """Return the name that the resume program gave to an instance; None: not yet."""
        found = self.dynamodb.query(
            TableName=self.nodes_table,
            IndexName="InstanceId",
            KeyConditionExpression="InstanceId = :instance",
            ExpressionAttributeValues={":instance": {"S": instance}},
        )["Items"]
        return str(found[0]["Id"]["S"]) if found else None

    def addresses(self) -> dict[str, str]:
        """Return the addresses in the cluster's private zone, by node name."""
        records = self.route53.list_resource_record_sets(HostedZoneId=self.hosted_zone)["ResourceRecordSets"]
        return {row["Name"].split(".")[0]: row["ResourceRecords"][0]["Value"] for row in records if row["Type"] == "A"}

    def _full_name(self, launch_template: str) -> str:
        return f"{self._cluster.name}-{launch_template.replace('/', '-')}"

    def _create_tables(self) -> None:
        key: Any = [{"AttributeName": "Id", "KeyType": "HASH"}]
        self.dynamodb.create_table(
            TableName=self.nodes_table,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=key,
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("Id", "InstanceId")],
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "InstanceId",
                    "Projection": {"ProjectionType": "ALL"},
                    "KeySchema": [{"AttributeName": "InstanceId", "KeyType": "HASH"}],
                }
            ],
        )
        self.dynamodb.create_table(
            TableName=self.fleet_table,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=key,
            AttributeDefinitions=[{"AttributeName": "Id", "AttributeType": "S"}],
        )
        status = {"status": {"S": "RUNNING"}, "lastStatusUpdatedTime": {"S": "2026-01-01 00:00:00+00:00"}}
        self.dynamodb.put_item(TableName=self.fleet_table, Item={"Id": {"S": "COMPUTE_FLEET"}, "Data": {"M": status}})

    def _client(self, service: str) -> Any:
        return boto3.client(
            service,  # type: ignore[call-overload]  # the stubs know services by literal names only
            region_name=self._cluster.region,
            endpoint_url=self.environment["AWS_ENDPOINT_URL"],
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
            config=Config(proxies={}),
        )


def _resolved(value: Any, group: str) -> Any:
    """Put names in the place of the few references that launch templates have."""
    if isinstance(value, list):
        return [_resolved(each, group) for each in value]
    if not isinstance(value, dict):
        return value
    if "Ref" in value:
        return group if "SecurityGroup" in value["Ref"] else "compute"
    return {key: _resolved(each, group) for key, each in value.items()}
