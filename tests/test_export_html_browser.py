"""The exported page in a real browser: it works, asks for nothing, and nothing in it runs."""

from __future__ import annotations

import base64
import os
import re
from typing import TYPE_CHECKING

import pytest

from chromium import CHROMIUM, Chromium
from exporting import documents
from hermes_sessions.export.html import html_page
from support import CLOCK
from test_export_html import PAYLOADS, spread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from hermes_sessions.export.documents import Document

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        CHROMIUM is None and not os.environ.get("CI"), reason="Chromium is not installed"
    ),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with Chromium(tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture
def open_page(browser: Chromium, tmp_path: Path) -> Callable[..., Chromium]:
    """Open a page of documents; nothing else may be asked for, and the console stays empty."""

    def opened(*found: Document, title: str = "Conversations", place: str = "") -> Chromium:
        path = tmp_path / "page.html"
        pieces = html_page(found, title=title, exported_at=CLOCK)
        path.write_text("".join(pieces), encoding="utf-8")
        address = path.as_uri()
        browser.open(f"{address}{place}")
        assert [asked.partition("#")[0] for asked in browser.requests] == [address]
        assert browser.console == []
        return browser

    return opened


def longest(directory: Path) -> Document:
    """Return a conversation with tool calls, reasoning and an answer."""
    return max(
        documents("0.22.2", directory), key=lambda d: sum(bool(m.tool_calls) for m in d.messages)
    )


def test_R078_nothing_in_a_hostile_store_runs(
    open_page: Callable[..., Chromium], tmp_path: Path
) -> None:
    found = documents("0.22.2", tmp_path / "store", spread)
    title = PAYLOADS[0]
    page = open_page(*found, title=title)
    page.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    page.run("document.querySelector('.turn').scrollIntoView()")
    page.run("window.dispatchEvent(new MouseEvent('mouseover'))")
    page.run("new Promise((done) => setTimeout(done, 300))")
    assert page.run("document.title") == title
    assert page.run("window.name") == ""
    assert page.run("document.scripts.length") == 1
    assert page.run("document.querySelectorAll('img, iframe, object, form, base').length") == 0
    names = page.run(
        "[...new Set([...document.querySelectorAll('*')].flatMap((e) => e.getAttributeNames()))]"
    )
    assert not [name for name in names if name == "style" or name.startswith("on")]
    assert page.console == []
    assert len(page.requests) == 1


def test_the_browser_would_tell(browser: Chromium, tmp_path: Path) -> None:
    """What the other tests rely on: the policy stops what got in, and the console says so."""
    text = "".join(html_page([longest(tmp_path / "store")], title="x", exported_at=CLOCK))
    planted = "<script>document.title = 'XSS'</script><img src='https://xss.test/a.png'>"
    path = tmp_path / "page.html"
    path.write_text(text.replace("</main>", f"{planted}</main>"), encoding="utf-8")
    browser.open(path.as_uri())
    assert sum("Content Security Policy" in line for line in browser.console) == 2
    assert browser.run("document.title") == "x"


def test_the_page_works_without_scripts(
    browser: Chromium, open_page: Callable[..., Chromium], tmp_path: Path
) -> None:
    """Everything is there, folded things unfold, and no dead buttons are shown."""
    document = longest(tmp_path / "store")
    browser.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        open_page(document)
        nodes = browser.send("DOM.getDocument", depth=-1)["root"]
        root = nodes["nodeId"]

        def found(selector: str) -> list[int]:
            answer = browser.send("DOM.querySelectorAll", nodeId=root, selector=selector)
            ids: list[int] = answer["nodeIds"]
            return ids

        assert len(found(".message, .result")) == len(document.messages)
        assert len(found(".tools [hidden]")) == 2
        summary = found("details.call > summary")[0]
        browser.send("DOM.scrollIntoViewIfNeeded", nodeId=summary)
        left, top, right, _, _, bottom, *_ = browser.send("DOM.getBoxModel", nodeId=summary)[
            "model"
        ]["content"]
        for kind in ("mousePressed", "mouseReleased"):
            browser.send(
                "Input.dispatchMouseEvent",
                type=kind, x=(left + right) / 2, y=(top + bottom) / 2, button="left", clickCount=1,
            )  # fmt: skip
        assert len(found("details.call[open]")) == 1
    finally:
        browser.send("Emulation.setScriptExecutionDisabled", value=False)


def test_a_link_to_a_result_unfolds_its_call(
    open_page: Callable[..., Chromium], tmp_path: Path
) -> None:
    document = longest(tmp_path / "store")
    result = next(m for m in document.messages if m.role == "tool")
    page = open_page(document, place=f"#m{result.id}")
    assert page.run(f"document.getElementById('m{result.id}').checkVisibility()")
    box = f"document.getElementById('m{result.id}').getBoundingClientRect()"
    assert 0 <= page.run(f"{box}.top") < page.run("innerHeight")


def test_search_goes_through_the_messages(
    open_page: Callable[..., Chromium], tmp_path: Path
) -> None:
    document = longest(tmp_path / "store")
    page = open_page(document)
    page.press("/")
    assert page.run("document.activeElement.id") == "query"
    for letter in "TokenStore(":  # in a result, coloured or not
        page.press(letter)
    page.press("Enter")
    total = page.run("document.getElementById('hits').textContent")
    assert total.startswith("1 of "), total
    assert page.run("document.querySelectorAll('.hit-now').length") == 1
    assert page.run("CSS.highlights.get('found-now').size") > 0
    assert page.run(
        "[...CSS.highlights.get('found-now')].every((range) => range.toString() === 'TokenStore('"
        " && range.startContainer.parentElement.checkVisibility())"
    )
    page.press("Escape")
    assert page.run("document.querySelectorAll('.hit-now').length") == 0


def test_keys_and_buttons(open_page: Callable[..., Chromium], tmp_path: Path) -> None:
    document = longest(tmp_path / "store")
    page = open_page(document)
    for key, turn in (("j", 0), ("j", 1), ("k", 0)):
        page.press(key)
        current = "[...document.querySelectorAll('.turn')].findIndex((t) => t.matches('.current'))"
        assert page.run(current) == turn
    before = page.run("getComputedStyle(document.documentElement).backgroundColor")
    page.run("document.getElementById('theme').click()")
    assert page.run("getComputedStyle(document.documentElement).backgroundColor") != before
    page.run("document.getElementById('theme').click()")
    page.run("document.getElementById('unfold').click()")
    assert page.run("document.querySelectorAll('main details:not([open])').length") == 0
    page.run("document.getElementById('words').click()")
    shown = "[...document.querySelectorAll('.call')].filter((e) => e.checkVisibility()).length"
    assert page.run(shown) == 0


@pytest.mark.parametrize("width", [320, 390, 768, 1100, 1920])
def test_nothing_is_wider_than_the_window(
    width: int, browser: Chromium, open_page: Callable[..., Chromium], tmp_path: Path
) -> None:
    found = documents("0.22.2", tmp_path / "store", spread)
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.send("Emulation.setDeviceMetricsOverride", **size)
    try:
        page = open_page(*found)
        page.run("document.getElementById('unfold').click()")
        assert page.run("document.documentElement.scrollWidth") <= width
    finally:
        browser.send("Emulation.clearDeviceMetricsOverride")


def test_print_fills_its_sheets(
    browser: Chromium, open_page: Callable[..., Chromium], tmp_path: Path
) -> None:
    """A request that is longer than the rest of a sheet begins on it all the same."""
    document = longest(tmp_path / "store")
    said = document.messages[0]._replace(role="user", content="line\n\n" * 18)
    many = tuple(said._replace(id=n + 1) for n in range(8))
    open_page(document._replace(messages=many))
    pdf = base64.b64decode(browser.send("Page.printToPDF")["data"])
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) < 8


@pytest.mark.slow
def test_R042_a_huge_conversation_opens(open_page: Callable[..., Chromium], tmp_path: Path) -> None:
    document = longest(tmp_path / "store")
    some = document.messages
    many = tuple(some[n % len(some)]._replace(id=n + 1) for n in range(35_000))
    page = open_page(document._replace(messages=many))
    page.run("location.hash = '#m34000'")
    top = page.run(
        "new Promise((done) => setTimeout(() => done("
        "document.getElementById('m34000').getBoundingClientRect().top), 500))"
    )
    assert 0 <= top < page.run("innerHeight")
    drawn = "[...document.querySelectorAll('.turn > .message')].filter((m) => m.checkVisibility({contentVisibilityAuto: true})).length"  # noqa: E501
    assert 0 < page.run(drawn) < 500, "what is out of view is laid out, too"


def test_contents_follow_the_reader(open_page: Callable[..., Chromium], tmp_path: Path) -> None:
    page = open_page(*documents("0.22.2", tmp_path / "store"))
    page.run("document.getElementById('c3').scrollIntoView()")
    page.run("new Promise((done) => setTimeout(done, 300))")
    assert page.run("[...document.querySelectorAll('nav [aria-current]')].map((a) => a.hash)") == [
        "#c3"
    ]
