"""Makes resources in moto from the properties that the synthesized templates give them.

One function per CloudFormation resource type: it reads the properties it needs and gives what `Ref` and `Fn::GetAtt`
answer. A type without a row in `MAKERS` is not made, and a cluster configuration that refers to one does not pass.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import boto3

from slipway.review.judge.inside_parallelcluster.references import Made

Properties = Mapping[str, Any]


class Region:
    """One Region of the account that moto plays."""

    def __init__(self, name: str, uploads: Mapping[str, Sequence[str]]) -> None:
        """Create the clients.

        Args:
            name: AWS Region.
            uploads: the paths of the files in each file asset, by the asset's key in the bootstrap bucket.
        """
        self.name = name
        self.uploads = uploads
        self.ec2 = boto3.client("ec2", region_name=name)
        self.fsx = boto3.client("fsx", region_name=name)
        self.iam = boto3.client("iam", region_name=name)
        self.rds = boto3.client("rds", region_name=name)
        self.s3 = boto3.client("s3", region_name=name)
        self.secretsmanager = boto3.client("secretsmanager", region_name=name)


def _vpc(region: Region, properties: Properties, _: str) -> Made:
    vpc = region.ec2.create_vpc(CidrBlock=properties["CidrBlock"])["Vpc"]
    for attribute in ("EnableDnsSupport", "EnableDnsHostnames"):
        # CloudFormation's defaults: name resolution on, host names off.
        value = properties.get(attribute, attribute == "EnableDnsSupport")
        region.ec2.modify_vpc_attribute(VpcId=vpc["VpcId"], **{attribute: {"Value": value}})
    return Made(vpc["VpcId"], {"VpcId": vpc["VpcId"], "CidrBlock": vpc["CidrBlock"]})


def _subnet(region: Region, properties: Properties, _: str) -> Made:
    zone = {key: properties[key] for key in ("AvailabilityZone", "AvailabilityZoneId") if key in properties}
    subnet = region.ec2.create_subnet(VpcId=properties["VpcId"], CidrBlock=properties["CidrBlock"], **zone)["Subnet"]
    # Always said: moto gives public addresses to the first subnet of a zone, EC2 does not.
    region.ec2.modify_subnet_attribute(
        SubnetId=subnet["SubnetId"],
        MapPublicIpOnLaunch={"Value": bool(properties.get("MapPublicIpOnLaunch", False))},
    )
    attributes = ("SubnetId", "VpcId", "CidrBlock", "AvailabilityZone", "AvailabilityZoneId")
    return Made(subnet["SubnetId"], {name: subnet[name] for name in attributes})


def _internet_gateway(region: Region, _: Properties, __: str) -> Made:
    gateway_id = region.ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    return Made(gateway_id, {"InternetGatewayId": gateway_id})


def _gateway_attachment(region: Region, properties: Properties, name: str) -> Made:
    region.ec2.attach_internet_gateway(InternetGatewayId=properties["InternetGatewayId"], VpcId=properties["VpcId"])
    return Made(name)


def _elastic_ip(region: Region, _: Properties, __: str) -> Made:
    address = region.ec2.allocate_address(Domain="vpc")
    return Made(address["PublicIp"], {key: address[key] for key in ("AllocationId", "PublicIp")})


def _nat_gateway(region: Region, properties: Properties, _: str) -> Made:
    gateway = region.ec2.create_nat_gateway(SubnetId=properties["SubnetId"], AllocationId=properties["AllocationId"])[
        "NatGateway"
    ]
    return Made(gateway["NatGatewayId"], {"NatGatewayId": gateway["NatGatewayId"]})


def _route_table(region: Region, properties: Properties, _: str) -> Made:
    table_id = region.ec2.create_route_table(VpcId=properties["VpcId"])["RouteTable"]["RouteTableId"]
    return Made(table_id, {"RouteTableId": table_id})


def _route(region: Region, properties: Properties, name: str) -> Made:
    region.ec2.create_route(**properties)
    return Made(name)


def _route_table_association(region: Region, properties: Properties, _: str) -> Made:
    answer = region.ec2.associate_route_table(RouteTableId=properties["RouteTableId"], SubnetId=properties["SubnetId"])
    return Made(answer["AssociationId"])


def _vpc_endpoint(region: Region, properties: Properties, _: str) -> Made:
    arguments = {name: properties[name] for name in properties if name not in ("PolicyDocument", "Tags")}
    endpoint = region.ec2.create_vpc_endpoint(**arguments)["VpcEndpoint"]
    return Made(endpoint["VpcEndpointId"], {"Id": endpoint["VpcEndpointId"]})


def _security_group(region: Region, properties: Properties, name: str) -> Made:
    group_id = region.ec2.create_security_group(
        GroupName=properties.get("GroupName", name),
        Description=properties["GroupDescription"],
        VpcId=properties["VpcId"],
    )["GroupId"]
    egress = properties.get("SecurityGroupEgress", [])
    if egress:
        # CloudFormation takes EC2's allow-all rule away when the template writes egress rules.
        group = region.ec2.describe_security_groups(GroupIds=[group_id])["SecurityGroups"][0]
        region.ec2.revoke_security_group_egress(GroupId=group_id, IpPermissions=group["IpPermissionsEgress"])
    for rule in properties.get("SecurityGroupIngress", []):
        _ingress_rule(region, {"GroupId": group_id, **rule}, name)
    for rule in egress:
        _egress_rule(region, {"GroupId": group_id, **rule}, name)
    return Made(group_id, {"GroupId": group_id, "VpcId": properties["VpcId"]})


def _ingress_rule(region: Region, properties: Properties, name: str) -> Made:
    permission = _permission(properties, "Source")
    region.ec2.authorize_security_group_ingress(GroupId=properties["GroupId"], IpPermissions=[permission])
    return Made(name)


def _egress_rule(region: Region, properties: Properties, name: str) -> Made:
    permission = _permission(properties, "Destination")
    region.ec2.authorize_security_group_egress(GroupId=properties["GroupId"], IpPermissions=[permission])
    return Made(name)


def _permission(properties: Properties, peer: str) -> dict[str, Any]:
    """Give EC2's form of a CloudFormation rule; `peer` is Source (ingress) or Destination (egress)."""
    permission: dict[str, Any] = {"IpProtocol": str(properties["IpProtocol"])}
    for port in ("FromPort", "ToPort"):
        if port in properties:
            permission[port] = int(properties[port])
    for key, ranges, entry in (
        ("CidrIp", "IpRanges", "CidrIp"),
        ("CidrIpv6", "Ipv6Ranges", "CidrIpv6"),
        (f"{peer}SecurityGroupId", "UserIdGroupPairs", "GroupId"),
        (f"{peer}PrefixListId", "PrefixListIds", "PrefixListId"),
    ):
        if key in properties:
            permission[ranges] = [{entry: properties[key]}]
    return permission


def _key_pair(region: Region, properties: Properties, _: str) -> Made:
    # EC2's default type by name: moto describes a pair by what it was told.
    pair = region.ec2.create_key_pair(KeyName=properties["KeyName"], KeyType=properties.get("KeyType", "rsa"))
    return Made(pair["KeyName"], {"KeyPairId": pair["KeyPairId"]})


def _file_system(region: Region, properties: Properties, _: str) -> Made:
    # What the API's call takes of them; CloudFormation alone knows the options of a deletion, for example.
    taken = ("DeploymentType", "ThroughputCapacity")
    kind = {
        member: {name: value for name, value in properties[member].items() if name in taken}
        for member in ("LustreConfiguration", "OpenZFSConfiguration")
        if member in properties
    }
    file_system = region.fsx.create_file_system(
        FileSystemType=properties["FileSystemType"],
        StorageCapacity=int(properties["StorageCapacity"]),
        SubnetIds=properties["SubnetIds"],
        SecurityGroupIds=properties.get("SecurityGroupIds", []),
        **kind,
    )["FileSystem"]
    attributes = {"DNSName": file_system["DNSName"], "ResourceARN": file_system["ResourceARN"]}
    if "LustreConfiguration" in kind:
        attributes["LustreMountName"] = file_system["LustreConfiguration"]["MountName"]
    else:
        attributes["RootVolumeId"] = file_system["OpenZFSConfiguration"]["RootVolumeId"]
    return Made(file_system["FileSystemId"], attributes)


def _database_instance(region: Region, properties: Properties, name: str) -> Made:
    instance = region.rds.create_db_instance(
        DBInstanceIdentifier=name.lower(),
        DBInstanceClass=properties["DBInstanceClass"],
        Engine=properties["Engine"],
        MasterUsername=properties["MasterUsername"],
    )["DBInstance"]
    endpoint = {f"Endpoint.{key}": str(instance["Endpoint"][key]) for key in ("Address", "Port")}
    return Made(instance["DBInstanceIdentifier"], endpoint)


def _secret(region: Region, properties: Properties, name: str) -> Made:
    # What it says is nobody's business: ParallelCluster only looks whether it is there.
    arn = region.secretsmanager.create_secret(Name=properties.get("Name", name), SecretString="-")["ARN"]
    return Made(arn, {"Id": arn})


def _bucket(region: Region, properties: Properties, name: str) -> Made:
    bucket = properties.get("BucketName", name.lower())
    # S3 refuses a location constraint for us-east-1 alone.
    location = {} if region.name == "us-east-1" else {"LocationConstraint": region.name}
    region.s3.create_bucket(Bucket=bucket, **({"CreateBucketConfiguration": location} if location else {}))
    return Made(bucket, {"Arn": f"arn:aws:s3:::{bucket}"})


def _bucket_deployment(region: Region, properties: Properties, _: str) -> Made:
    bucket = properties["DestinationBucketName"]
    prefix = properties.get("DestinationBucketKeyPrefix", "").strip("/")
    for asset in properties["SourceObjectKeys"]:
        for path in region.uploads[asset]:
            region.s3.put_object(Bucket=bucket, Key=f"{prefix}/{path}".lstrip("/"), Body=b"")
    return Made(f"{bucket}/{prefix}", {"DestinationBucketArn": f"arn:aws:s3:::{bucket}"})


def _managed_policy(region: Region, properties: Properties, name: str) -> Made:
    arn = region.iam.create_policy(
        PolicyName=properties.get("ManagedPolicyName", name),
        Path=properties.get("Path", "/"),
        PolicyDocument=json.dumps(properties["PolicyDocument"]),
    )["Policy"]["Arn"]
    return Made(arn, {"PolicyArn": arn})


def _role(region: Region, properties: Properties, name: str) -> Made:
    trust = json.dumps(properties["AssumeRolePolicyDocument"])
    role = region.iam.create_role(RoleName=name, AssumeRolePolicyDocument=trust)["Role"]
    return Made(name, {"Arn": role["Arn"], "RoleId": role["RoleId"]})


def _auto_scaling_group(_: Region, __: Properties, name: str) -> Made:
    # ParallelCluster looks at none; policies of inference hosts name theirs.
    return Made(name)


def _log_group(region: Region, properties: Properties, name: str) -> Made:
    # As above.
    physical_name = properties.get("LogGroupName", name)
    return Made(physical_name, {"Arn": f"arn:aws:logs:{region.name}:123456789012:log-group:{physical_name}:*"})


def _kubernetes_cluster(region: Region, properties: Properties, name: str) -> Made:
    # The same: the policy of the autoscaler in an EKS cluster names it.
    physical_name = properties.get("Name", name)
    return Made(physical_name, {"Arn": f"arn:aws:eks:{region.name}:123456789012:cluster/{physical_name}"})


def _topic(region: Region, properties: Properties, name: str) -> Made:
    # The same: the policy of the function that acts at the budget names it.
    arn = f"arn:aws:sns:{region.name}:123456789012:{properties.get('TopicName', name)}"
    return Made(arn, {"TopicArn": arn})


MAKERS: Mapping[str, Callable[[Region, Properties, str], Made]] = {
    "AWS::AutoScaling::AutoScalingGroup": _auto_scaling_group,
    "AWS::EC2::EIP": _elastic_ip,
    "AWS::EC2::InternetGateway": _internet_gateway,
    "AWS::EC2::KeyPair": _key_pair,
    "AWS::EC2::NatGateway": _nat_gateway,
    "AWS::EC2::Route": _route,
    "AWS::EC2::RouteTable": _route_table,
    "AWS::EC2::SecurityGroup": _security_group,
    "AWS::EC2::SecurityGroupEgress": _egress_rule,
    "AWS::EC2::SecurityGroupIngress": _ingress_rule,
    "AWS::EC2::Subnet": _subnet,
    "AWS::EC2::SubnetRouteTableAssociation": _route_table_association,
    "AWS::EC2::VPC": _vpc,
    "AWS::EC2::VPCEndpoint": _vpc_endpoint,
    "AWS::EC2::VPCGatewayAttachment": _gateway_attachment,
    "AWS::EKS::Cluster": _kubernetes_cluster,
    "AWS::FSx::FileSystem": _file_system,
    "AWS::IAM::ManagedPolicy": _managed_policy,
    "AWS::IAM::Role": _role,
    "AWS::Logs::LogGroup": _log_group,
    "AWS::RDS::DBInstance": _database_instance,
    "AWS::S3::Bucket": _bucket,
    "AWS::SNS::Topic": _topic,
    "AWS::SecretsManager::Secret": _secret,
    "Custom::CDKBucketDeployment": _bucket_deployment,
}
"""How each resource type is made: from the Region, the resolved properties and a name to fall back on."""
