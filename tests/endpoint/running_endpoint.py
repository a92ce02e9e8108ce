"""An endpoint on loopback, made from a template: load balancer, issuer of tokens and engines.

`with running_endpoint(template, directory) as endpoint:` and then `endpoint.client("tanuki-8b")` is a real `openai`
client; `endpoint.base_url(...)`, `endpoint.ca_file` and `endpoint.credential` serve other clients.
"""

import asyncio
import http.client
import ssl
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import openai
import trustme

from tests.endpoint.engine_task import RunningTask, ServedContainer, TaskStarter, served_containers
from tests.endpoint.gateway import Access, Gateway, Reality
from tests.endpoint.gateway_targets import State
from tests.endpoint.gateway_template import Action, Forward, JwtValidation, JwtValidationConfig, LoadBalancerTemplate
from tests.endpoint.raw_requests import RawAnswer, asked
from tests.endpoint.stack_values import StackValues
from tests.endpoint.token_issuer import TokenIssuer

SECRET_VALUE = "Sesame-0pen"
METADATA = "Slipway::Endpoint"
_PATIENCE_SECONDS = 60.0

Result = TypeVar("Result")


class RunningEndpoint:
    """The endpoint; its methods may be called from any thread."""

    def __init__(
        self, template: Mapping[str, Any], directory: Path, parameters: Mapping[str, str], scale: float
    ) -> None:
        self.values = StackValues(template, parameters)
        self.balancer = LoadBalancerTemplate(self.values)
        self.containers = served_containers(self.values)
        self.models: Mapping[str, Mapping[str, Any]] = {
            model["name"]: model for model in self.values.metadata[METADATA]["models"]
        }
        self.authentication: str = self.values.metadata[METADATA]["authentication"]
        self.issuer = TokenIssuer()
        self.scale = scale
        self.tasks: list[RunningTask] = []
        self._authority = trustme.CA()
        self.ca_file = directory / "ca.pem"
        self._authority.cert_pem.write_to_path(str(self.ca_file))
        self._outputs = self.values.outputs()
        self._starter = TaskStarter(
            engines={service: self._engine_of(service) for service in self.containers},
            scale=scale,
            secret_value=SECRET_VALUE,
            directory=directory,
        )
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    # ---- life ------------------------------------------------------------------------------------------------
    def start(self) -> None:
        """Open the listeners, without a task behind them."""
        self._thread.start()
        self.run(self._start())

    async def _start(self) -> None:
        await self.issuer.start()
        certificate = self._authority.issue_cert("localhost", "127.0.0.1", *self.host_names())
        reality = Reality(
            scale=self.scale,
            certificate=certificate.configure_cert,
            key_sets={check.jwks_endpoint: self.issuer.address for check in self.token_checks()},
        )
        self.gateway = Gateway(self.balancer, reality)
        await self.gateway.start()

    def close(self) -> None:
        """End everything."""
        for task in self.tasks:
            self.run(task.end(1))
        if hasattr(self, "gateway"):
            self.run(self.gateway.close())
        self.run(self.issuer.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run something in the endpoint's own thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    # ---- tasks -----------------------------------------------------------------------------------------------
    def start_task(self, service: str, *, load_seconds: float = 0, until_healthy: bool = True) -> RunningTask:
        """Start a task of a service, and wait until it takes requests unless told not to."""
        return self.run(self._start_task(self.containers[service], load_seconds, until_healthy))

    async def _start_task(self, container: ServedContainer, load_seconds: float, until_healthy: bool) -> RunningTask:
        task = await self._starter.start(container, load_seconds=load_seconds)
        self.tasks.append(task)
        self.gateway.groups[container.target_group].register(task.target)
        if until_healthy:
            await self._healthy(task)
        return task

    def wait_until_healthy(self, task: RunningTask) -> None:
        """Wait until a task takes requests."""
        self.run(self._healthy(task))

    @staticmethod
    async def _healthy(task: RunningTask) -> None:
        def is_healthy() -> bool:
            assert task.process.returncode is None, f"the engine of {task.container.service} has ended"
            return task.target.state is State.HEALTHY

        await _until(is_healthy)

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait for something that happens soon."""
        self.run(_until(condition))

    def stop_task(self, task: RunningTask, *, closes_connections: bool = True) -> None:
        """Stop a task as ECS does; returns when it has ended."""
        group = self.gateway.groups[task.container.target_group]
        self.run(task.stop(group, scale=self.scale, closes_connections=closes_connections))
        self.tasks.remove(task)

    def _engine_of(self, service: str) -> str:
        for model in self.models.values():
            name = model["name"].replace(".", "-")
            if service in (name, f"{name}-candidate"):
                return str(model["engine"])
        raise AssertionError(f"no model has the service {service}")

    # ---- clients ---------------------------------------------------------------------------------------------
    def base_url(self, model: str) -> str:
        """The model's base URL, as the stack's output says, with the loopback address in place of the host's name."""
        address = urlsplit(self._outputs[self.models[model]["base_url_output"]])
        default = 443 if address.scheme == "https" else 80
        return f"{address.scheme}://localhost:{self.gateway.ports[address.port or default]}{address.path}"

    def host(self, model: str) -> str:
        """The host's name in the model's base URL."""
        return urlsplit(self._outputs[self.models[model]["base_url_output"]]).netloc

    def model_id(self, model: str) -> str:
        """What clients send as `model`, as the stack's output says."""
        return self._outputs[self.models[model]["model_id_output"]]

    @property
    def credential(self) -> str:
        """What a legitimate client sends as API key."""
        return self.token() if self.token_checks() else SECRET_VALUE

    def token(self, **claims: Any) -> str:
        """A token that every check of the template lets pass, with other claims where given; None takes one out."""
        return self.issuer.token(self.valid_claims() | claims)

    def valid_claims(self, service: str | None = None) -> dict[str, Any]:
        """Claims that every check of the template wants; with a service those that the way to it wants."""
        wanted: dict[str, Any] = {}
        for check in self.token_checks(service):
            wanted["iss"] = check.issuer
            for claim in check.additional_claims:
                value: Any = [claim.values[0]] if claim.format == "string-array" else claim.values[0]
                words = claim.format == "space-separated-values" and claim.name in wanted
                wanted[claim.name] = f"{wanted[claim.name]} {value}" if words else value
        return wanted

    def client(self, model: str, *, api_key: str | None = None) -> openai.OpenAI:
        """A real client for a model; it does not retry."""
        return openai.OpenAI(
            base_url=self.base_url(model),
            api_key=self.credential if api_key is None else api_key,
            default_headers={"Host": self.host(model)},
            http_client=openai.DefaultHttpxClient(verify=self.tls(), trust_env=False),
            max_retries=0,
            timeout=_PATIENCE_SECONDS,
        )

    def asynchronous_client(self, model: str) -> openai.AsyncOpenAI:
        """As `client`, asynchronous."""
        return openai.AsyncOpenAI(
            base_url=self.base_url(model),
            api_key=self.credential,
            default_headers={"Host": self.host(model)},
            http_client=openai.DefaultAsyncHttpxClient(verify=self.tls(), trust_env=False),
            max_retries=0,
            timeout=_PATIENCE_SECONDS,
        )

    def tls(self) -> ssl.SSLContext:
        """What a client trusts."""
        return ssl.create_default_context(cafile=str(self.ca_file))

    def ask(
        self, method: str, target: str, *, listener_port: int, headers: Mapping[str, str] | None = None
    ) -> RawAnswer:
        """Send a request line exactly as given, on a connection of its own."""
        with closing(self.connection(listener_port)) as connection:
            return asked(connection, method, target, headers)

    def connection(self, listener_port: int) -> http.client.HTTPConnection:
        """A connection to the template's listener on this port."""
        port = self.gateway.ports[listener_port]
        if self.is_secure(listener_port):
            return http.client.HTTPSConnection("localhost", port, context=self.tls(), timeout=_PATIENCE_SECONDS)
        return http.client.HTTPConnection("localhost", port, timeout=_PATIENCE_SECONDS)

    @staticmethod
    def ask_engine(task: RunningTask, method: str, target: str) -> RawAnswer:
        """Send a request to a task itself, as only the inside of the VPC could: with a key, where it asks for one."""
        address = task.target.host, task.target.port
        connection, headers = http.client.HTTPConnection(*address, timeout=_PATIENCE_SECONDS), {}
        if task.container.secrets:
            context = ssl._create_unverified_context()
            connection = http.client.HTTPSConnection(*address, context=context, timeout=_PATIENCE_SECONDS)
            headers = {"Authorization": f"Bearer {SECRET_VALUE}"}
        with closing(connection):
            return asked(connection, method, target, headers)

    def is_secure(self, listener_port: int) -> bool:
        """Whether the template's listener on this port speaks HTTPS."""
        protocols = {listener.port: listener.protocol for listener in self.balancer.listeners.values()}
        return protocols[listener_port] == "HTTPS"

    # ---- what happened ---------------------------------------------------------------------------------------
    def reached(self, service: str) -> list[Mapping[str, Any]]:
        """Requests that reached the tasks of a service, without the health checks of its target group."""
        path = self.balancer.target_groups[self.containers[service].target_group].health_check_path
        return [
            request
            for task in self.tasks
            if task.container.service == service
            for request in task.requests()
            if request["target"] != path
        ]

    @property
    def access_log(self) -> Sequence[Access]:
        """The load balancer's access log."""
        return self.gateway.log

    # ---- the template ----------------------------------------------------------------------------------------
    def token_checks(self, service: str | None = None) -> list[JwtValidationConfig]:
        """Every token check of the template; with a service those on the way to it."""
        return [
            action.jwt_validation_config
            for listener_id in self.balancer.listeners
            for rule in self.balancer.rules(listener_id)
            for action in rule.actions
            if isinstance(action, JwtValidation) and (service is None or self._leads_to(rule.actions, service))
        ]

    def _leads_to(self, actions: Sequence[Action], service: str) -> bool:
        groups = [
            group.target_group_arn
            for action in actions
            if isinstance(action, Forward)
            for group in action.target_groups
        ]
        return self.containers[service].target_group in groups

    def host_names(self) -> list[str]:
        """Host names of the models' base URLs."""
        return sorted({self.host(model) for model in self.models})


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(_PATIENCE_SECONDS):
        while not condition():
            await asyncio.sleep(0.01)


@contextmanager
def running_endpoint(
    template: Mapping[str, Any],
    directory: Path,
    *,
    parameters: Mapping[str, str] | None = None,
    scale: float = 0.01,
    tasks: bool = True,
) -> Iterator[RunningEndpoint]:
    """Run the endpoint that a template describes, on loopback.

    Args:
        template: the inference stack's template.
        directory: for certificates and logs.
        parameters: values of the template's parameters, for versions and weights.
        scale: real seconds for one of the template's.
        tasks: whether to start a task of each service that wants any, and wait until they are healthy.
    """
    endpoint = RunningEndpoint(template, directory, parameters or {}, scale)
    try:
        endpoint.start()
        if tasks:
            endpoint.run(_start_all(endpoint))
        yield endpoint
    finally:
        endpoint.close()


async def _start_all(endpoint: RunningEndpoint) -> None:
    wanted = [container for container in endpoint.containers.values() if container.desired_count]
    await asyncio.gather(*(endpoint._start_task(container, 0, until_healthy=True) for container in wanted))
