"""What is installed in the cluster, when, and with which rights."""

import os
import stat
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
import yaml

from neuron_constructs.kubernetes.software import LustreVolume
from slipway import facts
from tests.assembly import cdk_context
from tests.kubernetes.installed import Installed
from tests.kubernetes.software_stack import CPU, SMALL_TRAINIUM, VARIANTS, installed, software
from tests.pack_findings import pack_findings

CHARTS = "Custom::AWSCDK-EKS-HelmChart"
MANIFESTS = "Custom::AWSCDK-EKS-KubernetesResource"


@cache
def variant(name: str) -> Installed:
    return installed(**VARIANTS[name])


def depends_on(found: Installed, logical_id: str) -> set[str]:
    """Return everything that a resource waits for, and what that waits for."""
    direct = set(found.template["Resources"][logical_id].get("DependsOn", []))
    return direct.union(*(depends_on(found, each) for each in direct))


def only(found: Installed, resource_type: str, beginning: str) -> str:
    """Return the id of the only resource of a type whose id begins so."""
    (logical_id,) = (each for each in found.resources(resource_type) if each.startswith(beginning))
    return logical_id


@pytest.mark.parametrize(
    ("name", "releases"),
    [
        ("torchrun", {"neuron", "efa", "jobset", "cluster-autoscaler"}),
        ("mpi", {"neuron", "efa", "jobset", "cluster-autoscaler"}),
        ("kueue", {"neuron", "efa", "jobset", "cluster-autoscaler", "kueue"}),
        ("without-accelerators", {"jobset", "cluster-autoscaler", "kueue"}),
    ],
)
def test_charts_of_the_facts_are_installed_where_they_are_needed(name: str, releases: set[str]) -> None:
    charts = variant(name).charts()

    assert set(charts) == releases
    for release, chart in charts.items():
        row = facts.helm_chart(release)
        assert (chart["Repository"], chart["Chart"], chart["Version"]) == (row.repository, row.chart, row.version)


def test_the_mpi_operator_comes_with_mpi_only() -> None:
    def names(found: Installed) -> set[str]:
        return {each["metadata"]["name"] for each in found.objects()}

    assert not {"mpi-operator", "mpijobs.kubeflow.org"} & names(variant("torchrun"))
    assert {"mpi-operator", "mpijobs.kubeflow.org"} <= names(variant("mpi"))
    (container,) = variant("mpi").named("Deployment", "mpi-operator")["spec"]["template"]["spec"]["containers"]
    assert container["image"] == facts.cluster_image("mpi-operator").image


def test_everything_waits_for_core_nodes_and_jobs_come_last() -> None:
    found = variant("mpi-kueue")
    core = only(found, "AWS::EKS::Nodegroup", "Core")
    refusals, jobs = only(found, MANIFESTS, "SoftwareRefusals"), only(found, MANIFESTS, "SoftwareJobs")
    others = {*found.resources(CHARTS), *found.resources(MANIFESTS)} - {refusals, jobs}

    assert core in depends_on(found, refusals)
    for each in others:
        assert {core, refusals} <= depends_on(found, each)
    assert others < depends_on(found, jobs)


def test_the_queue_lives_as_long_as_its_controller() -> None:
    found = variant("kueue")

    assert only(found, CHARTS, "SoftwareChartkueue") in depends_on(found, only(found, MANIFESTS, "SoftwareQueue"))


def test_what_only_one_choice_brings_is_a_manifest_of_its_own() -> None:
    plain, full = variant("torchrun").manifests(), variant("mpi-kueue").manifests()
    new = {each["kind"] for logical_id in full.keys() - plain.keys() for each in full[logical_id]}

    assert new == {
        *("CustomResourceDefinition", "Namespace", "ServiceAccount", "Role", "RoleBinding"),
        *("ClusterRole", "ClusterRoleBinding", "ResourceFlavor", "ClusterQueue"),
    }


def test_controllers_are_ready_before_their_objects_come() -> None:
    charts = variant("kueue").charts()

    assert {release for release, chart in charts.items() if chart.get("Wait")} == {
        "jobset",
        "kueue",
        "cluster-autoscaler",
    }


def test_a_failed_first_attempt_does_not_fail_the_next() -> None:
    for resource in variant("torchrun").resources(MANIFESTS).values():
        assert resource["Properties"]["Overwrite"] is True


def test_the_autoscaler_has_its_role_before_its_pod() -> None:
    found = variant("torchrun")
    (association,) = found.resources("AWS::EKS::PodIdentityAssociation")
    properties = found.template["Resources"][association]["Properties"]
    values = found.charts()["cluster-autoscaler"]["Values"]

    assert association in depends_on(found, only(found, CHARTS, "SoftwareChartclusterautoscaler"))
    assert properties["Namespace"] == found.charts()["cluster-autoscaler"]["Namespace"]
    assert properties["ServiceAccount"] == values["rbac"]["serviceAccount"]["name"]


def test_the_autoscaler_changes_only_the_clusters_groups() -> None:
    (policy,) = (
        each["Properties"]["PolicyDocument"]["Statement"]
        for logical_id, each in variant("torchrun").resources("AWS::IAM::ManagedPolicy").items()
        if logical_id.startswith("SoftwareAutoscaler")
    )
    changing = [each for each in policy if "autoscaling:SetDesiredCapacity" in each["Action"]]

    assert [set(each["Condition"]["StringEquals"]) for each in changing] == [{"aws:ResourceTag/eks:cluster-name"}]
    for each in policy:
        actions = each["Action"] if isinstance(each["Action"], list) else [each["Action"]]
        if each not in changing:
            assert all(action.split(":")[1].startswith(("Describe", "Get")) for action in actions)


def test_the_efa_plugin_runs_where_there_is_efa_and_nowhere_else() -> None:
    values = variant("torchrun").charts()["efa"]["Values"]

    assert values["supportedInstanceLabels"] == {"keys": ["slipway/node-group"], "values": ["trn1"]}
    assert {each["key"] for each in values["tolerations"]} == {"aws.amazon.com/neuron", "slipway/node-group"}
    assert "efa" not in installed(node_groups=(SMALL_TRAINIUM, CPU)).charts()


def test_the_neuron_chart_installs_its_device_plugin_alone() -> None:
    values = variant("torchrun").charts()["neuron"]["Values"]

    assert values.pop("neuronInstances") == ["trn1.2xlarge", "trn1.32xlarge"]
    assert {name for name, part in values.items() if part["enabled"]} == {"devicePlugin"}


def test_the_neuron_chart_finds_the_namespace_that_its_templates_name() -> None:
    found = variant("torchrun")
    namespace, chart = only(found, MANIFESTS, "SoftwareNeuronNamespace"), only(found, CHARTS, "SoftwareChartneuron")

    assert found.named("Namespace", "neuron-healthcheck-system")
    assert namespace in depends_on(found, chart)
    assert not [key for key in installed(node_groups=(CPU,)).template["Resources"] if "NeuronNamespace" in key]


def kueue_configuration(name: str) -> Any:
    values = variant(name).charts()["kueue"]["Values"]
    return yaml.safe_load(values["managerConfig"]["controllerManagerConfigYaml"])


@pytest.mark.parametrize(
    ("name", "framework"), [("kueue", "jobset.x-k8s.io/jobset"), ("mpi-kueue", "kubeflow.org/mpijob")]
)
def test_kueue_queues_what_holds_the_accelerated_nodes(name: str, framework: str) -> None:
    assert kueue_configuration(name)["integrations"]["frameworks"] == [framework]


def test_kueue_looks_at_namespaces_of_jobs_only() -> None:
    selector = {"matchExpressions": [{"key": "slipway/user-id", "operator": "Exists"}]}

    assert kueue_configuration("kueue")["managedJobsNamespaceSelector"] == selector
    assert variant("kueue").named("ClusterQueue", "training")["spec"]["namespaceSelector"] == selector


def test_kueue_gives_away_all_devices_of_all_nodes() -> None:
    found = variant("kueue")
    (group,) = found.named("ClusterQueue", "training")["spec"]["resourceGroups"]
    quotas = {
        flavor["name"]: {each["name"]: each["nominalQuota"] for each in flavor["resources"]}
        for flavor in group["flavors"]
    }

    assert quotas == {
        "trn1": {"aws.amazon.com/neuron": "64", "vpc.amazonaws.com/efa": "32"},
        "trn1-small": {"aws.amazon.com/neuron": "2", "vpc.amazonaws.com/efa": "0"},
    }
    for name in quotas:
        assert found.named("ResourceFlavor", name)["spec"]["nodeLabels"] == {"slipway/node-group": name}
    # Everything else that pods ask for must be left out of the count, or no run is ever admitted.
    assert kueue_configuration("kueue")["resources"]["excludeResourcePrefixes"] == [
        "cpu",
        "memory",
        "ephemeral-storage",
        "hugepages-",
    ]


def test_a_queue_without_accelerated_nodes_counts_nothing() -> None:
    assert variant("without-accelerators").named("ClusterQueue", "training")["spec"]["resourceGroups"] == []


def test_the_file_system_is_bound_to_its_only_claim_and_stays() -> None:
    found = variant("torchrun")
    volume, claim = (
        found.named("PersistentVolume", "slipway-fsx"),
        found.named("PersistentVolumeClaim", "fsx", "slipway"),
    )

    assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert volume["spec"]["claimRef"]["name"] == claim["metadata"]["name"]
    assert volume["spec"]["claimRef"]["namespace"] == claim["metadata"]["namespace"]
    assert claim["spec"]["volumeName"] == volume["metadata"]["name"]
    assert claim["spec"]["storageClassName"] == volume["spec"]["storageClassName"] == ""


def test_a_file_system_that_grows_does_not_change_its_claim() -> None:
    larger = LustreVolume(
        file_system_id="fs-0123456789abcdef0", dns_name="fsx", mount_name="abcdefgh", capacity_gib=7200
    )
    before, after = variant("torchrun"), installed(volume=larger)

    assert after.named("PersistentVolume", "slipway-fsx")["spec"]["capacity"] == {"storage": "7200Gi"}
    assert after.named("PersistentVolumeClaim", "fsx", "slipway") == before.named(
        "PersistentVolumeClaim", "fsx", "slipway"
    )


@pytest.mark.parametrize(
    ("name", "extra"),
    [
        ("torchrun", {}),
        ("mpi", {"mpijobs": {"create", "delete", "get"}, "pods": {"list", "delete"}}),
        ("kueue", {"workloads": {"list"}}),
    ],
)
def test_jobs_may_do_what_the_kit_does(name: str, extra: dict[str, set[str]]) -> None:
    rules = variant(name).named("Role", "jobs")["rules"]

    assert {kind: set(each["verbs"]) for each in rules for kind in each["resources"]} == {
        "jobsets": {"create", "delete", "get", "list"},
        "pods": {"list"},
        **extra,
    }


def test_pods_reach_everything_but_the_nodes_role() -> None:
    (egress,) = variant("torchrun").named("NetworkPolicy", "jobs")["spec"]["egress"]

    assert egress["to"] == [{"ipBlock": {"cidr": "0.0.0.0/0", "except": ["169.254.169.254/32"]}}]


def test_only_the_shell_talks_to_the_cluster() -> None:
    pods = {
        each["metadata"]["name"]: each["spec"]["template"]["spec"]
        for each in variant("torchrun").objects()
        if each["kind"] == "Deployment"
    }

    assert {name: pod["automountServiceAccountToken"] for name, pod in pods.items()} == {
        "directories": False,
        "shell": True,
        "tensorboard": False,
    }


def run_directories_script(root: Path, users: Mapping[str, int]) -> "subprocess.CompletedProcess[str]":
    """Make the directories of two namespaces below another root than the file system's, and as others than root."""
    deployment = variant("teams").named("Deployment", "directories")
    (container,) = deployment["spec"]["template"]["spec"]["initContainers"]
    *program, name = container["command"][:4]
    words = [str(users.get(word, word)).replace("/fsx/", f"{root}/") for word in container["command"][4:]]
    return subprocess.run([*program, name, *words], capture_output=True, text=True, check=False, timeout=30)


def ourselves() -> dict[str, int]:
    """All users of the directories are who runs the test."""
    return {"0": os.getuid(), "2001": os.getuid()}


def test_the_directories_of_all_users_are_made(tmp_path: Path) -> None:
    for _ in range(2):
        run = run_directories_script(tmp_path, ourselves())

        assert (run.returncode, run.stderr) == (0, "")
        made = [each for each in tmp_path.rglob("*") if each.is_dir()]
        assert {str(each.relative_to(tmp_path)): oct(stat.S_IMODE(each.stat().st_mode)) for each in made} == {
            "runs": "0o1777",
            "checkpoints": "0o1777",
            "prepared": "0o1777",
            "data": "0o1777",
            "teams": "0o755",
            "teams/research": "0o700",
            "checkpoints/_teams": "0o755",
            "checkpoints/_teams/research": "0o700",
        }


@pytest.mark.parametrize(("owner", "mode"), [(2001, "0700"), (0, "0755")])
def test_a_team_gets_no_directory_of_another_user_nor_below_one(tmp_path: Path, owner: int, mode: str) -> None:
    (tmp_path / "teams" / "research").mkdir(parents=True)
    # -O is about who runs the script; a stand-in of it would be needed for more than this container's user.
    script = variant("teams").named("Deployment", "directories")["spec"]["template"]["spec"]["initContainers"][0]
    planted = script["command"][2].replace('[ -O "$directory" ]', "false")
    words = [str(os.getuid() + 1 + owner), mode, f"{tmp_path}/teams/research"]

    run = subprocess.run(
        ["/bin/bash", "-c", planted, "directories", *words], capture_output=True, text=True, check=False
    )

    assert run.returncode == 1
    assert "belongs to another user" in run.stderr


def test_a_link_in_a_directorys_place_is_refused(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (tmp_path / "runs").symlink_to(elsewhere)

    run = run_directories_script(tmp_path, ourselves())

    assert run.returncode == 1
    assert "is a link" in run.stderr
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o700


def test_the_same_properties_make_the_same_template() -> None:
    assert installed(**VARIANTS["mpi-kueue"]).template == variant("mpi-kueue").template


def test_the_security_packs_find_nothing(tmp_path: Path) -> None:
    app = cdk.App(context=cdk_context(), outdir=str(tmp_path))
    software(app, **VARIANTS["mpi-kueue"])

    assert [found for found in pack_findings(app, tmp_path) if "/Software/" in found[1]] == []
