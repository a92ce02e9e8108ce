"""Security groups whose rules name other groups."""

from aws_cdk import aws_ec2 as ec2


def without_default_egress(group: ec2.SecurityGroup) -> None:
    """Write down a rule that lets nothing out.

    The CDK leaves its own such rule away once a group has another, although that is a resource of its own here. A group
    without a rule in its own properties is made with EC2's, which lets everything out.
    """
    nothing = ec2.CfnSecurityGroup.EgressProperty(
        cidr_ip="255.255.255.255/32", description="Disallow all traffic", ip_protocol="icmp", from_port=252, to_port=86
    )
    resource = group.node.default_child
    assert isinstance(resource, ec2.CfnSecurityGroup)
    resource.security_group_egress = [nothing]
