"""The environments whose endpoints are tried, and the models behind them."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from slipway import facts
from slipway.config.inference import ServedModel
from tests.assembly import load

VARIANTS = ("public", "apikey", "machines", "rolledout", "trainium2")
"""Each way to authenticate, each engine, models told apart by path and by host, models that are rolled out."""


@dataclass(frozen=True)
class Case:
    """One model of one environment."""

    variant: str
    model: ServedModel

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def service(self) -> str:
        return self.model.name.replace(".", "-")

    @property
    def engine(self) -> facts.InferenceEngine:
        return facts.inference_engine(self.model.engine)


def _cases() -> Iterator[Case]:
    for variant in VARIANTS:
        inference = load(variant).inference
        assert inference is not None
        for model in inference.models:
            yield Case(variant, model)


CASES = tuple(_cases())

EACH_MODEL = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.variant}-{case.name}")
