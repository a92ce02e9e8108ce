"""The stand-in for an OpenAI-compatible endpoint answers in the types of the `openai` client."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import pytest
from openai.types import Model
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from tests.operate.endpoint.conftest import served
from tests.operate.endpoint.stand_in import MODEL, StandIn

pytestmark = pytest.mark.contract


def answer(url: str, body: dict[str, Any] | None = None) -> str:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as response:
        text: str = response.read().decode()
    return text


def test_each_answer_of_the_stand_in_has_the_types_of_the_client() -> None:
    stand_in = StandIn()
    ask: dict[str, Any] = {"model": MODEL, "messages": [{"role": "user", "content": "Hello"}]}
    with served(stand_in, None):
        whole = answer(f"{stand_in.url}/chat/completions", ask)
        events = answer(f"{stand_in.url}/chat/completions", ask | {"stream": True}).split("\n\n")
        listed = json.loads(answer(f"{stand_in.url}/models"))

    ChatCompletion.model_validate_json(whole, strict=True)
    chunks = [event.removeprefix("data: ") for event in events if event]
    assert chunks.pop() == "[DONE]"
    assert {ChatCompletionChunk.model_validate_json(chunk, strict=True).model for chunk in chunks} == {MODEL}
    assert [Model.model_validate(model, strict=True).id for model in listed["data"]] == [MODEL]
