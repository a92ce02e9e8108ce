"""A model served from a network that is there already. Change the ids and the names below to yours."""

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_s3 as s3
from cdk_nag import AwsSolutionsChecks, NIST80053R5Checks

from neuron_constructs.buckets import PrivateBucket, PrivateBucketProps
from neuron_constructs.inference.endpoint import DnsRecord
from neuron_constructs.inference.model import MountedLustre
from neuron_constructs.inference.model_endpoint import ModelEndpoint, ModelEndpointProps
from neuron_constructs.log_groups import EncryptLogGroups, LogKey
from neuron_constructs.lustre import DataRepository, Lustre, LustreProps

app = cdk.App()
stack = cdk.Stack(app, "chat", env=cdk.Environment(region="us-west-2"))

# Your network. The stack adds nothing to it but security groups, and deletes nothing of it.
vpc = ec2.Vpc.from_vpc_attributes(
    stack,
    "Vpc",
    vpc_id="vpc-0123456789abcdef0",
    availability_zones=["us-west-2a", "us-west-2b"],
    private_subnet_ids=["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
)
# Nothing here asks for their route tables.
cdk.Annotations.of(vpc).acknowledge_warning("@aws-cdk/aws-ec2:noSubnetRouteTableId")
# Inferentia is not in every zone: `aws ec2 describe-instance-type-offerings` says in which ones of your account.
host_subnet = vpc.private_subnets[0]

# Your bucket with a model that optimum-neuron compiled, in the folder tanuki-8b/v1: without it no host takes a task.
models = s3.Bucket.from_bucket_name(stack, "Models", "example-models")

# Where the load balancer writes its logs.
logs = PrivateBucket(
    stack, "Logs", PrivateBucketProps(removal_policy=cdk.RemovalPolicy.RETAIN, expiration_days=90)
).bucket

# A file system that shows the bucket's objects as files below /models. It bills by capacity, about $0.24 an hour, and
# goes with the stack.
lustre = Lustre(
    stack,
    "Lustre",
    LustreProps(
        vpc=vpc,
        subnet=host_subnet,
        capacity_gib=1200,
        throughput_mb_s_per_tib=125,
        data_repositories=[DataRepository(name="ModelRepository", path="/models", bucket=models, direction="import")],
        keeps_buckets=True,
        removal_policy=cdk.RemovalPolicy.DESTROY,
    ),
)

# TGI on one host, behind a load balancer inside the VPC that speaks TLS and asks for an API key.
chat = ModelEndpoint(
    stack,
    "Chat",
    ModelEndpointProps(
        name="tanuki-8b",
        vpc=vpc,
        subnets=vpc.private_subnets,
        host_subnets=[host_subnet],
        clients=["10.0.0.0/16"],
        certificate_arn="arn:aws:acm:us-west-2:111122223333:certificate/0a1b2c3d-0000-4000-8000-000000000000",
        dns_record=DnsRecord(name="llm.example.com", zone_name="example.com", zone_id="Z0123456789ABCDEFGHIJ"),
        bucket=models,
        prefix="tanuki-8b/v1",
        source=MountedLustre.of(lustre.mount, "/models"),
        instance_type="inf2.8xlarge",
        access_log_bucket=logs,
    ),
)

cdk.CfnOutput(stack, "BaseUrl", value=chat.base_url)
cdk.CfnOutput(stack, "Model", value=chat.model_id)
cdk.CfnOutput(stack, "ApiKeySecret", value=chat.api_key.secret_arn)

# A key of the account for all log groups, one dollar a month.
cdk.Aspects.of(stack).add(EncryptLogGroups(LogKey(stack, "LogKey").key.key_arn))

# The constructs say why they accept what these packs find in them; what they find in your own resources is yours.
cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app), NIST80053R5Checks(app))
app.synth()
