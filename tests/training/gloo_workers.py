"""Runs a function, or a module below torchrun, on processes that meet over gloo; forked, so that imports are done.

A worker that is started as a program imports for ten CPU seconds. tests/slurm starts the same jobs as programs.
"""

import multiprocessing
import os
import runpy
import signal
import socket
import sys
import threading
import traceback
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch._dynamo  # an optimizer imports it at its first step: 6 to 8 CPU seconds in each fork
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

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


def run_below_torchrun(
    size: int, module: str, arguments: Sequence[str], environment: Mapping[str, str]
) -> tuple[int, str]:
    """Run a module on `size` workers of torchrun's agent; return torchrun's exit status and all output.

    Raises:
        WorkerError: it takes longer than `WAIT_SECONDS`; what it printed.
    """
    reading, writing = os.pipe()
    torchrun = multiprocessing.get_context("fork").Process(
        target=_torchrun, args=(size, module, arguments, environment, writing)
    )
    torchrun.start()
    os.close(writing)
    overdue = threading.Event()

    def end() -> None:
        overdue.set()
        os.killpg(torchrun.pid or 0, signal.SIGKILL)

    timer = threading.Timer(WAIT_SECONDS, end)
    timer.start()
    with os.fdopen(reading, encoding="utf-8") as pipe:
        output = pipe.read()
    torchrun.join()
    timer.cancel()
    if overdue.is_set():
        raise WorkerError(f"{module} takes too long: {output}")
    return torchrun.exitcode or 0, output


def _torchrun(size: int, module: str, arguments: Sequence[str], environment: Mapping[str, str], output: int) -> None:
    """Do what `torchrun --standalone` does (PyTorch 2.13.0, torch/distributed/run.py, lines 988-1019), by forks."""
    os.setsid()
    for stream in (1, 2):
        os.dup2(output, stream)
    sys.stdout, sys.stderr = (os.fdopen(stream, "w", buffering=1, closefd=False) for stream in (1, 2))
    os.environ.update(environment)
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=size,
        run_id=str(uuid.uuid4()),
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=0,
        start_method="fork",
    )
    try:
        elastic_launch(config, _run_module)(module, arguments)
    except ChildFailedError as failure:
        sys.exit(f"{failure}")


def _run_module(module: str, arguments: Sequence[str]) -> None:
    torch.set_num_threads(1)
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
