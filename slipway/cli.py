"""The `slipway` command. Each command is a function of its own package, which imports what it needs when called."""

import typer

from slipway.az.command import az
from slipway.deploy_role.command import deploy_role
from slipway.endpoint.command import endpoint
from slipway.leftovers.command import leftovers
from slipway.lint.command import lint
from slipway.plan.cluster_update.command import cluster_update
from slipway.plan.command import plan
from slipway.preflight.command import preflight
from slipway.resume.command import pause, resume
from slipway.roll_out.command import roll_out
from slipway.teardown.command import destroy

app = typer.Typer(
    help="Check and change a Slipway environment before AWS does.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def _group() -> None:
    """Keep the commands' names: Typer drops the name of an only command."""


app.command("lint")(lint)
app.command("plan")(plan)
app.command("preflight")(preflight)
app.command("cluster-update")(cluster_update)
app.command("roll-out")(roll_out)
app.command("pause")(pause)
app.command("resume")(resume)
app.command("destroy")(destroy)
app.command("leftovers")(leftovers)
app.command("az")(az)
app.command("deploy-role")(deploy_role)
app.add_typer(endpoint, name="endpoint")
