"""Runs Lambda functions: the code that a stack brought, as a process with Lambda's environment."""

import io
import os
import shutil
import sys
import threading
import time
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from botocore.exceptions import ClientError

from slipway_emulator.clients import Clients
from slipway_emulator.failures import ProvisioningError
from slipway_emulator.functions import inline, runtime
from slipway_emulator.functions.function import LambdaFunction, Layer
from slipway_emulator.functions.packages import jsii_packages, point_at_layers, unpack, unpack_cdk, use_own_python
from slipway_emulator.functions.processes import Finished, Processes
from slipway_emulator.functions.python_servers import IMPORTED, PythonServers
from slipway_emulator.functions.responses import ResponseServer
from slipway_emulator.permissions.account import log_group_exists, session_keys
from slipway_emulator.permissions.acting import ADMINISTRATOR, acting_for
from slipway_emulator.settings import Settings

_RUNTIME = Path(runtime.__file__).parent
_CFNRESPONSE = Path(inline.__file__).with_name("cfnresponse.py")
_PARALLELCLUSTER_LAYER = "/layers/aws-parallelcluster/lambda-layer.zip"
"""The layer that holds the aws-parallelcluster package on AWS; here the package's virtual environment does."""
_LOGGED_LINES = 500

DEVIATIONS = {
    "lambda-as-process": "functions run as processes of this machine, without their memory limit, and have at"
    " least 60 s",
    "lambda-sleeps": "a Python function's sleeps are cut to 2 s: they wait for AWS to finish, which here it has",
    "lambda-response-address": "custom resources answer over http on loopback; on AWS it is https",
}
"""What is different when a function runs here, by name."""
_INHERITED = ("PATH", "LANG", "LC_ALL")


class FunctionRunner:
    """Knows every function and layer that stacks have created, and invokes functions."""

    def __init__(self, settings: Settings, clients: Clients, responses: ResponseServer) -> None:
        self._settings = settings
        self._clients = clients
        self._processes = Processes()
        self._servers = PythonServers()
        self._responses = responses
        self._functions: dict[str, LambdaFunction] = {}
        self._layers: dict[str, Layer] = {}
        self._folders: dict[str, Path] = {}
        self._lock = threading.Lock()

    # ---- what exists ---------------------------------------------------------------------------------------

    def add_function(self, function: LambdaFunction) -> None:
        """Take a function in, or its new code and configuration."""
        with self._lock:
            self._functions[function.arn] = function
            outdated = self._folders.pop(function.arn, None)
        if outdated:
            shutil.rmtree(outdated, ignore_errors=True)

    def add_layer(self, layer: Layer) -> None:
        """Take a layer version in."""
        self._layers[layer.arn] = layer

    def find(self, arn: str) -> LambdaFunction | None:
        """The function with this ARN."""
        return self._functions.get(arn)

    # ---- running -------------------------------------------------------------------------------------------

    def invoke(self, function: LambdaFunction, event: str) -> Finished:
        """Run the handler once with a JSON event; what it answers is JSON as well.

        Raises:
            ProvisioningError: The function's language or a layer cannot be run here.
        """
        self._clients.guard.require_trust(function.role, "lambda.amazonaws.com")
        with self._lock:
            if function.arn not in self._folders:
                self._folders[function.arn] = self._unpack(function)
            folder = self._folders[function.arn]
        with TemporaryDirectory(dir=self._settings.temporary_files) as sandbox:
            answer = Path(sandbox) / "answer.json"
            environment = {
                **self._environment(function, folder),
                # The CDK's kubectl handler writes to /tmp, which on Lambda is its sandbox's own.
                "TEST_OUTDIR": sandbox,
                "SLIPWAY_ANSWER": str(answer),
            }
            finished = self._run(function, folder, Path(sandbox), environment, event)
            finished = replace(finished, answer=answer.read_text(encoding="utf-8") if answer.exists() else None)
        with acting_for(function.role), suppress(ClientError):  # Lambda goes on without a log, too
            self._log(function, finished)
        return finished

    def _run(
        self, function: LambdaFunction, folder: Path, sandbox: Path, environment: Mapping[str, str], event: str
    ) -> Finished:
        code, timeout = folder / "code", function.timeout
        if function.runtime.startswith("python"):
            python = self._python(function)
            if python != sys.executable:
                unpack_cdk(Path(python))
            if not _brings_its_own(folder):
                return self._servers.run(
                    python, sandbox, folder=code, environment=environment, text=event, timeout=timeout
                )
            command = [python, str(_RUNTIME / "python_bootstrap.py")]
        elif function.runtime.startswith("nodejs"):
            node = shutil.which("node")
            if node is None:
                raise ProvisioningError(f"{function.name} needs node, which is not on the PATH")
            command = [node, str(_RUNTIME / "node_bootstrap.js")]
        else:
            raise ProvisioningError(f"The emulator cannot run {function.name}: {function.runtime}")
        return self._processes.run(command, folder=code, environment=environment, text=event, timeout=timeout)

    def _python(self, function: LambdaFunction) -> str:
        layers = [self._layers[arn] for arn in function.layers if arn in self._layers]
        if not any(layer.key.endswith(_PARALLELCLUSTER_LAYER) for layer in layers):
            return sys.executable
        if self._settings.parallelcluster_python is None:
            raise ProvisioningError(
                f"{function.name} needs aws-parallelcluster: start the emulator with --parallelcluster-python"
            )
        return str(self._settings.parallelcluster_python)

    def _environment(self, function: LambdaFunction, folder: Path) -> dict[str, str]:
        layers = folder / "opt"
        node_modules = [layers / "nodejs" / "node_modules", self._settings.node_modules]
        return {
            **{name: os.environ[name] for name in _INHERITED if name in os.environ},
            **(jsii_packages(python) if (python := self._settings.parallelcluster_python) else {}),
            **function.environment,
            "HOME": str(self._settings.home),
            "TMPDIR": str(self._settings.temporary_files),
            **session_keys(function.role, function.name),
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ENDPOINT_URL": self._settings.endpoint,
            "AWS_REGION": function.region,
            "AWS_DEFAULT_REGION": function.region,
            "AWS_LAMBDA_FUNCTION_NAME": function.name,
            "AWS_LAMBDA_LOG_GROUP_NAME": function.log_group,
            "LAMBDA_TASK_ROOT": str(folder / "code"),
            "NODE_NO_WARNINGS": "1",
            "NODE_PATH": ":".join(str(path) for path in node_modules if path),
            "PYTHONPATH": f"{layers / 'python'}:{_RUNTIME}",
            "SLIPWAY_FUNCTION_ARN": function.arn,
            "SLIPWAY_RESPONSE_PORT": str(self._responses.port),
            "_HANDLER": function.handler,
        }

    def close(self) -> None:
        """End every process, and start none any more."""
        self._processes.close()
        self._servers.close()

    # ---- code ----------------------------------------------------------------------------------------------

    def _unpack(self, function: LambdaFunction) -> Path:
        folder = self._settings.temporary_files / "functions" / f"{function.name}-{time.monotonic_ns()}"
        layers = folder / "opt"
        for arn in function.layers:
            if layer := self._layers.get(arn):
                unpack(self._object(layer.bucket, layer.key, layer.region), layers)
        code = function.properties["Code"]
        if "ZipFile" in code:
            unpack(code["ZipFile"], folder / "code")
            shutil.copy(_CFNRESPONSE, folder / "code")
        else:
            unpack(self._object(code["S3Bucket"], code["S3Key"], function.region), folder / "code")
        if layers.exists():
            use_own_python(layers)
            point_at_layers(folder / "code", layers)
        return folder

    def _object(self, bucket: str, key: str, region: str) -> bytes:
        with acting_for(ADMINISTRATOR):  # Lambda has taken the code when the function was made, with its maker's rights
            answer = self._clients.get("s3", region).get_object(Bucket=bucket, Key=key)
            return bytes(answer["Body"].read())

    # ---- logs ----------------------------------------------------------------------------------------------

    def _log(self, function: LambdaFunction, finished: Finished) -> None:
        """Keep the output in a file, and in CloudWatch Logs, where Lambda leaves a log group of its own."""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        with (self._settings.function_logs / f"{function.name}.log").open("a", encoding="utf-8") as file:
            file.write(f"=== {stamp} exit code {finished.exit_code}\n{finished.output}\n")
        logs = self._clients.get("logs", function.region)
        stream = {"logGroupName": function.log_group, "logStreamName": f"rehearsal/{time.monotonic_ns()}"}
        if not log_group_exists(function.region, function.log_group):  # the stack's own, or an earlier run's
            with suppress(logs.exceptions.ResourceAlreadyExistsException):  # of a run beside this one
                logs.create_log_group(logGroupName=function.log_group)
        logs.create_log_stream(**stream)
        lines = [line for line in finished.output.splitlines() if line.strip()][-_LOGGED_LINES:]
        if lines:
            now = int(time.time() * 1000)
            logs.put_log_events(**stream, logEvents=[{"timestamp": now, "message": line} for line in lines])


def _brings_its_own(folder: Path) -> bool:
    """Whether a function comes with its own version of what the servers have imported."""
    names = {module.partition(".")[0] for module in IMPORTED} | {"botocore"}
    return any((path / name).exists() for path in (folder / "code", folder / "opt" / "python") for name in names)


def archive_of_inline_code(source: str, language: str) -> bytes:
    """Inline code as the archive that Lambda makes of it.

    Args:
        source: The template's ``ZipFile`` text.
        language: The function's runtime.
    """
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("index.py" if language.startswith("python") else "index.js", source)
    return content.getvalue()
