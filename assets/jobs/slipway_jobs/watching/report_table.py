"""Shows reports on a terminal. Names and paths are never read as markup."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slipway_jobs.watching.report import PodReport, Progress, RunReport, State
from slipway_jobs.watching.words import count, duration, moment, usd

_STYLES: dict[State, str] = {
    "done": "green",
    "running": "cyan",
    "failed": "bold red",
    "cancelled": "red",
    "unknown": "yellow",
    "pending": "yellow",
}


def runs_table(reports: Sequence[RunReport], now: float) -> RenderableType:
    """Show all runs, one in a line."""
    table = _table("run", "stage", "state", "step", "loss", "time left", "cost", "submitted")
    for report in reports:
        training = report.progress
        table.add_row(
            Text(report.name),
            report.stage,
            _state(report.state),
            f"{training.step}/{training.steps}" if training else "",
            _loss(training) if training else "",
            duration(training.finished_at - now) if training and training.finished_at else "",
            usd(report.cost.usd),
            f"{duration(now - report.submitted_at)} ago" if report.submitted_at else "",
        )
    return table


def run_details(report: RunReport, now: float) -> RenderableType:
    """Show one run: its stages, its training, and where things are."""
    parts: list[RenderableType] = [_headline(report, now), Text(), _stages(report), Text(), _facts(report, now)]
    if notices := [*report.general_notices, *report.notices]:
        parts += [Text(), *(Text(f"Note: {notice}", style="bold yellow") for notice in notices)]
    return Group(*parts)


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for column in columns:
        # Names and numbers stay whole on a narrow terminal; what is said in words breaks.
        table.add_column(column, overflow="fold", no_wrap=column not in ("run", "why"))
    return table


def _state(state: State) -> Text:
    return Text(state, style=_STYLES.get(state, ""))


def _headline(report: RunReport, now: float) -> Text:
    line = Text(report.name, style="bold").append(": ", style="not bold").append_text(_state(report.state))
    if report.state != "done":
        line.append(f" in {report.stage}", style="not bold")
    if report.submitted_at:
        submitted = f", submitted {moment(report.submitted_at)} ({duration(now - report.submitted_at)} ago)"
        line.append(f"{submitted} by {report.user}", style="not bold")
    return line


def _stages(report: RunReport) -> Table:
    scheduler = "Kubernetes" if report.scheduler == "kubernetes" else "Slurm"
    table = _table("stage", "state", "job", scheduler, "starts", "failures", "node hours", "cost", "why")
    for stage in report.stages:
        table.add_row(
            stage.stage,
            _state(stage.state),
            stage.job or "",
            stage.slurm_state or stage.kubernetes_state or "",
            str(stage.starts or ""),
            str(stage.failures or ""),
            f"{stage.node_hours:.2f}" if stage.starts else "",
            usd(stage.usd) if stage.starts else "",
            Text(stage.reason or ""),
        )
    return table


def _facts(report: RunReport, now: float) -> Table:
    facts = Table.grid(padding=(0, 2))
    # Paths break rather than lose their end.
    facts.add_column(no_wrap=True, style="bold")
    facts.add_column(overflow="fold")
    for name, value in [*_training(report, now), *_devices(report, now), *_places(report, now)]:
        facts.add_row(name, Text(value))
    return facts


def _training(report: RunReport, now: float) -> list[tuple[str, str]]:
    cost, training = report.cost, report.progress
    price = f"; list price {usd(cost.usd_per_node_hour)} an hour of a train node" if cost.usd_per_node_hour else ""
    expected = f", {usd(cost.expected_usd)} expected at the end of the training" if cost.expected_usd else ""
    rows = [("cost", f"{usd(cost.usd)} ({cost.node_hours:.2f} node hours{price}){expected}")]
    if training is None:
        return rows
    percent = training.step / training.steps
    left = "not known yet" if training.seconds_left is None else f"{duration(training.seconds_left)} of training"
    if training.finished_at is not None:
        left = f"{duration(training.finished_at - now)}, until {moment(training.finished_at)}"
    share = training.model_flops_utilization
    used = "" if share is None else f" ({share:.1%} model FLOPs utilization)"
    return [
        ("step", f"{training.step} of {training.steps} ({percent:.0%}), {_ago(training.last_step_at, now)}"),
        ("loss", f"{_loss(training)}{_change(training)}"),
        *([("validation loss", _validation(training))] if training.validation_step is not None else []),
        *([("gradient norm", f"{training.gradient_norm:.3g}")] if training.gradient_norm is not None else []),
        ("learning rate", f"{training.learning_rate:.3g}"),
        ("speed", f"{count(training.tokens_per_second)} tokens/s{used}, {count(training.tokens)} tokens so far"),
        ("left", left),
        *rows,
    ]


def _devices(report: RunReport, now: float) -> list[tuple[str, str]]:
    told = [
        f"{one.node}: {one.utilization_percent:.0f} % of {one.cores} NeuronCores, {one.memory_used_gib:.1f} of "
        f"{one.memory_gib:.0f} GiB of device memory, {_ago(one.sampled_at, now)}"
        for one in report.devices
    ]
    return [("" if number else "devices", line) for number, line in enumerate(told)]


def _places(report: RunReport, now: float) -> list[tuple[str, str]]:
    latest, log = report.checkpoint, next(stage.log for stage in report.stages if stage.stage == report.stage)
    rows = [("run", report.directory), ("log", log)]
    if report.checkpoint_directory:
        saved = f"step {latest.step}, {_ago(latest.written_at, now)}: {latest.directory}" if latest else "none yet"
        rows = [("checkpoint", saved), ("checkpoints", report.checkpoint_directory), *rows]
    if pods := [pod for stage in report.stages for pod in stage.pods]:
        rows.append(("pods", ", ".join(f"{pod.name} on {pod.node}" for pod in pods)))
        rows.append(("NeuronCores", neuron_top_command(pods[0])))
    elif report.scheduler == "slurm" and report.state == "running" and report.stage in ("compile", "train"):
        rows.append(("NeuronCores", f"slipway-job top {report.name}"))
    return [*rows, ("model", report.converted_directory)] if report.converted_directory else rows


def neuron_top_command(pod: PodReport) -> str:
    """Return the command for one's own computer that shows a pod's NeuronCores."""
    return shlex.join(["kubectl", "exec", "-n", pod.namespace, "-it", pod.name, "--", "neuron-top"])


def _ago(seconds: float, now: float) -> str:
    return f"{duration(now - seconds)} ago"


def _loss(training: Progress) -> str:
    return "no number" if training.loss is None else f"{training.loss:.4f}"


def _validation(training: Progress) -> str:
    loss = "no number" if training.validation_loss is None else f"{training.validation_loss:.4f}"
    return f"{loss} after step {training.validation_step}"


def _change(training: Progress) -> str:
    if training.loss_change is None:
        return ""
    return f" ({training.loss_change:+.4f} within {training.loss_steps} steps)"
