"""The documentation's site in a real Chromium: it asks no other host, fits a phone, and its search finds."""

import functools
import subprocess
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, Page

from docs.pages import lay_out
from tests.assembly import PROJECT
from tests.browser.conftest import WIDTHS

pytestmark = pytest.mark.browser

# The page of the project, long tables, long code lines, code and tables in a list.
PAGES = ("", "docs/environment-file/", "docs/cluster-rules/", "docs/coming-from/", "docs/onboarding/", "docs/training/")


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and writes no log."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Write nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the built site."""
    folder = tmp_path_factory.mktemp("docs")
    lay_out(folder)
    zensical = PROJECT / ".tools" / "docs" / "bin" / "zensical"
    subprocess.run(
        [zensical, "build", "--strict", "--config-file", folder / "zensical.toml"], check=True, capture_output=True
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder / "site"))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture(params=[(width, scheme) for width in WIDTHS for scheme in ("light", "dark")], ids=str)
def tab(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    width, scheme = request.param
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    yield context.new_page()
    context.close()


def test_a_page_asks_its_own_host_alone_and_fits_the_screen(tab: Page, site: str) -> None:
    asked: list[str] = []
    complaints: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))

    wide = []
    for page in PAGES:
        tab.goto(site + page)
        if tab.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wide.append(page)

    assert [url for url in asked if not url.startswith((site, "data:", "blob:"))] == []
    assert (wide, complaints) == ([], [])


def test_the_background_follows_the_system(browser: Browser, site: str) -> None:
    colours = set()
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme)
        page = context.new_page()
        page.goto(site)
        colours.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        context.close()

    assert len(colours) == 2


def test_the_search_finds_a_page(browser: Browser, site: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(site)
    page.keyboard.press("/")
    page.get_by_role("combobox", name="Search").fill("HyperPod")

    page.get_by_role("option", name="SageMaker HyperPod with Slurm").wait_for()
    context.close()


def test_code_can_be_copied(browser: Browser, site: str) -> None:
    context = browser.new_context()
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(site + "docs/first-training/")
    page.locator(".md-clipboard, .md-code__button").first.click()

    assert page.evaluate("navigator.clipboard.readText()").startswith("slipway connect -e mine")
    context.close()
