"""The end of a stack, whatever happens on the way."""

from pathlib import Path

from slipway_emulator.faults import Faults
from slipway_emulator.ledger import Ledger
from slipway_emulator.resources.catalogue import Catalogue
from slipway_emulator.stacks.deletion import delete_stack
from slipway_emulator.stacks.model import ProvisionedResource, Stack, StackState
from slipway_emulator.stacks.provisioner import Provisioner
from slipway_emulator.template.document import Template
from tests.emulator.known_region import KnownRegion

TYPE = "AWS::SNS::Topic"


def test_a_defect_of_the_emulator_ends_in_a_final_status(tmp_path: Path) -> None:
    stack = Stack.named("defect", "us-west-2")
    stack.state = StackState(Template(f'{{"Resources": {{"Topic": {{"Type": "{TYPE}"}}}}}}'))
    stack.resources["Topic"] = ProvisionedResource("Topic", TYPE, "topic", {}, {}, "api", "CREATE_COMPLETE")
    # Nothing handles the type: what no template that was let in can bring about.
    provisioner = Provisioner(
        stack, Catalogue(), Ledger(tmp_path / "ledger"), KnownRegion(), Faults(tmp_path / "faults")
    )

    delete_stack(stack, provisioner, users_of_exports=())

    assert (stack.status, set(stack.resources)) == ("DELETE_FAILED", {"Topic"})
