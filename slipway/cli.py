"""The `slipway` command. Each command is a function of its own package, which imports what it needs when called."""

from typing import Annotated

import typer

from slipway.check.az.command import az
from slipway.check.deploy_role.command import deploy_role
from slipway.check.doctor.command import doctor
from slipway.check.preflight.command import preflight
from slipway.console import Program
from slipway.documentation import docs
from slipway.operate.connect.command import connect
from slipway.operate.deploy.command import deploy
from slipway.operate.endpoint.command import endpoint
from slipway.operate.job.command import job
from slipway.operate.promote.command import promote
from slipway.operate.resume.command import pause, resume
from slipway.operate.roll_out.command import roll_out
from slipway.operate.rotate_key.command import rotate_key
from slipway.operate.status.command import status
from slipway.prove.command import prove
from slipway.rehearse.command import rehearse
from slipway.remove.leftovers.command import leftovers
from slipway.remove.teardown.command import destroy
from slipway.review.cluster_update.command import cluster_update
from slipway.review.command import plan
from slipway.review.cost.command import cost
from slipway.review.judge.command import judge
from slipway.review.lint.command import lint
from slipway.review.sbom.command import sbom
from slipway.start.command import init, setup

app = Program(
    help="Plan, check, operate and destroy Slipway environments: what the CDK CLI does not do. Guide: `slipway docs`.",
    epilog="Exit codes: 0 fine or done; 1 problems were found, or something failed; 2 nothing was done or could be "
    "looked at; 130 interrupted. "
    "`slipway COMMAND --help` says what they mean there.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    """Print Slipway's release, and its commit where it runs from a checkout: environments are deployed from commits."""
    if wanted:
        # What these import takes time that no other command should wait for.
        from importlib.metadata import version  # noqa: PLC0415

        from slipway.bundle import BUNDLE, IS_CHECKOUT  # noqa: PLC0415
        from slipway.review.revisions import work_tree_name  # noqa: PLC0415

        commit = f" ({work_tree_name(BUNDLE)})" if IS_CHECKOUT else ""
        typer.echo(f"slipway {version('slipway')}{commit}")
        raise typer.Exit


@app.callback()
def _group(
    *,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print version and commit, and end."),
    ] = False,
) -> None:
    """Take the options that come before a command."""


# In the order of a first deployment. The short texts fit one line of a terminal of 80 columns.
app.command("doctor", short_help="Name missing programs and how to install them.")(doctor)
app.command("docs", short_help="Print this version's documentation. No network.")(docs)
app.command("init", short_help="Write a repository for an environment of your own.")(init)
app.command("setup", short_help="Install the CDK CLI and the judge into a repository.")(setup)
app.command("az", short_help="Choose availability zones by what AWS offers there.")(az)
app.command("plan", short_help="Show what a deployment changes, breaks and costs. No AWS.")(plan)
app.command("judge", short_help="Check clusters with ParallelCluster itself. No AWS.")(judge)
app.command("rehearse", short_help="Deploy and destroy on an emulated AWS, here.")(rehearse)
app.command("preflight", short_help="Ask AWS what would make a deployment fail.")(preflight)
app.command("deploy-role", short_help="Write least-privilege IAM policies for deployments.")(deploy_role)
app.command("deploy", short_help="Deploy with the CDK CLI, and show how far it is.")(deploy)
app.command("prove", short_help="Deploy, try on a real account, delete, below a ceiling.")(prove)
app.command("status", short_help="Show stacks, nodes, jobs, models, spend, alarms, links.")(status)
app.command("connect", short_help="Open a shell in an environment, or a tunnel to it.")(connect)
app.command("job", short_help="Run slipway-job there: submit, status, logs, cancel.")(job)
app.command("cluster-update", short_help="Say whether a deployment can update the cluster.")(cluster_update)
app.command("roll-out", short_help="Serve another version of a model, or a canary.")(roll_out)
app.command("promote", short_help="Copy a reviewed model from another account.")(promote)
app.command("rotate-key", short_help="Change an endpoint's API key without a gap.")(rotate_key)
app.command("pause", short_help="Stop nodes and inference hosts, as the budget does.")(pause)
app.command("resume", short_help="Start again what was paused.")(resume)
app.command("destroy", short_help="Delete an environment, then list what is left.")(destroy)
app.command("leftovers", short_help="List what an environment left, and how to remove it.")(leftovers)
app.command("cost", short_help="List what an environment costs, line by line. No AWS.")(cost)
app.command("sbom", short_help="Write the software bill of materials. No AWS.")(sbom)
app.command("lint", short_help="Check any ParallelCluster configuration. No AWS.")(lint)
app.add_typer(endpoint, name="endpoint", short_help="Check or load-test an OpenAI-compatible endpoint.")
