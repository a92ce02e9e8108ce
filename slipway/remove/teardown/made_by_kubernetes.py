"""What a Kubernetes cluster made in the account by itself, outside of every stack: it outlives the cluster.

Slipway's clusters refuse Services of type LoadBalancer and have no driver that makes volumes. An administrator can
change that, and add-ons of others bring their own. Then the load balancer's interfaces hold the VPC, and a volume is
paid for until somebody finds it. The tags are those of the AWS Load Balancer Controller, of the cloud provider's own
load balancers, of the EBS driver and of the VPC CNI.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from botocore.exceptions import ClientError

from slipway.aws.account import Account

_TAGS_AT_ONCE = 20
_VOLUME_TAGS = {"CSIVolumeName", "kubernetes.io/created-for/pv/name"}

Kind = Literal["load balancer", "classic load balancer", "volume", "network interface", "security group"]


@dataclass(frozen=True)
class Made:
    """Something that a cluster made.

    Attributes:
        kind: what it is.
        id: its ARN where the kind has one, else its id or name.
    """

    kind: Kind
    id: str

    def __str__(self) -> str:
        """Say it in a few words."""
        return f"{self.kind} {self.id}"


def made_by(account: Account, cluster: str) -> list[Made]:
    """Return what a cluster made and what is still there; of network interfaces those that nothing uses."""
    return [
        *_load_balancers(account, cluster),
        *_classic_load_balancers(account, cluster),
        *_volumes(account, cluster),
        *_network_interfaces(account, cluster),
        *_security_groups(account, cluster),
    ]


def delete(account: Account, found: list[Made], tell: Callable[[str], None]) -> None:
    """Delete what holds no data, and say it; what AWS refuses is reported, and stays.

    Only when the cluster is gone: while it exists, its controllers make it again.
    """
    for made in found:
        if made.kind != "volume":
            try:
                _delete(account, made)
            except ClientError as error:
                tell(f"{made} stays: {error}")
            else:
                tell(f"{made}, which the Kubernetes cluster left: deleted")


def _delete(account: Account, made: Made) -> None:
    match made.kind:
        case "load balancer":
            account.client("elbv2").delete_load_balancer(LoadBalancerArn=made.id)
        case "classic load balancer":
            account.client("elb").delete_load_balancer(LoadBalancerName=made.id)
        case "network interface":
            account.client("ec2").delete_network_interface(NetworkInterfaceId=made.id)
        case "security group":
            account.client("ec2").delete_security_group(GroupId=made.id)


def _owns(tags: list[dict[str, str]], cluster: str) -> bool:
    values = {tag["Key"]: tag["Value"] for tag in tags}
    return values.get("elbv2.k8s.aws/cluster") == cluster or values.get(f"kubernetes.io/cluster/{cluster}") == "owned"


def _load_balancers(account: Account, cluster: str) -> Iterator[Made]:
    pages = account.client("elbv2").get_paginator("describe_load_balancers").paginate()
    arns = [row["LoadBalancerArn"] for page in pages for row in page["LoadBalancers"]]
    for start in range(0, len(arns), _TAGS_AT_ONCE):
        answer = account.client("elbv2").describe_tags(ResourceArns=arns[start : start + _TAGS_AT_ONCE])
        for row in answer["TagDescriptions"]:
            if _owns(row["Tags"], cluster):
                yield Made("load balancer", row["ResourceArn"])


def _classic_load_balancers(account: Account, cluster: str) -> Iterator[Made]:
    pages = account.client("elb").get_paginator("describe_load_balancers").paginate()
    names = [row["LoadBalancerName"] for page in pages for row in page["LoadBalancerDescriptions"]]
    for start in range(0, len(names), _TAGS_AT_ONCE):
        answer = account.client("elb").describe_tags(LoadBalancerNames=names[start : start + _TAGS_AT_ONCE])
        for row in answer["TagDescriptions"]:
            if _owns(row["Tags"], cluster):
                yield Made("classic load balancer", row["LoadBalancerName"])


def _volumes(account: Account, cluster: str) -> Iterator[Made]:
    """Yield persistent volumes; a node's own volumes go with it."""
    filters = [{"Name": f"tag:kubernetes.io/cluster/{cluster}", "Values": ["owned"]}]
    for page in account.client("ec2").get_paginator("describe_volumes").paginate(Filters=filters):
        for row in page["Volumes"]:
            if _VOLUME_TAGS & {tag["Key"] for tag in row["Tags"]}:
                yield Made("volume", row["VolumeId"])


def _network_interfaces(account: Account, cluster: str) -> Iterator[Made]:
    filters = [
        {"Name": "tag:cluster.k8s.amazonaws.com/name", "Values": [cluster]},
        {"Name": "status", "Values": ["available"]},
    ]
    for page in account.client("ec2").get_paginator("describe_network_interfaces").paginate(Filters=filters):
        yield from (Made("network interface", row["NetworkInterfaceId"]) for row in page["NetworkInterfaces"])


def _security_groups(account: Account, cluster: str) -> Iterator[Made]:
    """Yield the groups of load balancers; the cluster's own group is EKS's, which deletes it with the cluster."""
    for key, values in {"elbv2.k8s.aws/cluster": [cluster], f"kubernetes.io/cluster/{cluster}": ["owned"]}.items():
        filters = [{"Name": f"tag:{key}", "Values": values}]
        for page in account.client("ec2").get_paginator("describe_security_groups").paginate(Filters=filters):
            for row in page["SecurityGroups"]:
                if key.startswith("elbv2") or row["GroupName"].startswith("k8s-elb-"):
                    yield Made("security group", row["GroupId"])
