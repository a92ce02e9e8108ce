"""Inference hosts with more memory, for a model that fills too much of its host's."""

from __future__ import annotations

import math

from slipway.facts.hardware import InstanceType, instance_type, instance_types
from slipway.facts.inference import inference_engine
from slipway.facts.prices import on_demand_price
from slipway.facts.regions import offered_zone_ids

HOST_SHARE = 0.6
"""Part of a host's memory that weights may take while they are loaded. Reports of engines that were killed on
inf2.xlarge are common (huggingface/optimum-neuron's issues); no documentation names a limit."""


def larger_hosts(engine: str, host: str, region: str) -> list[InstanceType]:
    """Return the hosts of an engine that have more memory than one, and no fewer NeuronCores: the cheapest first.

    Args:
        engine: Name of the inference engine.
        host: Instance type of the host that is too small.
        region: A type that no zone of it offers is left out; one without an on-demand price comes last.

    Raises:
        UnknownFact: Slipway knows no such engine, instance type or region.
    """
    small = instance_type(host)
    larger = [
        row
        for row in instance_types().values()
        if row.family in inference_engine(engine).instance_families
        and row.memory_gib > small.memory_gib
        and row.logical_neuron_cores >= small.logical_neuron_cores
        and offered_zone_ids(row.name, region)
    ]
    return sorted(larger, key=lambda row: (_usd(row, region) or math.inf, row.memory_gib))


def hosts_that_hold(weights_gib: float, engine: str, host: str, region: str) -> str:
    """Name the cheapest larger host of each family of which weights take `HOST_SHARE` at most, with its price.

    Args:
        weights_gib: Size of the weights.
        engine: Name of the inference engine.
        host: Instance type of the host that is too small.
        region: Where it runs.

    Returns:
        For example ``trn1.2xlarge ($1.34 an hour, list price)``; empty where no host of the engine is that large.
    """
    enough = [row for row in larger_hosts(engine, host, region) if weights_gib <= row.memory_gib * HOST_SHARE]
    cheapest = {row.family: row for row in reversed(enough)}.values()
    return " or ".join(_with_price(row, region) for row in sorted(cheapest, key=enough.index))


def _with_price(row: InstanceType, region: str) -> str:
    usd = _usd(row, region)
    return f"{row.name} ({'no on-demand price' if usd is None else f'${usd:.2f} an hour, list price'})"


def _usd(row: InstanceType, region: str) -> float | None:
    price = on_demand_price(row.name, region)
    return price.usd if price else None
