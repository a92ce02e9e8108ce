"""A small environment as a cloud assembly: a file system in one stack, a cluster that mounts it in another."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

REGION = "us-west-2"
TRAINING_STACK = "slipway-test-training"
STORAGE_STACK = "slipway-test-storage"


class Environment:
    """A cloud assembly with a storage stack and a training stack, to be changed and written."""

    def __init__(self) -> None:
        self.storage: dict[str, Any] = {
            "Resources": {
                "Lustre": {"Type": "AWS::FSx::FileSystem", "Properties": {"SubnetIds": ["subnet-1"]}},
            },
            "Outputs": {"LustreId": {"Value": {"Ref": "Lustre"}}},
        }
        self.configuration: dict[str, Any] = {
            "Region": REGION,
            "Scheduling": {"SlurmSettings": {"QueueUpdateStrategy": "DRAIN"}},
            "SharedStorage": [{"Name": "fsx", "Id": self._lustre_id()}],
            "Script": {"Fn::Join": ["", ["s3://", {"Ref": "Scripts"}, "/cluster/node.sh"]]},
        }
        self.version = "3.16.1"
        self.name = "trainium"
        self.logical_id = "Cluster"
        self.asset = "first.zip"

    @staticmethod
    def _lustre_id() -> Mapping[str, Any]:
        return {"Fn::GetStackOutput": {"StackName": STORAGE_STACK, "OutputName": "LustreId"}}

    @property
    def training(self) -> dict[str, Any]:
        url = f"https://bucket/parallelcluster/{self.version}/templates/custom_resource/cluster.yaml"
        return {
            "Resources": {
                "Scripts": {"Type": "AWS::S3::Bucket"},
                "Copy": {"Type": "Custom::CDKBucketDeployment", "Properties": {"SourceObjectKeys": [self.asset]}},
                "Provider": {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": url}},
                self.logical_id: {
                    "Type": "Custom::PclusterCluster",
                    "Properties": {"ClusterName": self.name, "ClusterConfiguration": self.configuration},
                },
            }
        }

    def write(self, folder: Path) -> Path:
        """Write the cloud assembly."""
        folder.mkdir()
        templates = {STORAGE_STACK: self.storage, TRAINING_STACK: self.training}
        artifacts = {
            name: {
                "type": "aws:cloudformation:stack",
                "environment": f"aws://unknown-account/{REGION}",
                "properties": {"templateFile": f"{name}.json"},
            }
            for name in templates
        }
        (folder / "manifest.json").write_text(json.dumps({"artifacts": artifacts}), "utf-8")
        for name, template in templates.items():
            (folder / f"{name}.json").write_text(json.dumps(template), "utf-8")
        return folder
