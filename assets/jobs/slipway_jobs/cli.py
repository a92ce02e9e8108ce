"""The `slipway-job` command. Each command is a function of the package that does its work."""

import typer

from slipway_jobs.check.command import check, recipes
from slipway_jobs.importing.command import import_model
from slipway_jobs.importing.data_command import fetch
from slipway_jobs.ownership import close_to_others
from slipway_jobs.running.command import run
from slipway_jobs.submit.command import cancel, submit
from slipway_jobs.watching.command import logs, status, tensorboard
from slipway_jobs.watching.neuron_top import top
from slipway_jobs.watching.tracking import track

app = typer.Typer(
    name="slipway-job",
    help="Train a model on this cluster: a recipe becomes a chain of jobs (prepare, compile, train, convert, publish) "
    "of Slurm or Kubernetes. Look at the recipes, check one, submit it, watch the run. A stopped run goes on from its "
    "latest checkpoint when its recipe is submitted again. A data set is fetched to /fsx/data, a model that others "
    "trained is imported for the endpoint, and a script of your own runs on the same nodes.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    callback=close_to_others,
)

for command in (recipes, check, submit, status, logs, top, tensorboard, track, cancel):
    app.command()(command)
app.command(name="import")(import_model)
app.command()(fetch)
app.command()(run)
