"""What an emulator run is given, and the identities every part of it uses."""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ACCOUNT = os.environ.get("MOTO_ACCOUNT_ID", "123456789012")
"""The account of every ARN: what moto's own switch says (getmoto/moto 5.2.5, moto/core/responses.py,
`get_current_account`), else moto's default, a number that AWS reserves for documentation."""

ACCESS_KEY = "testing"
"""Access key id and secret of every client, a value that no AWS account can have."""

PARTITION = "aws"
DNS_SUFFIX = "amazonaws.com"
HOST = "127.0.0.1"


@dataclass(frozen=True)
class Settings:
    """The options of one emulator process.

    Attributes:
        directory: Folder for everything the emulator writes; it is created when missing.
        region: The region whose seeds are loaded, such as ``us-west-2``.
        port: TCP port on 127.0.0.1.
        parallelcluster_python: Interpreter of the virtual environment with aws-parallelcluster, or None when
            no stack uses the ParallelCluster provider.
        node_modules: Folder with the AWS SDK clients that Lambda's Node.js runtime provides, or None.
        certificate_arns: The ACM certificates that the account holds.
        network: The VPC that the account has, as `make_network` takes it; None if it has none.
        existing: What else it has, as `make_storage` takes it.
    """

    directory: Path
    region: str
    port: int
    parallelcluster_python: Path | None = None
    node_modules: Path | None = None
    certificate_arns: tuple[str, ...] = ()
    network: Mapping[str, Any] | None = None
    existing: Sequence[Mapping[str, Any]] = ()

    @property
    def endpoint(self) -> str:
        """The address of every emulated AWS service."""
        return f"http://{HOST}:{self.port}"

    @property
    def ledger_file(self) -> Path:
        """The JSON lines that say what happened."""
        return self.directory / "ledger.jsonl"

    @property
    def faults_file(self) -> Path:
        """The failures that a test asks for (`faults.py`)."""
        return self.directory / "faults.json"

    @property
    def permissions_file(self) -> Path:
        """The JSON lines that say which calls were allowed, and by which policies."""
        return self.directory / "permissions.jsonl"

    @property
    def temporary_files(self) -> Path:
        """Where this process and its children put temporary files; removed at the end."""
        return self.directory / "tmp"

    @property
    def home(self) -> Path:
        """The home folder of the Lambda processes (ParallelCluster logs to ``~/.parallelcluster``)."""
        return self.directory / "home"

    @property
    def function_logs(self) -> Path:
        """One log file for each Lambda function that ran."""
        return self.directory / "lambda"

    def prepare(self) -> None:
        """Create the folders, emptying what an earlier run left in the temporary one."""
        shutil.rmtree(self.temporary_files, ignore_errors=True)
        for folder in (self.temporary_files, self.home, self.function_logs):
            folder.mkdir(parents=True, exist_ok=True)
        self.ledger_file.write_text("", encoding="utf-8")
        self.faults_file.unlink(missing_ok=True)
