"""moto's web server on loopback, with the engine behind its CloudFormation."""

import gc
import logging
import os
import socket
import sys
import tempfile
import threading
import warnings
from functools import cache

from werkzeug.serving import BaseWSGIServer, make_server

from slipway_emulator.faults import Faults
from slipway_emulator.functions.responses import ResponseServer
from slipway_emulator.ledger import Ledger
from slipway_emulator.settings import HOST, Settings

_MOTO_SWITCHES = {
    "MOTO_IAM_LOAD_MANAGED_POLICIES": "true",
    "MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION": "true",
    "MOTO_ENABLE_AMI_VALIDATION": "true",
    "MOTO_ENABLE_KEYPAIR_VALIDATION": "true",
}
"""moto checks what AWS checks only with these switches, and reads them when it is imported."""


def prepare_process(settings: Settings) -> None:
    """Point temporary files into the directory and set moto's switches; to be called before moto is imported."""
    settings.prepare()
    os.environ.update(_MOTO_SWITCHES)
    os.environ["TMPDIR"] = tempfile.tempdir = str(settings.temporary_files)
    # Whatever the caller's shell says must not lead a client of this process anywhere.
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ["AWS_CONFIG_FILE"] = os.environ["AWS_SHARED_CREDENTIALS_FILE"] = os.devnull
    os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
    warnings.filterwarnings("ignore")
    logging.basicConfig(stream=sys.stderr, level=logging.INFO)
    # moto and botocore keep millions of objects: to search them for circles as often as Python does takes a quarter of
    # the time.
    gc.set_threshold(100_000, 20, 100)


class Emulator:
    """Everything that runs in the emulator's process."""

    def __init__(self, settings: Settings, listener: socket.socket) -> None:
        # moto reads its switches when it is imported: `prepare_process` has to come first.
        from moto.core.config import default_user_config  # noqa: PLC0415
        from moto.moto_server.werkzeug_app import (  # noqa: PLC0415
            DomainDispatcherApplication,
            MotoRequestHandler,
            create_backend_app,
        )

        from slipway_emulator import cloudformation_api  # noqa: PLC0415
        from slipway_emulator.clients import Clients  # noqa: PLC0415
        from slipway_emulator.functions.invocations import answer_invocations  # noqa: PLC0415
        from slipway_emulator.functions.runner import FunctionRunner  # noqa: PLC0415
        from slipway_emulator.kubernetes_api.clusters import KubernetesApis  # noqa: PLC0415
        from slipway_emulator.moto_patches import bridge_all  # noqa: PLC0415
        from slipway_emulator.permissions.guard import Guard  # noqa: PLC0415
        from slipway_emulator.registration import fill_catalogue  # noqa: PLC0415
        from slipway_emulator.stacks.engine import Engine  # noqa: PLC0415

        # State machines run: moto has LocalStack's interpreter, whose tasks call this server.
        default_user_config["stepfunctions"]["execute_state_machine"] = True
        os.environ["MOTO_PORT"] = str(listener.getsockname()[1])
        self._settings = settings
        self._ledger = Ledger(settings.ledger_file)
        guard = Guard(settings.permissions_file)
        self._clients = Clients(settings, guard)
        self._responses = ResponseServer()
        self._runner = runner = FunctionRunner(settings, self._clients, self._responses)
        engine = Engine(self._clients, self._ledger, Faults(settings.faults_file))
        self._kubernetes = KubernetesApis(settings.temporary_files)
        fill_catalogue(engine, self._clients, self._ledger, runner, self._responses, kubernetes=self._kubernetes)
        bridge_all(self._ledger)
        self._kubernetes.stand_behind_clusters()
        answer_invocations(runner)
        cloudformation_api.serve(engine, self._clients)
        application = DomainDispatcherApplication(create_backend_app)
        # moto lists its own folder at each request to see who answers a host: 7 % of a rehearsal's time.
        application.get_backend_for_host = cache(application.get_backend_for_host)  # type: ignore[method-assign]
        self._server: BaseWSGIServer = make_server(
            HOST,
            settings.port,
            guard.before(application),
            threaded=True,
            fd=listener.fileno(),
            request_handler=MotoRequestHandler,
        )
        self._thread = threading.Thread(target=self._server.serve_forever, name="server", daemon=True)

    def start(self) -> None:
        """Answer requests, then put in place what a real region already holds."""
        from slipway_emulator import fixtures  # noqa: PLC0415

        fixtures.seed_images(self._settings.existing, self._ledger)
        fixtures.seed_account(self._settings, self._ledger)
        self._thread.start()
        fixtures.seed_public_parameters(self._settings.region, self._ledger)
        fixtures.seed_parallelcluster(self._clients, self._settings.region, self._ledger)
        fixtures.seed_storage(self._settings, self._clients, self._ledger)

    def stop(self) -> None:
        """End every child process and stop answering."""
        self._runner.close()
        self._server.shutdown()
        self._responses.close()
        self._kubernetes.close()
