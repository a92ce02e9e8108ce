"""Files: what is found at which line, and one clear sentence for what is no cluster configuration."""

from pathlib import Path

import pytest
import yaml

from slipway.assembly.context import Context
from slipway.review.lint.files import UnreadableFileError, lint_file, lint_text
from tests.config.files import changed
from tests.review.lint.configurations import MINIMAL

# The mistakes of the public Trainium examples, in a file of their shape.
EXAMPLE = """\
Region: <YOUR REGION>  # for example us-west-2
Image:
  Os: ubuntu2004
HeadNode:
  InstanceType: c5.4xlarge
  Networking:
    SubnetId: subnet-<PUBLIC SUBNET ID>
  Ssh:
    KeyName: <KEY NAME>
  CustomActions:
    OnNodeConfigured:
      Script: s3://neuron-s3/v<RELEASE>/install_neuron.sh
Scheduling:
  Scheduler: slurm
  SlurmQueues:
    - Name: compute1
      ComputeResources:
        - Name: nodes
          InstanceType: trn1.32xlarge
          MaxCount: 8
          MinCount: 1
          Efa: {Enabled: yes}
      Networking:
        SubnetIds: [subnet-<PRIVATE SUBNET ID>]
        PlacementGroup: {Enabled: false}
SharedStorage:
- Name: first
  MountDir: /shared
  StorageType: Ebs
SharedStorage:
- Name: neuron
  MountDir: /efs
  StorageType: Efs
"""


def test_everything_is_found_at_once_and_in_the_order_of_the_lines() -> None:
    problems = lint_text(EXAMPLE, "launch.yaml", Context()).problems
    assert [(problem.line, problem.column, problem.severity, problem.rule) for problem in problems] == [
        (1, 1, "warning", "logs-have-a-deletion-policy"),
        (1, 1, "warning", "logs-have-a-retention"),
        (3, 7, "error", "operating-system-exists"),
        (4, 1, "warning", "session-manager-reaches-head-node"),
        (8, 3, "error", "ssh-closed-to-the-world"),
        (10, 3, "warning", "head-node-set-up-can-change"),
        (12, 15, "error", "scripts-from-own-bucket"),
        (13, 1, "warning", "queues-can-be-updated"),
        (16, 7, "warning", "jobs-get-whole-nodes"),
        (16, 7, "error", "neuron-gets-installed"),
        (19, 25, "warning", "operating-system-has-training-stack"),
        (21, 21, "warning", "no-static-nodes-at-first"),
        (25, 35, "warning", "placement-group-with-efa"),
        (30, 1, "error", "yaml"),
        (31, 3, "error", "data-outlives-cluster"),
        (31, 3, "error", "shared-storage-encrypted"),
    ]


def test_a_problem_is_one_line_with_place_fix_and_rule() -> None:
    [problem] = [found for found in lint_text(EXAMPLE, "launch.yaml", Context()).problems if found.line == 3]
    assert str(problem) == (
        "launch.yaml:3:7: error: Image.Os: ParallelCluster 3.14.0 removed ubuntu2004. "
        "Write `Os: ubuntu2204` or `Os: ubuntu2404`. [operating-system-exists]"
    )


def test_what_the_file_asks_of_ec2_is_added_up() -> None:
    [demand] = lint_text(yaml.safe_dump(MINIMAL), "cluster.yaml", Context()).demands
    assert demand.vcpus == {"on_demand_trn": 512, "on_demand_standard": 8}
    assert round(demand.hourly_usd, 2) == 86.38
    assert not demand.unpriced


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("- a", "it holds no mapping"),
        ("Build: {InstanceType: m6i.large}", "is the configuration of a machine image"),
        ("Resources: {Bucket: {Type: AWS::S3::Bucket}}", "a CloudFormation template without a Custom::PclusterCluster"),
        ("name: test\nnetwork: {}\ntraining: {}", "is a Slipway environment file"),
        ("apiVersion: v1", "it has neither HeadNode nor Scheduling"),
    ],
)
def test_what_is_no_cluster_is_one_error(text: str, message: str) -> None:
    report = lint_text(text, "file.yaml", Context())
    assert message in str(report.problems[0])
    assert (report.errors, report.warnings) == (1, 0)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("latin.yaml", b"Region: \xe9", "is not UTF-8"),
        ("large.yaml", b"#" * 1_000_001, "is larger than 1000000 bytes"),
    ],
)
def test_an_unreadable_file_is_one_error(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    [problem] = lint_file(str(tmp_path / name), Context()).problems
    assert message in problem.message


def test_no_path_is_wrong_use() -> None:
    with pytest.raises(UnreadableFileError, match="not a path"):
        lint_file("a\0b", Context())


def test_a_second_cluster_of_a_template_is_found_too() -> None:
    bad = changed(MINIMAL, {"Image.Os": "ubuntu2004"})
    resources = {
        name: {"Type": "Custom::PclusterCluster", "Properties": {"ClusterConfiguration": configuration}}
        for name, configuration in {"First": MINIMAL, "Second": bad}.items()
    }
    text = yaml.safe_dump({"Resources": resources}, sort_keys=False)
    [problem] = [
        problem
        for problem in lint_text(text, "template.yaml", Context()).problems
        if problem.rule == "operating-system-exists"
    ]
    assert problem.path == "Image.Os"
    assert text.splitlines()[problem.line - 1].strip() == "Os: ubuntu2004"
