"""The made-up account holds the baked images that the environment files name."""

from slipway import facts
from slipway.config import load_environment
from slipway.project import PROJECT
from slipway.review.judge.assembly import read_assembly
from slipway.review.judge.node_images import node_images
from tests.assembly import Assembly


def test_every_image_of_an_environment_file_has_a_row() -> None:
    trainings = [load_environment(file).training for file in (PROJECT / "environments").glob("*.yaml")]
    named = {
        image
        for training in trainings
        if training
        for image in (training.head_node.custom_ami_id, *(queue.custom_ami_id for queue in training.queues))
        if image
    }
    assert named <= {image.id for image in node_images()}


def test_one_image_fits_todays_release_and_one_does_not() -> None:
    known = facts.parallelcluster_releases()
    assert {image.parallelcluster_version in known for image in node_images()} == {True, False}


def test_reads_the_image_configurations_of_the_assembly(default: Assembly) -> None:
    documents = [text for texts in read_assembly(default.directory)["documents"].values() for text in texts.items()]
    assert [path for path, _ in documents] == ["images/trainium-xla-2-28-1-ubuntu2204.yaml"]
    assert "Build:\n" in documents[0][1]
