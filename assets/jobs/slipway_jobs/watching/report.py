"""What `slipway-job status` tells. With `--json` scripts read these models: keys are added, never renamed or removed.

What is not known is null, never 0.
"""

from __future__ import annotations

from typing import Literal

from slipway_jobs.chain.device_sampler import DeviceSample
from slipway_jobs.recipe.section import Section
from slipway_jobs.run import Stage

State = Literal["done", "running", "pending", "waiting", "failed", "cancelled", "unknown", "not submitted"]
"""How a stage, or a run, is:

- `done`: finished; of a run, all its stages are.
- `running`: its job runs, or its nodes are starting.
- `pending`: its job is in the queue; `reason` says why it does not run.
- `waiting`: its job waits for the stage before.
- `failed`: it ended without success and does not go on by itself.
- `cancelled`: it was cancelled, by a person or because the stage before it failed.
- `unknown`: the scheduler does not answer, and the files do not tell.
- `not submitted`: there is no job for it.
"""


class PodReport(Section):
    """Where a job runs on Kubernetes."""

    name: str
    """The pod's name."""

    namespace: str
    """Its namespace."""

    node: str
    """The node's name."""


class StageReport(Section):
    """One job of the chain."""

    stage: Stage
    """Which one."""

    state: State
    """How it is."""

    job: str | None
    """Slurm job id, or on Kubernetes the id of the submission and the stage; none where it was not submitted."""

    slurm_state: str | None
    """Slurm's state of the job, for example `RUNNING`; none where Slurm does not know the job any more, or is not the
    scheduler."""

    kubernetes_state: str | None
    """The same on Kubernetes, of pods, JobSet or Kueue's workload, for example `Running` or `Unschedulable`."""

    reason: str | None
    """Why a job does not run: Slurm's reason, for example `Dependency`, with an explanation of the frequent ones; or
    what Kubernetes says of its pods."""

    starts: int
    """How often it started, requeued and submitted anew."""

    failures: int
    """How many of the starts of its last job ended in a failure that counts against `restarts.limit`."""

    node_hours: float
    """Nodes times hours that its jobs have run."""

    usd: float | None
    """The price of that; none where the nodes' price is not known."""

    log: str
    """Its log; requeued and resubmitted jobs append to it."""

    pods: tuple[PodReport, ...]
    """Its pods that have a node; empty on Slurm."""


class Progress(Section):
    """How far the training is, by its metrics."""

    step: int
    """Optimizer steps so far."""

    steps: int
    """Optimizer steps of the whole training."""

    loss: float | None
    """Loss of the last step; none where it is not a number."""

    loss_change: float | None
    """Mean loss of the last half of `loss_steps` less that of the first half; none with too few steps."""

    loss_steps: int
    """Steps that the change is measured over."""

    validation_loss: float | None
    """Latest loss over the validation text; none if it is not a number, and before the first one."""

    validation_step: int | None
    """The step after which that was measured."""

    gradient_norm: float | None
    """Norm of the last step's gradient before it was clipped; or null if it is NaN, infinite or not recorded."""

    learning_rate: float
    """Learning rate of the last step."""

    tokens: int
    """Tokens so far."""

    tokens_per_second: float
    """Median of the last steps, over all workers."""

    model_flops_utilization: float | None
    """Share of the peak of the NeuronCores in use that the model's operations take at this speed, without what is
    computed again; none on processors."""

    seconds_left: float | None
    """Training time left, checkpoints included; none with too few steps."""

    finished_at: float | None
    """When training ends if it goes on like this, in Unix seconds; none while it does not run."""

    last_step_at: float
    """When the last step was done, in Unix seconds."""


class Checkpoint(Section):
    """The latest complete checkpoint."""

    step: int
    """Its step."""

    directory: str
    """Its folder."""

    written_at: float
    """When it was complete, in Unix seconds."""


class Cost(Section):
    """List price of the nodes while jobs ran on them; without starting and idle nodes, storage and the head node."""

    usd: float | None
    """So far; none where a price is not known."""

    expected_usd: float | None
    """At the end of the training, if it goes on like this; none where that cannot be told."""

    node_hours: float
    """Nodes times hours so far."""

    usd_per_node_hour: float | None
    """List price of a node of the train job."""


class RunReport(Section):
    """How a run is."""

    name: str
    """Its name."""

    scheduler: Literal["slurm", "kubernetes"]
    """Which scheduler it was submitted to."""

    state: State
    """How it is."""

    stage: Stage
    """The stage that it is in, or was last in."""

    submitted_at: float | None
    """When it was submitted last, in Unix seconds."""

    user: str | None
    """Who submitted it last."""

    stages: tuple[StageReport, ...]
    """Its jobs, in the chain's order."""

    progress: Progress | None
    """The training; none before its first step."""

    devices: tuple[DeviceSample, ...]
    """The nodes' devices while the train job runs; empty without a sample of this start."""

    checkpoint: Checkpoint | None
    """The latest complete checkpoint; none before the first."""

    cost: Cost
    """What it costs."""

    directory: str
    """The run's folder."""

    checkpoint_directory: str | None
    """Its folder of checkpoints; or null for a run that trains nothing."""

    converted_directory: str | None
    """The converted model; none before it is complete."""

    notices: tuple[str, ...]
    """What one should know of it: the loss is not a number, where to read why a stage failed."""

    general_notices: tuple[str, ...]
    """What one should know of all runs: the scheduler does not answer."""
