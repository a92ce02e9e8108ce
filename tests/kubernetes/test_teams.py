"""Teams on one cluster: what a member of one team tries against another is refused, and their own work goes on."""

import copy
from typing import Any

import pytest

from slipway_jobs.environment import Environment
from slipway_jobs.kubernetes.manifests import job_set
from tests.assembly import Assembly
from tests.conftest import AssemblyFactory
from tests.jobs.chain_case import run_of
from tests.kubernetes.admission import ApiServer
from tests.kubernetes.installed import Installed
from tests.kubernetes.test_job_manifests import STAGES, SUBMISSION, pods
from tests.kubernetes.upstream import UpstreamApiServer

NAMESPACES = {"slipway": 1000, "slipway-research": 2001, "slipway-speech": 2002}
RESEARCH = "slipway-research"
OWN = {"runAsUser": 2001, "runAsGroup": 2001}
OTHERS = {"runAsUser": 2002, "runAsGroup": 2002}
POD: dict[str, Any] = {"metadata": {"name": "any"}, "spec": {"securityContext": OWN, "containers": [{"name": "any"}]}}


@pytest.fixture(scope="module")
def teams(assemblies: AssemblyFactory) -> Assembly:
    """The variant with two teams, and people without one."""
    return assemblies("teams")


@pytest.fixture(scope="module")
def api(teams: Assembly) -> ApiServer:
    """The API server with all that the stack installs."""
    return ApiServer(Installed(teams.template("kubernetes")).objects())


@pytest.fixture(params=[ApiServer, pytest.param(UpstreamApiServer, marks=pytest.mark.kubernetes)])
def admission(request: pytest.FixtureRequest, api: ApiServer) -> ApiServer:
    """The same API server, whose policies Rust's CEL evaluates, or Kubernetes' own plug-in."""
    server: ApiServer = request.param(api.objects)
    return server


def with_spec(**spec: Any) -> dict[str, Any]:
    """Return the pod with other fields."""
    return {**POD, "spec": {**POD["spec"], **spec}}


def container(**security: Any) -> dict[str, Any]:
    """Return a container with a security context."""
    return {"name": "other", "securityContext": security}


@pytest.mark.parametrize(
    "attack",
    [
        with_spec(securityContext=OTHERS),
        with_spec(securityContext=OWN | {"runAsUser": 1000}),
        with_spec(securityContext={"runAsUser": 0, "runAsGroup": 0}),
        with_spec(securityContext=OWN | {"runAsGroup": 2002}),
        with_spec(securityContext=OWN | {"supplementalGroups": [2001, 2002]}),
        with_spec(securityContext=OWN | {"fsGroup": 2002}),
        with_spec(securityContext={"runAsUser": 2001}),
        # The image's own user.
        with_spec(securityContext={}),
        {**POD, "spec": {"containers": [{"name": "any"}]}},
        with_spec(containers=[{"name": "any"}, container(runAsUser=2002)]),
        with_spec(containers=[container(runAsGroup=2002)]),
        with_spec(initContainers=[container(runAsUser=2002)]),
        with_spec(ephemeralContainers=[container(runAsUser=0)]),
        # One container says who it is, the other does not.
        {**POD, "spec": {"containers": [container(**OWN), {"name": "any"}]}},
    ],
)
def test_a_pod_as_another_user_is_refused(admission: ApiServer, attack: dict[str, Any]) -> None:
    assert admission.refusals(attack, RESEARCH) == ["slipway-own-user"]


@pytest.mark.parametrize(
    "pod",
    [
        POD,
        with_spec(initContainers=[container(**OWN)], ephemeralContainers=[{"name": "debug"}]),
        with_spec(securityContext=OWN | {"fsGroup": 2001, "supplementalGroups": []}),
        {**POD, "spec": {"containers": [container(**OWN)]}},
    ],
)
def test_a_pod_as_the_teams_user_is_admitted(admission: ApiServer, pod: dict[str, Any]) -> None:
    assert admission.refusals(pod, RESEARCH) == []


def told(teams: Assembly, namespace: str) -> Environment:
    """Return what the job kit of a namespace knows."""
    found = Installed(teams.template("kubernetes")).named("ConfigMap", "environment", namespace)
    return Environment.model_validate_json(found["data"]["environment.json"])


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_the_job_kits_pods_are_admitted(teams: Assembly, admission: ApiServer, namespace: str) -> None:
    environment = told(teams, namespace)
    made = job_set(run_of(environment, "llama-2-7b"), environment, STAGES, SUBMISSION)

    assert made["metadata"]["namespace"] == namespace
    for pod in pods(made):
        assert admission.refusals({"spec": pod}, namespace) == []


def test_the_installed_pods_are_admitted(admission: ApiServer) -> None:
    deployments = [each for each in admission.of_kind("Deployment") if each["metadata"]["namespace"] in NAMESPACES]

    assert len(deployments) == 2 * len(NAMESPACES)
    for each in deployments:
        assert admission.refusals({"spec": each["spec"]["template"]["spec"]}, each["metadata"]["namespace"]) == []


def test_the_image_does_not_know_a_teams_user_so_its_pods_bring_home_and_name(teams: Assembly) -> None:
    environment = told(teams, RESEARCH)
    made = job_set(run_of(environment, "llama-2-7b"), environment, STAGES, SUBMISSION)

    for pod in pods(made):
        variables = {each["name"]: each.get("value") for each in pod["containers"][0]["env"]}
        assert (variables["HOME"], variables["LOGNAME"]) == ("/scratch", RESEARCH)


def test_no_namespace_of_jobs_admits_root_or_a_nodes_files(api: ApiServer) -> None:
    """https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted."""
    for name, user in NAMESPACES.items():
        labels = api.namespace(name)["metadata"]["labels"]
        assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
        assert labels["slipway/user-id"] == str(user)


def test_what_makes_directories_as_root_is_where_no_user_may_do_anything(api: ApiServer) -> None:
    (maker,) = [each for each in api.of_kind("Deployment") if each["metadata"]["name"] == "directories"]
    place = maker["metadata"]["namespace"]

    assert place not in NAMESPACES
    assert not [each for each in api.of_kind("RoleBinding") if each["metadata"]["namespace"] == place]


def groups(teams: Assembly) -> dict[str, list[str]]:
    """Return the Kubernetes groups of the people with access, by the end of their ARN."""
    entries = [each["Properties"] for each in teams.resources("kubernetes", "AWS::EKS::AccessEntry").values()]
    people = [entry for entry in entries if "KubernetesGroups" in entry]
    # A policy of EKS would be more: none is for one namespace with JobSets.
    assert not [entry for entry in people if "AccessPolicies" in entry]
    return {entry["PrincipalArn"].rpartition(":")[2]: entry["KubernetesGroups"] for entry in people}


def test_people_are_in_the_groups_of_their_teams(teams: Assembly) -> None:
    assert groups(teams) == {
        "role/guest": ["slipway"],
        "role/research": ["slipway-research"],
        "role/speech": ["slipway-speech"],
        "user/both": ["slipway-research", "slipway-speech"],
    }


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_a_member_may_use_the_teams_namespace_and_no_other(api: ApiServer, namespace: str) -> None:
    rights = api.rights({"kind": "Group", "name": namespace})

    assert set(rights) == {namespace}
    # kubectl exec and port-forward in the shell and to TensorBoard, kubectl get and logs.
    assert {
        ("create", "", "pods/exec"),
        ("create", "", "pods/portforward"),
        ("get", "apps", "deployments"),
        ("get", "", "services"),
        ("get", "", "pods/log"),
        ("list", "", "pods"),
        ("list", "jobset.x-k8s.io", "jobsets"),
        ("list", "kueue.x-k8s.io", "workloads"),
    } <= rights[namespace]


@pytest.mark.parametrize("namespace", NAMESPACES)
@pytest.mark.parametrize("kind", ["Group", "ServiceAccount"])
def test_nobody_in_a_team_can_widen_what_it_may(api: ApiServer, namespace: str, kind: str) -> None:
    """https://kubernetes.io/docs/concepts/security/rbac-good-practices/#privilege-escalation-risks."""
    subject = {"kind": kind, "name": namespace}
    if kind == "ServiceAccount":
        subject = {"kind": kind, "name": "jobs", "namespace": namespace}
    rights = api.rights(subject)

    assert set(rights) == {namespace}
    changed = {resource for verb, _, resource in rights[namespace] if verb not in ("get", "list", "watch")}
    assert changed <= {"pods/exec", "pods/portforward", "jobsets"}
    read = {resource for _, _, resource in rights[namespace]}
    assert not read & {"secrets", "configmaps", "serviceaccounts/token", "pods/ephemeralcontainers", "*"}


def test_each_volume_is_bound_to_one_namespaces_claim(api: ApiServer) -> None:
    claims = {each["spec"]["claimRef"]["namespace"] for each in api.of_kind("PersistentVolume")}

    assert len(claims) == len(api.of_kind("PersistentVolume"))
    assert claims == {*NAMESPACES, "fsx-directories"}
    for claim in api.of_kind("PersistentVolumeClaim"):
        assert claim["spec"]["volumeName"] == f"{claim['metadata']['namespace']}-fsx"


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_pods_of_others_cannot_connect(api: ApiServer, namespace: str) -> None:
    (policy,) = (each for each in api.of_kind("NetworkPolicy") if each["metadata"]["namespace"] == namespace)

    # A podSelector alone means the policy's own namespace.
    assert policy["spec"]["podSelector"] == {}
    assert policy["spec"]["ingress"] == [{"from": [{"podSelector": {}}]}]


def test_a_teams_directories_are_its_own(teams: Assembly, api: ApiServer) -> None:
    (maker,) = [each for each in api.of_kind("Deployment") if each["metadata"]["name"] == "directories"]
    wanted = maker["spec"]["template"]["spec"]["initContainers"][0]["command"]
    environment = told(teams, RESEARCH)
    used = (environment.runs_directory, environment.prepared_directory, environment.checkpoints_directory)

    made = list(zip(wanted[4::3], wanted[5::3], wanted[6::3], strict=True))
    assert made[-4:-2] == [("2001", "0700", path) for path in ("/fsx/teams/research", used[2])]
    assert used == (
        "/fsx/teams/research/runs",
        "/fsx/teams/research/prepared",
        "/fsx/checkpoints/_teams/research",
    )


def test_the_policy_is_what_refuses(admission: ApiServer) -> None:
    """Without its validations the same pod passes: the judge sees the policy and nothing else."""
    objects = copy.deepcopy(list(admission.objects))
    for each in objects:
        if each["metadata"]["name"] == "slipway-own-user" and each["kind"] == "ValidatingAdmissionPolicy":
            each["spec"]["validations"] = []

    assert type(admission)(objects).refusals(with_spec(securityContext=OTHERS), RESEARCH) == []
