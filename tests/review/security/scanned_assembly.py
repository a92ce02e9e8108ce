"""A small cloud assembly with what scanners leave in it: report, acknowledgements, checkov's skips."""

import json
from pathlib import Path
from typing import Any

from slipway.review.security.read import PACKS

STACK = "slipway-test-storage"
BUCKET, BUCKET_PATH = "Data1234", f"{STACK}/Data/Resource"


class ScannedAssembly:
    """One stack with a bucket; what the scanners say of it is added."""

    def __init__(self) -> None:
        self.report: dict[str, list[dict[str, Any]]] | None = {pack: [] for pack in PACKS}
        self.metadata: dict[str, list[dict[str, Any]]] = {
            f"/{BUCKET_PATH}": [{"type": "aws:cdk:logicalId", "data": BUCKET}]
        }
        self.resources: dict[str, Any] = {BUCKET: {"Type": "AWS::S3::Bucket"}}

    def violate(self, pack: str, rule: str, path: str = BUCKET_PATH, **violation: Any) -> None:
        """Let a pack find something."""
        assert self.report is not None
        said = {"ruleName": rule, "description": "It is open.", "severity": "error"}
        self.report.setdefault(pack, []).append(said | violation | {"violatingConstructs": [{"constructPath": path}]})

    def acknowledge(self, path: str, rule: str, reason: str) -> None:
        """Let a construct accept a finding."""
        entry = {"type": "aws:cdk:acknowledged-rules", "data": {rule: reason}}
        self.metadata.setdefault(f"/{path}", []).append(entry)

    def write(self, folder: Path) -> Path:
        """Write the cloud assembly."""
        folder.mkdir(parents=True)
        artifact = {
            "type": "aws:cloudformation:stack",
            "environment": "aws://unknown-account/us-west-2",
            "properties": {"templateFile": "template.json"},
            "additionalMetadataFile": "metadata.json",
        }
        files: dict[str, Any] = {
            "manifest.json": {"artifacts": {STACK: artifact}},
            "template.json": {"Resources": self.resources},
            "metadata.json": self.metadata,
        }
        if self.report is not None:
            reports = [{"pluginName": name, "violations": found} for name, found in self.report.items()]
            files["validation-report.json"] = {"pluginReports": reports}
        for name, content in files.items():
            (folder / name).write_text(json.dumps(content))
        return folder
