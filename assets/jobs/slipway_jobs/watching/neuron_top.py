"""`slipway-job top`."""

from __future__ import annotations

import os
from typing import Annotated

import typer
from pydantic import ValidationError

from slipway_jobs.check.command import fail
from slipway_jobs.run import WorkerRun
from slipway_jobs.watching.command import RunName
from slipway_jobs.watching.report_table import neuron_top_command
from slipway_jobs.watching.run_folders import NoSuchRun, find_run, scheduler_here
from slipway_jobs.watching.run_report import run_reports

NEURON_TOOLS = "/opt/aws/neuron/bin"
"""Where the package aws-neuronx-tools puts neuron-top (Neuron documentation, tools: neuron-top user guide)."""


def top(
    run: RunName,
    node: Annotated[int, typer.Option(min=0, help="Which of the job's nodes, from 0.")] = 0,
) -> None:
    """Show the NeuronCores of a run that compiles or trains: use, memory, processes (neuron-top; Ctrl-C ends it).

    On Slurm it runs on one of the job's nodes, beside the training. On Kubernetes it prints the command for your
    computer.

    Exit status: neuron-top's; 1 where the run has no job on Neuron devices now, or no such node.
    """
    try:
        found = find_run(run)
        [report] = run_reports([found], scheduler_here())
    except (NoSuchRun, OSError, ValidationError) as error:
        fail(str(error))
    if not isinstance(found, WorkerRun):
        fail(f"{found.name} is {found.kind}: it uses no NeuronCores")
    if found.hardware.device != "neuron":
        fail(f"{found.name} trains on processors: there are no NeuronCores to show")
    stage = next(stage for stage in report.stages if stage.stage == report.stage)
    if stage.stage not in ("compile", "train") or stage.state != "running":
        fail(f"{found.name} has no job on Neuron devices now: the stage {stage.stage} is {stage.state}")
    if node >= found.hardware.nodes:
        fail(f"--node {node}: the job has {found.hardware.nodes} nodes, from 0")
    if report.scheduler == "kubernetes":
        if node >= len(stage.pods):
            fail(f"--node {node}: Kubernetes shows {len(stage.pods)} pods of the job")
        typer.echo(f"On your own computer, with kubectl:\n\n  {neuron_top_command(stage.pods[node])}")
        return
    if stage.job is None:
        fail(f"{found.name}: the stage {stage.stage} has no job in Slurm")
    words = ["srun", "--jobid", stage.job, "--nodes", "1", "--ntasks", "1", "--relative", str(node)]
    # Beside the training, which has all of the node.
    words += ["--overlap", "--mem", "0", "--pty", "neuron-top"]
    os.environ["PATH"] = f"{os.environ.get('PATH', '')}:{NEURON_TOOLS}"
    os.execvp("srun", words)
