"""The made-up account holds the baked images that the environment files name."""

from typing import Any

from slipway import facts
from slipway.review.judge.assembly import read_assembly
from slipway.review.judge.node_images import images_of_account, node_images
from tests.assembly import Assembly
from tests.conftest import AssemblyFactory


def named(id_: str) -> dict[str, Any]:
    """An image as an assembly names it."""
    facts = {"os": "ubuntu2404", "version": "3.16.1"}
    return {"kind": "machine image", "id": id_, "use": "head node", "facts": facts}


def test_an_image_of_the_users_own_is_taken_for_one_that_fits() -> None:
    """The wheel's list has placeholders alone, and only AWS knows the user's."""
    images = {image.id: image for image in images_of_account([named("ami-0123456789abcdef9")])}

    assert images["ami-0123456789abcdef9"].operating_system == "ubuntu2404"
    assert images["ami-0123456789abcdef9"].parallelcluster_version == "3.16.1"
    assert {image.id for image in node_images()} < images.keys()


def test_an_image_with_a_row_is_what_the_row_says() -> None:
    old = next(image for image in node_images() if image.parallelcluster_version == "3.15.1")

    assert old in images_of_account([named(old.id)])


def test_an_assembly_names_the_images_of_its_nodes(assemblies: AssemblyFactory) -> None:
    existing = read_assembly(assemblies("isolated").directory)["existing"]

    assert [row["use"] for row in existing if row["kind"] == "machine image"] == ["head node", "nodes of trn1"]


def test_one_image_fits_todays_release_and_one_does_not() -> None:
    known = facts.parallelcluster_releases()
    assert {image.parallelcluster_version in known for image in node_images()} == {True, False}


def test_reads_the_image_configurations_of_the_assembly(default: Assembly) -> None:
    documents = [text for texts in read_assembly(default.directory)["documents"].values() for text in texts.items()]
    assert [path for path, _ in documents] == ["images/trainium-xla-2-28-1-ubuntu2204.yaml"]
    assert "Build:\n" in documents[0][1]
