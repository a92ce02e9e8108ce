"""Runs a function on some processes that meet over gloo, as below torchrun; forked, so that imports are done."""

import multiprocessing
import os
import socket
import traceback
from collections.abc import Callable
from typing import Any

import torch

from slipway_jobs.recipe.model import Hardware
from slipway_training.device import Workers, join, leave

WAIT_SECONDS = 120


class WorkerError(AssertionError):
    """What a worker raised."""


def on_workers(size: int, function: Callable[[Workers], Any]) -> list[Any]:
    """Run a function on `size` workers and return what each returned.

    Raises:
        WorkerError: one raised something; its traceback.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    processes = [context.Process(target=_work, args=(rank, size, port, function, results)) for rank in range(size)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(WAIT_SECONDS)
    hanging = [process for process in processes if process.is_alive()]
    for process in hanging:
        process.kill()
    found = {}
    while not results.empty():
        rank, value, error = results.get()
        if error:
            raise WorkerError(f"worker {rank}: {error}")
        found[rank] = value
    assert not hanging, f"{len(hanging)} workers did not end"
    return [found[rank] for rank in range(size)]


def _work(rank: int, size: int, port: int, function: Callable[[Workers], Any], results: Any) -> None:
    torch.set_num_threads(1)
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in place.items()})
    hardware = Hardware(device="cpu", framework="native", nodes=1, workers_per_node=size)
    try:
        value = function(join(hardware))
        leave()
    except BaseException:
        results.put((rank, None, traceback.format_exc()))
        # Workers that wait for this one shall end too.
        os._exit(1)
    results.put((rank, value, None))
