"""Optional images of nodes with their packages baked in: all that an image build needs, ready in a bucket."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_s3_deployment as s3_deployment
from constructs import Construct

from neuron_constructs.cluster.image_build import ImageBuild, bake_script, image_configuration, image_id

_FOLDER = "images"


@dataclass(frozen=True, kw_only=True)
class NodeImagesProps:
    """Properties of `NodeImages`."""

    directory: Path
    """Folder of the node scripts, `assets/cluster`; the job kit is beside it."""

    deployment: s3_deployment.BucketDeployment
    """What copies the node scripts; it copies the files of the image builds too."""

    location: str
    """Where it copies to: `<bucket>/<key prefix>`."""

    cluster_name: str
    """Name of the cluster, the beginning of each image's id."""

    region: str
    """AWS Region of cluster and images."""

    training_stacks: tuple[str, ...]
    """Training stacks to bake, rows of the facts."""

    operating_system: str
    """ParallelCluster's name of the nodes' operating system; a row of the facts."""

    vpc: ec2.IVpc
    """The VPC of the subnet."""

    subnet_id: str
    """Private subnet with a way to the internet, where the image is built."""

    instance_type: str
    """EC2 instance type that builds, x86_64 and offered in the subnet's zone."""

    permissions_boundary_arn: str | None
    """Permissions boundary of the roles of the build."""

    tags: Mapping[str, str]
    """Tags of the images and of what builds them."""


class NodeImages(Construct):
    """Puts the configuration of `pcluster build-image` for each training stack beside the node scripts.

    Nothing is built and nothing costs before a user runs one of the commands. The build stands in the cluster's subnet;
    its security group lets it fetch packages and lets nothing reach it.
    """

    commands: Mapping[str, str]
    """Training stack -> the command that bakes an image with it."""

    def __init__(self, scope: Construct, id: str, props: NodeImagesProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        self._props = props
        self._security_group = self._create_security_group()
        for stack in props.training_stacks:
            self._publish(stack)
        self.commands = {stack: self._command(stack) for stack in props.training_stacks}

    def _create_security_group(self) -> ec2.SecurityGroup:
        group = ec2.SecurityGroup(
            self,
            "SecurityGroup",
            vpc=self._props.vpc,
            description="Image build: nothing in, packages and AWS APIs out",
            allow_all_outbound=False,
        )
        group.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(443), "AWS APIs and packages")
        group.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(80), "Archive of Ubuntu, with signed packages")
        return group

    def _publish(self, stack: str) -> None:
        props = self._props
        script = f"{_FOLDER}/bake_{stack}.sh"
        configuration = image_configuration(
            ImageBuild(
                region=props.region,
                operating_system=props.operating_system,
                training_stack=stack,
                instance_type=props.instance_type,
                subnet_id=props.subnet_id,
                security_group_id=self._security_group.security_group_id,
                script_url=f"s3://{props.location}/{script}",
                permissions_boundary_arn=props.permissions_boundary_arn,
                tags=props.tags,
            )
        )
        others = (other for other in props.training_stacks if other != stack)
        rendered = bake_script(props.directory, (stack, *others), props.operating_system)
        props.deployment.add_source(s3_deployment.Source.data(script, rendered))
        props.deployment.add_source(s3_deployment.Source.yaml_data(f"{_FOLDER}/{self._id(stack)}.yaml", configuration))

    def _id(self, stack: str) -> str:
        return image_id(self._props.cluster_name, stack, self._props.operating_system)

    def _command(self, stack: str) -> str:
        image = self._id(stack)
        return (
            f"aws s3 cp s3://{self._props.location}/{_FOLDER}/{image}.yaml . && pcluster build-image"
            f" --region {self._props.region} --image-id {image} --image-configuration {image}.yaml"
        )
