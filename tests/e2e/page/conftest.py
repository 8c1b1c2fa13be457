"""The page in Chromium, against a function URL that says what the test tells it to."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Request, expect, sync_playwright

from tests.support.local_stack import Stack
from tests.support.page_mock import Mock, served

AGENTS = [
    {
        "name": "reactAgent",
        "title": "Assistant",
        "description": "Searches a small knowledge base.",
        "url": "agents/reactAgent/",
        "offline": True,
    },
    {
        "name": "kb",
        "title": "Knowledge base",
        "description": "Answers with citations.",
        "url": "agents/kb/",
        "offline": True,
        "routes": ["citations", "documents"],
    },
    {
        "name": "dev",
        "title": "Demo",
        "description": "Asks for every kind of answer.",
        "url": "agents/dev",  # people leave the slash out
        "offline": False,
        "prompts": ["start demo"],
    },
]
# Chromium's own lines about a failed request; the tests that make one fail allow them.
NETWORK_LINES = ("Failed to load resource",)
PATIENCE_MS = 15_000  # a busy machine starts tabs slowly; what is there at once is seen at once
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
        self.page.on("console", self._heard)
        self.page.on("pageerror", self._threw)
        self.page.on("request", self._asked)

    def unwatch(self) -> None:
        self.page.remove_listener("console", self._heard)
        self.page.remove_listener("pageerror", self._threw)
        self.page.remove_listener("request", self._asked)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not (self.may_fail and message.text.startswith(NETWORK_LINES)):
            self.complaints.append(f"{message.type}: {message.text} ({message.location.get('url')})")

    def _threw(self, error: Error) -> None:
        self.complaints.append(f"error: {error}")

    def _asked(self, request: Request) -> None:
        if urlsplit(request.url).netloc != urlsplit(self.address).netloc:
            self.complaints.append(f"request to {request.url}")

    def open(self, hash_: str = "#dev") -> Page:
        self.page.goto(f"{self.address}{hash_}")
        self.page.get_by_role("textbox", name="Message").wait_for()
        return self.page

    def wait_until(self, true: Callable[[], bool]) -> None:
        """Waits for what no locator can tell. Not `wait_for_function`: it asks again by `eval`, which the page's policy forbids."""
        for _ in range(PATIENCE_MS // 20):
            if true():
                return
            self.page.wait_for_timeout(20)
        pytest.fail("it did not happen in time")

    def send(self, text: str) -> None:
        field = self.page.get_by_role("textbox", name="Message")
        field.fill(text)
        field.press("Enter")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium: the system's if there is one, else the one `playwright install chromium` put there.

    For one file: while Playwright is there its event loop counts as running, and async tests in the same process could not start one.
    """
    expect.set_options(timeout=PATIENCE_MS)
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
    mock.forget()
    return mock


@contextmanager
def watched_page(page: Page, mock: Mock, address: str) -> Iterator[Watched]:
    """A tab as if it were new; at the end the test fails on any console error, exception, request to another host, or body that came
    without its hash."""
    one = Watched(page, mock, address)
    one.watch()
    yield one
    page.unroute_all(behavior="ignoreErrors")  # the title is asked for once more later
    page.evaluate("sessionStorage.clear(); localStorage.clear()")
    one.unwatch()
    page.goto("about:blank")
    assert (one.complaints, mock.unhashed) == ([], [])


def tab(browser: Browser, **options: Any) -> Page:
    """One tab for many tests: to open a tab and to fetch the files takes longer than most tests."""
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE_MS)
    return context.new_page()


@pytest.fixture(scope="module")
def desktop(browser: Browser) -> Page:
    return tab(browser, viewport={"width": 1360, "height": 860})


@pytest.fixture
def watched(desktop: Page, mock: Mock, mock_server: tuple[Mock, str]) -> Iterator[Watched]:
    """The page on a desk, see `watched_page`."""
    with watched_page(desktop, mock, mock_server[1]) as one:
        yield one


@pytest.fixture
def real(desktop: Page, stack: Stack) -> Iterator[Watched]:
    """The page as the stack serves it; `mock` is not asked."""
    with watched_page(desktop, Mock([]), f"{stack.url}/") as one:
        yield one
