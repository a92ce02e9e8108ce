"""The emulator's process: ``python -m emulator --directory DIR --region REGION``.

It prints one JSON line, ``{"port": ..., "pid": ...}``, when it answers, and ends on SIGTERM or SIGINT.
"""

import argparse
import json
import os
import shutil
import signal
import socket
import sys
import threading
from pathlib import Path

from slipway_emulator.functions.runtime import loopback_only
from slipway_emulator.server import Emulator, prepare_process
from slipway_emulator.settings import HOST, Settings


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m emulator", description=__doc__)
    parser.add_argument("--directory", type=Path, required=True, help="folder for everything it writes")
    parser.add_argument("--region", required=True, help="AWS region to stand for, such as us-west-2")
    parser.add_argument("--port", type=int, default=0, help="TCP port on 127.0.0.1; 0 takes a free one")
    parser.add_argument(
        "--parallelcluster-python",
        type=Path,
        help="interpreter of the virtual environment that has aws-parallelcluster",
    )
    parser.add_argument("--node-modules", type=Path, help="folder with the AWS SDK clients of Lambda's Node.js")
    parser.add_argument(
        "--certificate",
        action="append",
        default=[],
        metavar="ARN",
        help="an ACM certificate that the account holds; give it once for each",
    )
    parser.add_argument(
        "--existing",
        type=json.loads,
        default=[],
        metavar="JSON",
        help="what else the account has: what `make_storage` takes",
    )
    parser.add_argument(
        "--network", type=json.loads, metavar="JSON", help="a VPC that the account has: what `make_network` takes"
    )
    return parser.parse_args(arguments)


def _settings(options: argparse.Namespace, port: int) -> Settings:
    return Settings(
        directory=options.directory.absolute(),
        region=options.region,
        port=port,
        parallelcluster_python=options.parallelcluster_python and options.parallelcluster_python.absolute(),
        node_modules=options.node_modules and options.node_modules.absolute(),
        certificate_arns=tuple(options.certificate),
        network=options.network,
        existing=options.existing,
    )


def main(arguments: list[str] | None = None) -> int:
    """Run until a signal comes; answers the exit code."""
    options = _options(arguments)
    try:
        listener = socket.create_server((HOST, options.port))
    except OSError as error:
        sys.stderr.write(f"cannot listen on {HOST}:{options.port}: {error.strerror}\n")
        return 1
    settings = _settings(options, listener.getsockname()[1])
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    prepare_process(settings)
    loopback_only.install()
    with (settings.directory / "emulator.log").open("w", encoding="utf-8", buffering=1) as log:
        os.dup2(log.fileno(), sys.stderr.fileno())
        emulator = Emulator(settings, listener)
        emulator.start()
        sys.stdout.write(json.dumps({"port": settings.port, "pid": os.getpid()}) + "\n")
        sys.stdout.flush()
        ended.wait()
        emulator.stop()
    shutil.rmtree(settings.temporary_files, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
