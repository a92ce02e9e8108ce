"""Edits that change nothing, or nothing but uploaded files."""

import json
import random
import re
from typing import Any

from tests.review.changes.pairs import Pair, Templates

FUNCTIONS_OF_TRAINING = (
    "CustomS3AutoDeleteObjectsCustomResourceProviderHandler9D90184F",
    "NodeScriptsDeploymentAwsCliLayer831E98BA",
    "NodeScriptsDeploymentCustomResource0EDC5C33",
    "CustomCDKBucketDeployment8693BB64968944B69AAFB0CC9EB8756C81C01536",
)

SETS = ("Tags", "Statement", "Action", "Resource", "SecurityGroupIngress", "Subnets", "SubnetIds")


def _other_hashes(templates: Templates) -> None:
    resources = templates.resources("training")
    text = re.sub(r"[0-9a-f]{64}", lambda match: match[0][::-1], json.dumps(resources))
    resources.clear()
    resources.update(json.loads(text))


def _other_host_script(templates: Templates) -> None:
    template = templates.properties("inference", "AWS::EC2::LaunchTemplate")["LaunchTemplateData"]
    data = json.dumps(template["UserData"])
    template["UserData"] = json.loads(re.sub(r"[0-9a-f]{64}(?=\.zip)", lambda match: match[0][::-1], data))


def _metadata(templates: Templates) -> None:
    for stack in templates.stacks:
        for row in templates.resources(stack).values():
            row.setdefault("Metadata", {})["aws:asset:path"] = "asset.other"
        templates.resources(stack)["CDKMetadata"] = {
            "Type": "AWS::CDK::Metadata",
            "Properties": {"Analytics": "v2:deflate64:other"},
        }


def _order(templates: Templates) -> None:
    for stack in templates.stacks:
        resources = templates.resources(stack)
        for row in resources.values():
            _shuffle(row.get("Properties", {}))
            row["DependsOn"] = list(reversed(row.get("DependsOn", [])))
        turned = dict(reversed(resources.items()))
        resources.clear()
        resources.update(turned)


def _shuffle(value: Any) -> None:
    if isinstance(value, list):
        for item in value:
            _shuffle(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            _shuffle(item)
            if name in SETS and isinstance(item, list):
                random.Random(7).shuffle(item)


def _other_words(templates: Templates) -> None:
    """The same values, written in another way."""
    templates.properties("storage", "AWS::FSx::FileSystem")["StorageCapacity"] = "4800"
    for row in templates.resources("training").values():
        if row["Type"] == "AWS::IAM::ManagedPolicy":
            for statement in row["Properties"]["PolicyDocument"]["Statement"]:
                if statement["Action"] == "s3:GetObject":
                    statement["Resource"] = {"Fn::Sub": "${Scripts84990998.Arn}/cluster/*"}


def _output_names(templates: Templates) -> None:
    for stack in templates.stacks.values():
        text = re.sub(r"PublishOutput(\w+)", r"Publish\1", json.dumps(stack.template))
        stack.template.clear()
        stack.template.update(json.loads(text))


def _nothing(templates: Templates) -> None:
    assert templates.stacks


PAIRS = (
    *(
        Pair(f"nothing in {name}", name, _nothing)
        for name in ("default", "small", "team", "ultracluster", "kubernetes", "public")
    ),
    Pair("other content of files", "default", _other_hashes, assets=FUNCTIONS_OF_TRAINING),
    Pair(
        "another script of hosts",
        "default",
        _other_host_script,
        own=("update inference EC2::LaunchTemplate",),
        folded=("update inference AutoScaling::AutoScalingGroup",),
    ),
    Pair("metadata", "default", _metadata),
    Pair("another order", "default", _order),
    Pair("another order on Kubernetes", "kubernetes", _order),
    Pair("other words", "default", _other_words),
    Pair("other names of outputs", "default", _output_names),
)
