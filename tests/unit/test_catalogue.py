"""The catalogue is enough: a made-up resource type needs its entry there, and nothing else in the tools."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from slipway import catalogue
from slipway.assembly.stacks import Stack, read_stacks
from slipway.catalogue import services
from slipway.check.deploy_role import needs
from slipway.check.preflight.checks.names import physical_names
from slipway.check.preflight.counted_quotas import counted_quotas
from slipway.remove.leftovers.kind import kinds
from slipway.remove.scope import find_lost
from slipway.review.changes.compare import compare
from slipway.review.changes.facts import notes_of
from slipway.review.changes.permissions import clusters, protections
from slipway.review.cost.estimate import estimate as cost_of
from slipway.review.deploy_time.estimate import estimate as deploy_time_of
from slipway.review.report.architecture.read import read_architecture
from slipway.review.report.architecture.rows import part_rows
from tests.assembly import Assembly

WIDGET = "AWS::Example::Widget"
ENTRY = """
billing_source: {source: "https://example.com/pricing", as_of: 2026-11-23}
resource_types:
  AWS::Example::Widget:
    deploy_actions: [example:CreateWidget, example:DeleteWidget]
    linked_services: [example.amazonaws.com]
    create_seconds: 4000
    billing: {why: Bills by the hour., each: [{what: widget, item: nat_gateway_hour}]}
    quotas: [{check: PF24, quota: vpcs, listing: [ec2, describe_vpcs, Vpcs], id: VpcId}]
    fixed_name: {property: Name, listing: [ec2, describe_vpcs, Vpcs], arguments: {}, remove: aws example delete-widget}
    unique_name: [Name]
    replacing_properties: [{path: Size.Width, source: "https://example.com/widget"}]
    change_notes: [{effects: [replace], note: Widgets take a while., source: "https://example.com/widget"}]
    protections: [{path: Locked, read: leaves, values: [true], what: Anybody may take the widget}]
    holds_data: {asked: true}
    drawing: {kind: widget, title: "Widget {Name}"}
listings:
  - kind: widget
    service: example
    operation: list_widgets
    path: Widgets[].Name
    types: [AWS::Example::Widget]
"""
CACHES = (
    services._services,
    services.resource_types,
    catalogue.billings,
    catalogue.create_times,
    counted_quotas,
    physical_names,
    kinds,
    notes_of,
    protections._protections,
    clusters._settings,
    part_rows,
)


@pytest.fixture
def with_widget(default: Assembly, tmp_path: Path) -> Path:
    """The default environment with a widget in its network stack."""
    folder = tmp_path / "assembly"
    shutil.copytree(default.directory, folder)
    file = next(folder.glob("*network*.template.json"))
    template = json.loads(file.read_text())
    template["Resources"]["Widget"] = {
        "Type": WIDGET,
        "Properties": {"Name": "first", "Size": {"Width": 1}, "Locked": True},
    }
    file.write_text(json.dumps(template))
    return folder


@pytest.fixture
def own_services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that the catalogue is read from, empty."""
    folder = tmp_path / "services"
    folder.mkdir()
    monkeypatch.setattr(services, "_FOLDER", folder)
    _forget()
    yield folder
    monkeypatch.undo()
    _forget()


def _forget() -> None:
    for cached in CACHES:
        cached.cache_clear()


@pytest.fixture
def entry(own_services: Path) -> None:
    shutil.copytree(Path(services.__file__).with_name("services"), own_services, dirs_exist_ok=True)
    (own_services / "example.yaml").write_text(ENTRY)


def changed(stacks: tuple[Stack, ...], **properties: object) -> tuple[Stack, ...]:
    copy = json.loads(json.dumps([stack.template for stack in stacks]))
    for template in copy:
        if "Widget" in template["Resources"]:
            template["Resources"]["Widget"]["Properties"] |= properties
    return tuple(
        Stack(stack.name, stack.region, template, stack.tags, stack.termination_protection)
        for stack, template in zip(stacks, copy, strict=True)
    )


def test_without_an_entry_the_tools_name_the_gap(with_widget: Path) -> None:
    with pytest.raises(needs.UnknownTypeError, match=WIDGET):
        needs.read_needs(with_widget)
    (line,) = [line for line in cost_of(read_stacks(with_widget)).lines if line.logical_id == "Widget"]
    assert "nobody has said how this type bills" in str(line)


@pytest.mark.usefixtures("entry")
def test_its_entry_is_all_that_the_tools_need(with_widget: Path) -> None:
    stacks = read_stacks(with_widget)
    found = needs.read_needs(with_widget)

    assert {"example:CreateWidget", "example:DeleteWidget"} <= found.actions
    assert "example.amazonaws.com" in found.linked_services
    (line,) = [line for line in cost_of(stacks).lines if line.logical_id == "Widget"]
    assert line.billing == "priced"
    assert deploy_time_of(with_widget, None).seconds >= 4000
    assert WIDGET in {quota.type for quota in counted_quotas()} & {name.type for name in physical_names()}
    assert [kind.operation for kind in kinds() if WIDGET in kind.types] == ["list_widgets"]
    assert "Widget" in {resource.logical_id for resource in find_lost(stacks)}
    assert "Widget first" in {part.title for part in read_architecture(stacks).parts}


@pytest.mark.usefixtures("entry")
def test_a_change_of_it_is_understood(with_widget: Path) -> None:
    stacks = read_stacks(with_widget)
    changes = compare(stacks, changed(stacks, Size={"Width": 2}, Locked=False))

    (change,) = [change for change in changes.resources if change.logical_id == "Widget"]
    assert (change.effect, change.loses_data) == ("replace", True)
    assert "Widgets take a while." in change.notes
    assert "Anybody may take the widget" in {wider.what for wider in changes.broadenings}


def test_a_type_is_in_one_file(own_services: Path) -> None:
    for name in ("one", "two"):
        (own_services / f"{name}.yaml").write_text("resource_types: {AWS::Example::Widget: {create_seconds: 1}}")

    with pytest.raises(ValueError, match="AWS::Example::Widget is twice"):
        services.resource_types()


def test_an_unknown_column_is_refused(own_services: Path) -> None:
    (own_services / "one.yaml").write_text("resource_types: {AWS::Example::Widget: {create_minutes: 1}}")

    with pytest.raises(ValueError, match="create_minutes"):
        services.resource_types()
