"""How to look at a page on a node's loopback address from one's own computer, without opening a port to anyone."""

from __future__ import annotations

import json
import os
import shlex
import urllib.request

METADATA_SECONDS = 2.0
"""How long the instance metadata service may take: where there is none, nobody waits for it."""


def instance_id() -> str | None:
    """Return the EC2 instance that this is, by the instance metadata service (IMDSv2); none elsewhere.

    AWS_EC2_METADATA_SERVICE_ENDPOINT takes the place of the service's address, as in AWS's own tools.
    """
    address = os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT") or "http://169.254.169.254"
    latest = f"{address.rstrip('/')}/latest"
    # A proxy must not answer in the service's place.
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        lifetime = {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
        ask = urllib.request.Request(f"{latest}/api/token", method="PUT", headers=lifetime)
        with direct.open(ask, timeout=METADATA_SECONDS) as answer:
            token = answer.read(1024).decode("ascii")
        ask = urllib.request.Request(f"{latest}/meta-data/instance-id", headers={"X-aws-ec2-metadata-token": token})
        with direct.open(ask, timeout=METADATA_SECONDS) as answer:
            name: str = answer.read(64).decode("ascii").strip()
    except (OSError, ValueError):
        return None
    return name


def port_forwarding_command(instance: str, region: str, port: int) -> str:
    """Return the command for one's own computer: it forwards a local port to the same one of an instance's loopback.

    Session Manager carries it; the instance needs no open port. The port's number is the same on both sides.
    """
    ports = json.dumps({"portNumber": [str(port)], "localPortNumber": [str(port)]})
    words = ["aws", "ssm", "start-session", "--region", region, "--target", instance]
    return shlex.join([*words, "--document-name", "AWS-StartPortForwardingSession", "--parameters", ports])


def service_forwarding_command(namespace: str, service: str, port: int, service_port: int) -> str:
    """Return the command for one's own computer: it forwards a local port to a service in a Kubernetes cluster.

    The cluster's API carries it; the service has no address outside of the cluster.
    """
    return shlex.join(["kubectl", "port-forward", "-n", namespace, f"svc/{service}", f"{port}:{service_port}"])


def find_instance_command(cluster: str, region: str) -> str:
    """Return the command that prints the instance id of a cluster's head node."""
    filters = [
        f"Name=tag:parallelcluster:cluster-name,Values={cluster}",
        "Name=tag:parallelcluster:node-type,Values=HeadNode",
        "Name=instance-state-name,Values=running",
    ]
    words = ["aws", "ec2", "describe-instances", "--region", region, "--filters", *filters]
    return shlex.join([*words, "--query", "Reservations[].Instances[].InstanceId", "--output", "text"])
