import json
from typing import Any

from slipway_emulator.stacks.changes import Change, changes
from slipway_emulator.stacks.model import ProvisionedResource, Stack, StackState
from slipway_emulator.stacks.registry import replacing_properties
from slipway_emulator.template.document import Template

SUBNET = "AWS::EC2::Subnet"
REGION = "us-west-2"
BEFORE = {
    "Net": {"Type": SUBNET, "Properties": {"CidrBlock": "10.0.0.0/24", "MapPublicIpOnLaunch": False}},
    "Node": {"Type": "AWS::EC2::Instance", "Properties": {"SubnetId": {"Ref": "Net"}}},
    "Old": {"Type": "AWS::SNS::Topic"},
}


def stack(resources: dict[str, Any]) -> Stack:
    found = Stack.named("s", REGION)
    found.state = StackState(Template(json.dumps({"Resources": resources})), resolved_parameters={"Size": "1"})
    for name, definition in resources.items():
        found.resources[name] = ProvisionedResource(
            name, definition["Type"], f"id-{name}", definition.get("Properties", {}), {}, "api", "CREATE_COMPLETE"
        )
    return found


def compare(after: dict[str, Any], parameters: dict[str, str | list[str]] | None = None) -> dict[str, Change]:
    template = Template(json.dumps({"Resources": after}))
    found = changes(stack(BEFORE), template, set(after), parameters or {"Size": "1"})
    return {change.logical_id: change for change in found}


def test_same_template_changes_nothing() -> None:
    assert compare(BEFORE) == {}


def test_added_and_removed() -> None:
    after = {name: definition for name, definition in BEFORE.items() if name != "Old"}
    found = compare({**after, "New": {"Type": "AWS::SNS::Topic"}})
    assert {name: change.action for name, change in found.items()} == {"New": "Add", "Old": "Remove"}
    assert found["Old"].physical_id == "id-Old"


def test_change_in_place() -> None:
    subnet = {"Type": SUBNET, "Properties": {"CidrBlock": "10.0.0.0/24", "MapPublicIpOnLaunch": True}}
    found = compare({**BEFORE, "Net": subnet})
    assert found == {"Net": Change("Modify", "Net", SUBNET, "id-Net", ("MapPublicIpOnLaunch",))}


def test_replacement_reaches_what_refers_to_it() -> None:
    subnet = {"Type": SUBNET, "Properties": {"CidrBlock": "10.0.1.0/24", "MapPublicIpOnLaunch": False}}
    found = compare({**BEFORE, "Net": subnet})
    assert found["Net"].replacing == ("CidrBlock",)
    assert found["Node"].properties == ("SubnetId",)


def test_changed_parameter_reaches_its_users() -> None:
    resources = {**BEFORE, "Old": {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": {"Ref": "Size"}}}}
    template = Template(json.dumps({"Resources": resources}))
    same = changes(stack(resources), template, set(resources), {"Size": "1"})
    changed = changes(stack(resources), template, set(resources), {"Size": "2"})
    assert same == []
    assert [(change.logical_id, change.properties) for change in changed] == [("Old", ("DisplayName",))]


def test_only_the_named_member_of_a_property_replaces() -> None:
    before = {"Budget": {"BudgetName": "a", "BudgetLimit": {"Amount": 1}}}
    assert replacing_properties("AWS::Budgets::Budget", REGION, before, {"Budget": {**before["Budget"], "X": 1}}) == []
    renamed = {"Budget": {**before["Budget"], "BudgetName": "b"}}
    assert replacing_properties("AWS::Budgets::Budget", REGION, before, renamed) == ["Budget"]


def test_type_without_a_schema_is_never_replaced() -> None:
    assert replacing_properties("Custom::Anything", REGION, {"a": 1}, {"a": 2}) == []
