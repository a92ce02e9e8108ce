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
    results = context.Queue()
    processes = [context.Process(target=_work, args=(rank, size, port, function, results)) for rank in range(size)]
    for process in processes:
        process.start()
    found: dict[int, Any] = {}
    try:
        for _ in processes:
            rank, value, error = results.get(timeout=WAIT_SECONDS)
            if error:
                raise WorkerError(f"worker {rank}: {error}")
            found[rank] = value
        return [found[rank] for rank in range(size)]
    finally:
        for process in processes:
            if len(found) < size:
                process.kill()
            process.join()


def _work(rank: int, size: int, port: int, function: Callable[[Workers], Any], results: Any) -> None:
    torch.set_num_threads(1)
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in place.items()})
    hardware = Hardware(device="cpu", framework="native", nodes=1, workers_per_node=size)
    try:
        workers = join(hardware)
        value = function(workers)
        # Worker 0 has the store by which the others meet: it must not end while one of them still makes its groups.
        workers.barrier()
        leave()
    except BaseException:
        results.put((rank, None, traceback.format_exc()))
    else:
        results.put((rank, value, None))
