"""The recipe's models work in a training environment too, where the training code reads them."""

import pytest
from pydantic import ValidationError

from slipway_jobs.recipe.architecture import Llama


def test_numbers_in_quotes_are_refused() -> None:
    with pytest.raises(ValidationError, match="hidden_size"):
        Llama.model_validate_json('{"architecture": "llama", "hidden_size": "64"}')
