"""A canary gets its share of the requests and no more, and a model without a version gets none."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import openai
import pytest

from tests.assembly import Assembly
from tests.endpoint.running_endpoint import RunningEndpoint, running_endpoint
from tests.endpoint.stack_values import rolled_out_parameters, with_version

Assemblies = Callable[[str], Assembly]
MODEL, CANDIDATE = "tanuki-8b", "tanuki-8b-candidate"
REQUESTS = 80


@contextmanager
def running(assemblies: Assemblies, directory: Path, **values: str) -> Iterator[RunningEndpoint]:
    """Run the endpoint with the model's parameters, by their names in the template's metadata."""
    template = assemblies("rolledout").template("inference")
    names = rolled_out_parameters(template)[MODEL]
    parameters = {names[key]: value for key, value in values.items()}
    with running_endpoint(template, directory, parameters={**with_version(template), **parameters}) as endpoint:
        yield endpoint


def asked(endpoint: RunningEndpoint) -> Mapping[str, int]:
    """Ask many times, and count what each service answered."""
    client = endpoint.client(MODEL)
    for _ in range(REQUESTS):
        client.completions.create(model=endpoint.model_id(MODEL), prompt="x", max_tokens=1)
    return {service: len(endpoint.reached(service)) for service in (MODEL, CANDIDATE)}


def test_a_candidate_gets_its_share(assemblies: Assemblies, tmp_path: Path) -> None:
    with running(assemblies, tmp_path, candidate=f"{MODEL}/v2", served_weight="75", candidate_weight="25") as endpoint:
        share = asked(endpoint)
        assert sum(share.values()) == REQUESTS
        assert REQUESTS * 0.1 < share[CANDIDATE] < REQUESTS * 0.4
        assert endpoint.client(MODEL).models.list().data[0].id == endpoint.model_id(MODEL)


def test_a_candidate_without_weight_gets_nothing(assemblies: Assemblies, tmp_path: Path) -> None:
    with running(assemblies, tmp_path, candidate=f"{MODEL}/v2") as endpoint:
        assert {task.container.service for task in endpoint.tasks} == {MODEL, CANDIDATE}
        assert asked(endpoint) == {MODEL: REQUESTS, CANDIDATE: 0}


def test_all_requests_may_go_to_the_candidate(assemblies: Assemblies, tmp_path: Path) -> None:
    with running(assemblies, tmp_path, candidate=f"{MODEL}/v2", served_weight="0", candidate_weight="100") as endpoint:
        assert asked(endpoint) == {MODEL: 0, CANDIDATE: REQUESTS}


@pytest.mark.parametrize("share", ["0", "100"], ids=["of the served version", "of the candidate"])
def test_clients_keep_the_model_id_when_the_version_changes(assemblies: Assemblies, tmp_path: Path, share: str) -> None:
    weights = {"served_weight": str(100 - int(share)), "candidate_weight": share}
    with running(assemblies, tmp_path, served=f"{MODEL}/v7", candidate=f"{MODEL}/v8", **weights) as endpoint:
        (listed,) = endpoint.client(MODEL).models.list().data
        answer = endpoint.client(MODEL).completions.create(model=listed.id, prompt="x", max_tokens=1)
        assert listed.id == endpoint.model_id(MODEL) == answer.model == f"/models/{MODEL}"
        assert len(endpoint.reached(MODEL if share == "0" else CANDIDATE)) == 2


def test_before_the_first_roll_out_there_is_an_error_and_no_task(assemblies: Assemblies, tmp_path: Path) -> None:
    with running_endpoint(assemblies("rolledout").template("inference"), tmp_path) as endpoint:
        assert endpoint.tasks == []
        with pytest.raises(openai.InternalServerError) as nobody:
            endpoint.client(MODEL).models.list()
        assert nobody.value.status_code == 503
        headers = {"Host": endpoint.host(MODEL)}
        assert endpoint.ask("GET", "/metrics", listener_port=80, headers=headers).status == 404
