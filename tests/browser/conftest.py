"""Pages of plans, and a real Chromium that has no network."""

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from slipway.assembly.stacks import Stack, read_stacks
from slipway.review.cost.estimate import estimate
from slipway.review.report.architecture import Architecture, read_architecture
from slipway.review.report.page import page
from tests.browser.chromium import ARGUMENTS, EXECUTABLE, variables
from tests.conftest import AssemblyFactory
from tests.review.report.example_plan import planned
from tests.review.report.plans import COMPARED, PLAN

WIDTHS = (1280, 390)
PAGES = ("default", "changed", "five", "kubernetes", "team", "public")
FIVE_LINES = (
    ("capacity_gib: 4800", "capacity_gib: 9600"),
    ("root_volume_gib: 500", "root_volume_gib: 600"),
    ("max_count: 4", "max_count: 8"),
    ("instance_type: inf2.8xlarge", "instance_type: inf2.48xlarge"),
    ("monthly_budget_usd: 5000", "monthly_budget_usd: 8000"),
)
"""A change of five lines of the default environment, in each of its stacks but the network's."""


@dataclass(frozen=True)
class Visit:
    """A page that is open, with all that it asked for and all that it complained of."""

    page: Page
    requests: list[str]
    complaints: list[str]


Open = Callable[..., Visit]


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    environment = variables(tmp_path_factory.mktemp("chromium"))
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=EXECUTABLE, args=list(ARGUMENTS), env={**environment})
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def files(assemblies: AssemblyFactory, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages, by what they show: environments alone, everything that can change, and five changed lines."""
    folder = tmp_path_factory.mktemp("pages")
    written = {"five": folder / "five.html"}
    plan, compared = planned(tmp_path_factory.mktemp("five"), FIVE_LINES)
    assert compared.base
    assert compared.base.assembly
    sides = (read_architecture(read_stacks(side)) for side in (compared.assembly, compared.base.assembly))
    written["five"].write_text(page(plan, *sides), encoding="utf-8")
    for name in (name for name in PAGES if name not in written):
        environment = "default" if name == "changed" else name
        stacks = read_stacks(assemblies(environment).directory)
        plan = PLAN.model_copy(update={"environment": environment, "cost": estimate(stacks)})
        architecture = read_architecture(stacks)
        text = page(COMPARED, architecture, base_of(stacks)) if name == "changed" else page(plan, architecture, None)
        written[name] = folder / f"{name}.html"
        written[name].write_text(text, encoding="utf-8")
    return written


def base_of(stacks: tuple[Stack, ...]) -> Architecture:
    """What the plan COMPARED compares with: fewer nodes, no served model, a second NAT gateway."""
    changed = {stack.name.rpartition("-")[2]: copy.deepcopy(stack.template) for stack in stacks}
    cluster = next(
        resource
        for resource in changed["training"]["Resources"].values()
        if resource["Type"] == "Custom::PclusterCluster"
    )
    queue = cluster["Properties"]["ClusterConfiguration"]["Scheduling"]["SlurmQueues"][0]
    queue["ComputeResources"][0]["MaxCount"] = 2
    services = changed["inference"]["Resources"]
    services.pop(next(name for name in services if name.startswith("ModelsTanuki8bServiceA")))
    network = changed["network"]["Resources"]
    gateway = next(resource for resource in network.values() if resource["Type"] == "AWS::EC2::NatGateway")
    second = next(name for name in network if name.startswith("NetworkVpcPublicSubnet2Subnet"))
    network["NetworkVpcPublicSubnet2NATGateway"] = {**gateway, "Properties": {"SubnetId": {"Ref": second}}}
    return read_architecture(tuple(replace(stack, template=changed[stack.name.rpartition("-")[2]]) for stack in stacks))


@pytest.fixture
def visit(browser: Browser, files: dict[str, Path]) -> Iterator[Open]:
    """Return a function that opens a page from its file, in a browser without a network and without scripts."""
    with _contexts() as close:

        def opened(name: str, width: int = 1280, scheme: str = "light", *, scripts: bool = False) -> Visit:
            context = browser.new_context(
                viewport={"width": width, "height": 900},
                color_scheme="dark" if scheme == "dark" else "light",
                offline=True,
                java_script_enabled=scripts,
                bypass_csp=scripts,
            )
            close.append(context.close)
            tab = context.new_page()
            seen = Visit(tab, [], [])
            tab.on("request", lambda request: seen.requests.append(request.url))
            tab.on("console", lambda message: seen.complaints.append(message.text))
            tab.on("pageerror", lambda error: seen.complaints.append(str(error)))
            tab.goto(files[name].as_uri())
            return seen

        yield opened


@contextmanager
def _contexts() -> Iterator[list[Callable[[], None]]]:
    close: list[Callable[[], None]] = []
    try:
        yield close
    finally:
        for end in close:
            end()
