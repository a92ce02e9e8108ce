"""A training loop on PyTorch/XLA, and the two conventions that let a job stop and start again.

slipway-job run --queue trn1 --nodes 1 --restarts 3 --compile "--steps 3" xla_loop.py
"""

import argparse
import os
import signal
from pathlib import Path

import torch
import torch_xla.core.xla_model as xm
import torch_xla.distributed.xla_backend  # noqa: F401  registers the process group "xla"

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=1000)
parser.add_argument("--save-every", type=int, default=100)
options = parser.parse_args()

stopping: list[bool] = []
signal.signal(signal.SIGUSR1, lambda *_: stopping.append(True))
saved = Path(os.environ["SLIPWAY_CHECKPOINTS"]) / "latest.pt"

torch.distributed.init_process_group("xla")
device, rank = xm.xla_device(), torch.distributed.get_rank()
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
step = 0
if saved.exists():
    state = torch.load(saved, map_location="cpu")
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    step = state["step"]


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    """Samples of a step, the same whenever it is taken: to go on means to see what would have been seen."""
    numbers = torch.Generator().manual_seed(step * torch.distributed.get_world_size() + rank)
    samples = torch.randn(32, 16, generator=numbers)
    return samples.to(device), samples.square().sum(1, keepdim=True).to(device)


while step < options.steps:
    step += 1
    samples, wanted = batch()
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(samples), wanted)
    loss.backward()  # type: ignore[no-untyped-call]
    xm.optimizer_step(optimizer)
    # All workers stop at the same step: the signal may reach one before a step and another one after it.
    stop = xm.all_reduce(xm.REDUCE_MAX, torch.tensor(float(bool(stopping))).to(device))
    xm.mark_step()
    if rank == 0:
        print(f"step {step} loss {loss.item()!r}", flush=True)
    stopped = bool(stop.item())
    if stopped or step % options.save_every == 0 or step == options.steps:
        # Written by worker 0, in one move: a job may be killed at any moment.
        new = saved.with_suffix(".new")
        xm.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, new)
        if rank == 0:
            new.replace(saved)
    if stopped:
        break
