"""The page in Chromium, against a function URL that says what the test tells it to."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.support.page_mock import Mock, served

AGENTS = [
    {"name": "reactAgent", "title": "Assistant", "description": "Searches a small knowledge base.", "url": "agents/reactAgent/", "offline": True},
    {"name": "dev", "title": "Demo", "description": "Asks for every kind of answer.", "url": "agents/dev/", "offline": False},
]
# Chromium's own lines about a failed request; the tests that make one fail allow them.
NETWORK_LINES = ("Failed to load resource",)
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@dataclass
class Watched:
    """A page with what went wrong in it. `complaints` is empty when all is well."""

    page: Page
    mock: Mock
    address: str
    complaints: list[str] = field(default_factory=list)
    may_fail: bool = False  # the test breaks a request on purpose

    def watch(self) -> None:
        self.page.on("console", lambda message: self._heard(message.type, message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("request", lambda request: self._asked(request.url))

    def _heard(self, kind: str, text: str) -> None:
        if kind in ("error", "warning") and not (self.may_fail and text.startswith(NETWORK_LINES)):
            self.complaints.append(f"{kind}: {text}")

    def _asked(self, url: str) -> None:
        if urlsplit(url).netloc != urlsplit(self.address).netloc:
            self.complaints.append(f"request to {url}")

    def open(self, hash_: str = "#dev") -> Page:
        self.page.goto(f"{self.address}{hash_}")
        self.page.get_by_role("textbox", name="Message").wait_for()
        return self.page

    def send(self, text: str) -> None:
        field = self.page.get_by_role("textbox", name="Message")
        field.fill(text)
        field.press("Enter")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium: the system's if there is one, else the one `playwright install chromium` put there."""
    with sync_playwright() as playwright:
        found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def mock_server() -> Iterator[tuple[Mock, str]]:
    mock = Mock(AGENTS)
    with served(mock) as address:
        yield mock, address


@pytest.fixture
def mock(mock_server: tuple[Mock, str]) -> Mock:
    mock, _ = mock_server
    mock.runs.clear()
    mock.connects.clear()
    mock.seen.clear()
    mock.left = 0
    return mock


@pytest.fixture
def watched(browser: Browser, mock: Mock, mock_server: tuple[Mock, str]) -> Iterator[Watched]:
    """A fresh tab; at the end the test fails on any console error, exception or request to another host."""
    context = browser.new_context(viewport={"width": 1360, "height": 860})
    context.set_default_timeout(5_000)
    one = Watched(context.new_page(), mock, mock_server[1])
    one.watch()
    yield one
    context.close()
    assert one.complaints == []
