"""The floor: the smallest CDK app that makes something of ours, one VPC with the library's defaults."""

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2

app = cdk.App()
ec2.Vpc(cdk.Stack(app, "Floor"), "Vpc")
app.synth()
