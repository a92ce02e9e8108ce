"""The endpoints of the tried environments, each started once in a session, with one task for each model."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest

from tests.assembly import Assembly
from tests.endpoint.running_endpoint import RunningEndpoint, running_endpoint
from tests.endpoint.stack_values import with_version

EndpointFactory = Callable[[str], RunningEndpoint]


@pytest.fixture(scope="session")
def endpoints(
    assemblies: Callable[[str], Assembly], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EndpointFactory]:
    """Return the running endpoint of an environment by name."""
    with ExitStack() as running:

        @cache
        def start(variant: str) -> RunningEndpoint:
            template = assemblies(variant).template("inference")
            directory = tmp_path_factory.mktemp(f"endpoint-{variant}")
            return running.enter_context(running_endpoint(template, directory, parameters=with_version(template)))

        yield start
