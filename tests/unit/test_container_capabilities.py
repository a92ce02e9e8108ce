"""What a container of a task may do on its host, should somebody get into it."""

import re

from slipway import facts
from tests.assembly import Assembly

# A device that is open to no other container; its Linux capabilities are those of the host.
PRIVILEGED = {"Detector": "The kernel's log is open to privileged containers alone."}
DIGEST = re.compile(r"@sha256:[0-9a-f]{64}$")
PIN_MEMORY, LOW_PORT = "IPC_LOCK", "NET_BIND_SERVICE"


def test_containers_have_read_only_roots_and_only_capabilities_that_engines_need(each_assembly: Assembly) -> None:
    for stack in each_assembly.templates().values():
        for resource in stack["Resources"].values():
            if resource["Type"] != "AWS::ECS::TaskDefinition":
                continue
            for container in resource["Properties"]["ContainerDefinitions"]:
                assert container["ReadonlyRootFilesystem"] is True, container["Name"]
                if container["Name"] in PRIVILEGED:
                    # A copy in the account's own registry has the digest as its tag, which cannot be moved.
                    image = str(container["Image"]).replace(":sha256-", "@sha256:").rstrip("']}")
                    assert DIGEST.search(image), container["Name"]
                    continue
                assert not container.get("Privileged"), container["Name"]
                capabilities = container["LinuxParameters"]["Capabilities"]
                assert capabilities["Drop"] == ["ALL"], container["Name"]
                assert set(capabilities.get("Add", [])) <= {PIN_MEMORY, LOW_PORT}, container["Name"]


def test_the_base_of_a_training_image_is_one_image_whatever_its_tag_says_later() -> None:
    bases = {name: row.image for name, row in facts.cluster_images().items() if name.startswith("training-base-")}

    assert bases
    assert [name for name, image in bases.items() if not DIGEST.search(image)] == []
