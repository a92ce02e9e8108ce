"""A driver that a runtime library does not work with is refused at its place, on nodes and hosts alike."""

from pathlib import Path
from typing import Any

import pytest

from tests.config.files import MINIMAL, changed, problems_of, write
from tests.config.rule_cases_inference import ECR_IMAGE, FIRST, MODEL
from tests.config.rule_cases_kubernetes import cluster
from tests.config.rule_cases_stacks import two_stacks
from tests.facts.conftest import SpoiledFacts, spoiled_facts  # noqa: F401 - a fixture

GROUP = "kubernetes.node_groups[0]"
OWN = {"ami_id": "ami-0123456789abcdef0", "neuron_driver": "2.31.7.0"}
STACK_DRIVER = ("training_stacks.yaml", "aws-neuronx-dkms: 2.26.10.0", "aws-neuronx-dkms: 2.29.0.0")
LAST_FITTING_IMAGE = ("kubernetes_versions.yaml", ", 1.35.6-20260625: 2.28.0.0", "")
IMAGE_OF_TGI = ("inference_engines.yaml", "ecs-neuron-al2023-20260618", "ecs-neuron-al2023-20260805")
XLA = "Neuron driver 2.29.0.0 with runtime library 2.30.51.0: nrt_init() fails, that library needs one below 2.29 (xla"


@pytest.mark.parametrize(
    ("spoiled", "changes", "found"),
    [
        (STACK_DRIVER, {}, ("training.training_stack", XLA)),
        (
            STACK_DRIVER,
            two_stacks(training_stack="xla-2.28.1") | {"training.training_stack": "native-2.33"},
            ("training.queues[1].training_stack", "Write training_stack seed-2.20 or native-2.33."),
        ),
        (LAST_FITTING_IMAGE, cluster(), (f"{GROUP}.instance_type", f"1.35.6-20260714 has {XLA}")),
        (LAST_FITTING_IMAGE, cluster(), (f"{GROUP}.instance_type", "Write kubernetes.training_stack native-2.33.")),
        (IMAGE_OF_TGI, {f"{MODEL}.engine": "tgi"}, (f"{FIRST}.engine", "2.29.0.0 with runtime library 2.26.42.0:")),
    ],
)
def test_a_mismatch_of_the_facts_is_refused_at_its_place(
    spoiled_facts: SpoiledFacts,  # noqa: F811
    tmp_path: Path,
    spoiled: tuple[str, str, str],
    changes: dict[str, Any],
    found: tuple[str, str],
) -> None:
    spoiled_facts.replace(*spoiled)
    problems = problems_of(write(tmp_path, changed(MINIMAL, changes)))

    assert any((problem.path, bool(problem.line and problem.column)) == (found[0], True) for problem in problems)
    assert any(found[1] in str(problem) for problem in problems if problem.path == found[0])


def test_an_engine_image_whose_runtime_library_is_not_known_is_left_to_the_hosts(tmp_path: Path) -> None:
    changes = {f"{MODEL}.host_image": OWN, f"{MODEL}.image": "ghcr.io/example/engine:9"}
    assert problems_of(write(tmp_path, changed(MINIMAL, changes))) == []


def test_a_copy_of_the_engine_image_has_the_same_runtime_library(tmp_path: Path) -> None:
    changes = {f"{MODEL}.host_image": OWN, f"{MODEL}.image": ECR_IMAGE}
    [problem] = problems_of(write(tmp_path, changed(MINIMAL, changes)))

    assert problem.rule == "host-driver-fits-engine"
    assert "Leave `host_image` out, or name an image with a driver below 2.29." in str(problem)
