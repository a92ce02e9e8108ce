"""The training image of Kubernetes, in a stack of its own."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from slipway import facts
from slipway.review.security.read import PACKS
from tests.assets.sandbox import ASSETS
from tests.assets.training_image_context import STACK, ImageBuild, image_app, image_build
from tests.gates.test_template_linters import CFN_LINT, run_checkov, templates_of
from tests.pack_findings import pack_findings

STACKS_WITH_KIT = [stack.name for stack in facts.training_stacks().values() if stack.job_kit]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> ImageBuild:
    return image_build(tmp_path_factory.mktemp("assembly"))


@pytest.fixture
def assets(tmp_path: Path) -> Path:
    """A copy of the assets that a test may change."""
    shutil.copytree(ASSETS, tmp_path / "assets", ignore=shutil.ignore_patterns("__pycache__", "inference"))
    return tmp_path / "assets"


def tag(build: ImageBuild) -> str:
    tag = str(build.variables()["TAG"])
    assert str(build.image.image_uri).endswith(f":{tag}")
    return tag


def test_the_tag_is_the_training_stack_and_the_content(build: ImageBuild, tmp_path: Path) -> None:
    assert tag(build).startswith(f"{STACK}-")
    assert tag(build) == tag(image_build(tmp_path / "again"))


def test_another_folder_with_the_same_content_gives_the_same_image(
    build: ImageBuild, assets: Path, tmp_path: Path
) -> None:
    assert tag(image_build(tmp_path / "elsewhere", assets)) == tag(build)


@pytest.mark.parametrize(
    "name",
    [
        "jobs/slipway_jobs/cli.py",
        "jobs/recipes/new.yaml",
        "cluster/python_environments.sh",
        "kubernetes/training_image/Dockerfile",
        "kubernetes/training_image/sshd_config",
    ],
)
def test_a_changed_source_gives_another_image(build: ImageBuild, assets: Path, tmp_path: Path, name: str) -> None:
    with (assets / name).open("a") as file:
        file.write("# changed\n")

    assert tag(image_build(tmp_path / "changed", assets)) != tag(build)


@pytest.mark.parametrize("name", ["jobs/README.md", "cluster/health_check.sh", "jobs/slipway_jobs/__pycache__/a.pyc"])
def test_what_is_not_in_the_image_does_not_count(build: ImageBuild, assets: Path, tmp_path: Path, name: str) -> None:
    (assets / name).parent.mkdir(exist_ok=True)
    with (assets / name).open("a") as file:
        file.write("# changed\n")

    assert tag(image_build(tmp_path / "changed", assets)) == tag(build)


@pytest.mark.parametrize("stack", STACKS_WITH_KIT)
def test_the_base_is_of_the_first_system_of_the_stack(tmp_path: Path, stack: str) -> None:
    build = image_build(tmp_path / "assembly", training_stack=stack)
    pins = facts.training_stack(stack)

    assert build.variables()["BASE_IMAGE"] == facts.cluster_image(f"training-base-{pins.operating_systems[0]}").image
    assert build.variables()["NEURON_RELEASE"] == pins.release
    assert build.variables()["EFA_INSTALLER"] in (pins.efa_installer, list(facts.efa_installers())[-1])


def test_the_context_has_sources_only(build: ImageBuild, tmp_path: Path) -> None:
    files = {file.relative_to(tmp_path / "c") for file in build.unpack(tmp_path / "c").rglob("*") if file.is_file()}

    assert {file.parts[0] for file in files} == {"cluster", "jobs", "kubernetes"}
    assert not [file for file in files if file.suffix in (".md", ".pyc")]
    assert Path(f"cluster/training_stacks/{STACK}.sh") in files
    assert not {Path("cluster/health_check.sh"), Path("cluster/head_node.sh")} & files


def test_the_repository_keeps_what_it_has(build: ImageBuild) -> None:
    repository = build.resource("AWS::ECR::Repository")

    assert repository["ImageTagMutability"] == "IMMUTABLE"
    assert repository["ImageScanningConfiguration"] == {"ScanOnPush": True}
    assert repository["EncryptionConfiguration"] == {"EncryptionType": "KMS"}
    assert repository["EmptyOnDelete"] is True
    (rule,) = json.loads(repository["LifecyclePolicy"]["LifecyclePolicyText"])["rules"]
    assert rule["selection"] == {"tagStatus": "any", "countType": "imageCountMoreThan", "countNumber": 5}


def test_the_build_is_bounded_and_logged(build: ImageBuild) -> None:
    project = build.resource("AWS::CodeBuild::Project")

    assert project["Environment"]["ComputeType"] == "BUILD_GENERAL1_MEDIUM"
    assert project["TimeoutInMinutes"] == 120
    assert project["ConcurrentBuildLimit"] == 1
    assert project["LogsConfig"]["CloudWatchLogs"]["Status"] == "ENABLED"


def test_a_deployed_stack_starts_the_build_and_no_other_does(build: ImageBuild) -> None:
    rule = build.resource("AWS::Events::Rule")

    # AWS CloudFormation user guide, "Stack Status Change event detail".
    assert rule["EventPattern"] == {
        "source": ["aws.cloudformation"],
        "detail-type": ["CloudFormation Stack Status Change"],
        "detail": {
            "stack-id": [{"Ref": "AWS::StackId"}],
            "status-details": {"status": ["CREATE_COMPLETE", "UPDATE_COMPLETE"]},
        },
    }
    (target,) = rule["Targets"]
    (project,) = (
        name for name, each in build.template["Resources"].items() if each["Type"] == "AWS::CodeBuild::Project"
    )
    assert target["Arn"] == {"Fn::GetAtt": [project, "Arn"]}


def test_the_roles_may_do_no_more_than_they_need(build: ImageBuild) -> None:
    statements = [
        (statement["Action"], statement["Resource"])
        for resource in build.template["Resources"].values()
        if resource["Type"] == "AWS::IAM::Policy"
        for statement in resource["Properties"]["PolicyDocument"]["Statement"]
    ]
    source = build.resource("AWS::CodeBuild::Project")["Source"]["Location"]

    assert [actions for actions, resource in statements if resource == "*"] == ["ecr:GetAuthorizationToken"]
    assert (["s3:GetObject", "s3:GetObjectVersion"], f"arn:aws:s3:::{source}") in statements
    assert [actions for actions, _ in statements if "codebuild" in str(actions)] == ["codebuild:StartBuild"]
    assert "*" not in "".join(str(actions) for actions, _ in statements)


def test_the_command_starts_the_build(build: ImageBuild) -> None:
    first, project, *_ = build.image.project.stack.resolve(build.image.command)["Fn::Join"][1]

    assert first == "id=$(aws codebuild start-build --region us-west-2 --project-name "
    assert build.template["Resources"][project["Ref"]]["Type"] == "AWS::CodeBuild::Project"


def test_the_packs_find_nothing_and_need_every_acknowledgement(tmp_path: Path) -> None:
    app, _ = image_app(tmp_path)
    assert pack_findings(app, tmp_path) == []

    metadata = json.loads((tmp_path / "Test.metadata.json").read_text())
    written = {
        (path.lstrip("/"), finding)
        for path, entries in metadata.items()
        for entry in entries
        if entry["type"] == "aws:cdk:acknowledged-rules"
        for finding in entry["data"]
        if finding.startswith(PACKS)
    }
    met = {
        (finding["acknowledgedAt"], finding["acknowledgedId"])
        for report in json.loads((tmp_path / "validation-report.json").read_text())["pluginReports"]
        for finding in report.get("suppressedViolations", [])
    }
    assert written == met


def test_cfn_lint_finds_nothing(build: ImageBuild) -> None:
    run = subprocess.run(
        [
            *(str(CFN_LINT), "--regions", "us-west-2", "--format", "parseable"),
            str(build.directory / "Test.template.json"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (run.returncode, run.stdout) == (0, "")


def test_checkov_finds_nothing_that_is_not_accepted_with_a_reason(build: ImageBuild) -> None:
    results = run_checkov(*templates_of(build.directory))["results"]

    assert [(check["check_id"], check["resource"]) for check in results["failed_checks"]] == []
    assert results["skipped_checks"] == []
