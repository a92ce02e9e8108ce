"""Calls of the real `openai` client pass through each environment's endpoint, to the right model."""

import asyncio
from collections.abc import Callable

import openai
import pytest

from slipway import facts
from tests.endpoint.engine_launchers import LAUNCHERS
from tests.endpoint.running_endpoint import SECRET_VALUE, RunningEndpoint
from tests.endpoint.served_models import CASES, EACH_MODEL, VARIANTS, Case

Endpoints = Callable[[str], RunningEndpoint]
QUESTION = "Who jumps over a lazy dog?"


def test_every_engine_and_authentication_is_tried(endpoints: Endpoints) -> None:
    assert {case.model.engine for case in CASES} == set(facts.inference_engines()) == set(LAUNCHERS)
    authentications = {endpoints(variant).authentication for variant in VARIANTS}
    assert authentications == {"jwt", "cognito", "api_key", "none"}
    routes = [case.model.route for case in CASES]
    assert any(route.path for route in routes)
    assert any(route.host for route in routes)


@EACH_MODEL
def test_the_list_names_the_model_that_the_outputs_name(endpoints: Endpoints, case: Case) -> None:
    endpoint = endpoints(case.variant)
    (model,) = endpoint.client(case.name).models.list().data
    assert model.id == endpoint.model_id(case.name)
    assert model.owned_by == case.model.engine


@EACH_MODEL
def test_chat(endpoints: Endpoints, case: Case) -> None:
    endpoint = endpoints(case.variant)
    answer = endpoint.client(case.name).chat.completions.create(
        model=endpoint.model_id(case.name), messages=[{"role": "user", "content": QUESTION}], max_tokens=5
    )
    assert answer.choices[0].message.content == "the-0 quick-1 brown-2 fox-3 jumps-4 "
    assert answer.usage is not None
    assert answer.usage.completion_tokens == 5
    assert endpoint.reached(case.service)[-1]["target"] == "/v1/chat/completions"


@EACH_MODEL
def test_chat_as_a_stream(endpoints: Endpoints, case: Case) -> None:
    endpoint = endpoints(case.variant)
    chunks = list(
        endpoint.client(case.name).chat.completions.create(
            model=endpoint.model_id(case.name),
            messages=[{"role": "user", "content": QUESTION}],
            max_tokens=5,
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    words = [choice.delta.content for chunk in chunks for choice in chunk.choices if choice.delta.content]
    assert words == ["the-0 ", "quick-1 ", "brown-2 ", "fox-3 ", "jumps-4 "]
    assert [choice.finish_reason for chunk in chunks for choice in chunk.choices][-1] == "length"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == 5


@EACH_MODEL
def test_completions_from_an_asynchronous_client(endpoints: Endpoints, case: Case) -> None:
    endpoint = endpoints(case.variant)

    async def both() -> tuple[str, str]:
        client = endpoint.asynchronous_client(case.name)
        model = endpoint.model_id(case.name)
        whole = await client.completions.create(model=model, prompt=QUESTION, max_tokens=3)
        stream = await client.completions.create(model=model, prompt=QUESTION, max_tokens=3, stream=True)
        parts = [chunk.choices[0].text async for chunk in stream]
        await client.close()
        return whole.choices[0].text, "".join(parts)

    assert asyncio.run(both()) == ("the-0 quick-1 brown-2 ", "the-0 quick-1 brown-2 ")
    assert endpoint.reached(case.service)[-1]["target"] == "/v1/completions"


@EACH_MODEL
def test_models_do_not_get_each_others_requests(endpoints: Endpoints, case: Case) -> None:
    endpoint = endpoints(case.variant)
    others = [other.service for other in CASES if other.variant == case.variant and other != case]
    before = {service: len(endpoint.reached(service)) for service in others}
    endpoint.client(case.name).models.list()
    assert {service: len(endpoint.reached(service)) for service in others} == before


@EACH_MODEL
def test_what_is_not_served_is_an_error_that_the_client_understands(endpoints: Endpoints, case: Case) -> None:
    client = endpoints(case.variant).client(case.name)
    with pytest.raises(openai.NotFoundError) as missing:
        client.embeddings.create(model="any", input="text")
    assert missing.value.type == "invalid_request_error"
    assert isinstance(missing.value.body, dict)
    assert missing.value.body["message"] == "not found"


@EACH_MODEL
def test_another_model_is_not_found_where_the_engine_looks(endpoints: Endpoints, case: Case) -> None:
    client = endpoints(case.variant).client(case.name)
    if not LAUNCHERS[case.model.engine].checks_model:
        assert client.completions.create(model="other", prompt="x", max_tokens=1).choices[0].text == "the-0 "
        return
    with pytest.raises(openai.NotFoundError, match="`other` does not exist"):
        client.completions.create(model="other", prompt="x", max_tokens=1)


@EACH_MODEL
def test_without_the_right_credential_nobody_gets_an_answer(endpoints: Endpoints, case: Case) -> None:
    endpoint = endpoints(case.variant)
    for key in ("wrong", SECRET_VALUE + "x"):
        client = endpoint.client(case.name, api_key=key)
        if endpoint.authentication == "none":
            client.completions.create(model=endpoint.model_id(case.name), prompt="x", max_tokens=1)
            continue
        with pytest.raises(openai.AuthenticationError):
            client.completions.create(model=endpoint.model_id(case.name), prompt="x", max_tokens=1)
