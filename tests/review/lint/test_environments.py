"""The rules and what Slipway itself synthesizes: every environment passes, and an error fails the synth."""

import json
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest

from neuron_constructs.cluster import configuration
from slipway.review.lint.assembly import lint_assembly
from slipway_stacks.environment import build_environment
from slipway_stacks.validation.clusters import cluster_rules
from tests.assembly import Assembly, cdk_context, load
from tests.conftest import AssemblyFactory

ACCEPTED = {
    # Jobs read and write on /fsx; /home and /apps are read when a job starts (the training stack acknowledges it).
    ("ultracluster", "shared-volumes-for-few-nodes"),
}


def test_every_environment_passes(each_slurm_assembly: Assembly) -> None:
    [cluster] = lint_assembly(each_slurm_assembly.directory)
    name = each_slurm_assembly.environment.name
    assert [found for found in cluster.result.findings if (name, found.rule) not in ACCEPTED] == []
    # Where a file system is that is there already, the templates do not say.
    existing = each_slurm_assembly.environment.storage.lustre.existing
    assert {missing.rule for missing in cluster.result.not_checked} == {
        "quotas-allow-all-nodes",
        "all-nodes-below-price-ceiling",
        *(["queue-beside-file-system"] if existing else []),
    }


def test_an_environment_on_kubernetes_alone_has_no_cluster_to_lint(assemblies: AssemblyFactory) -> None:
    assert lint_assembly(assemblies("kubernetes").directory) == []


@pytest.fixture
def public_head_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake in the construct that writes the configuration."""
    write = configuration._head_node

    def with_public_address(props: Any) -> dict[str, Any]:
        head = write(props)
        return {**head, "Networking": {**head["Networking"], "ElasticIp": True}}

    monkeypatch.setattr(configuration, "_head_node", with_public_address)


def _synthesize(folder: Path) -> None:
    app = cdk.App(context=cdk_context(), outdir=str(folder))
    build_environment(app, load("small"))
    cdk.Validations.of(app).add_plugins(cluster_rules())
    app.synth()


def _violations(folder: Path) -> list[dict[str, Any]]:
    """What the rules report; a plug-in without violations has no report."""
    reports = json.loads((folder / "validation-report.json").read_text(encoding="utf-8"))["pluginReports"]
    return [
        found for report in reports if report["pluginName"] == cluster_rules().name for found in report["violations"]
    ]


def test_the_synth_of_a_sound_environment_succeeds(tmp_path: Path) -> None:
    _synthesize(tmp_path)
    assert _violations(tmp_path) == []


@pytest.mark.usefixtures("public_head_node")
def test_an_error_fails_the_synth_at_the_clusters_resource(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="ElasticIp: it gets a public address"):
        _synthesize(tmp_path)
    [violation] = _violations(tmp_path)
    assert violation["ruleName"] == "head-node-without-elastic-ip"
    assert violation["severity"] == "error"
    [construct] = violation["violatingConstructs"]
    assert construct["constructPath"] == "slipway-small-training/Cluster/Resource/Default"
