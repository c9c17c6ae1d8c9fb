"""The page that ``export`` writes: exactly the transcript, and nothing that acts."""

from __future__ import annotations

import hashlib
import html
import json
import re
import sqlite3
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporting import documents, shown
from hermes_sessions.content import plain_text, tool_calls
from hermes_sessions.export.code_html import CodeHtml
from hermes_sessions.export.escaping import safe
from hermes_sessions.export.html import html_page
from hermes_sessions.export.markdown_html import MarkdownHtml
from hermes_sessions.export.pieces import PieceKind, pieces
from hermes_sessions.export.turns import turns
from hermes_sessions.models import Message
from hermes_sessions.text import neutralise
from html_reading import Element, messages_of, read_page
from support import CLOCK, DAMAGED, STORES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hermes_sessions.export.documents import Document

READABLE = sorted(set(STORES) - set(DAMAGED))
PAYLOADS = (Path(__file__).parent / "xss.txt").read_text(encoding="utf-8").splitlines()

ALLOWED: dict[str, set[str]] = {
    **{tag: set() for tag in ("head", "body", "main", "footer", "title", "style")},
    **{tag: set() for tag in ("strong", "em", "s", "br", "hr", "thead", "tbody", "tr")},
    **{tag: set() for tag in ("script", "summary", "table", "blockquote", "ul", "dt")},
    **{tag: {"dir"} for tag in ("h3", "h4", "h5", "h6", "li", "h2", "dd")},
    "html": {"lang"},
    "meta": {"charset", "http-equiv", "content", "name"},
    "h1": {"class", "dir"},
    "p": {"class", "dir"},
    "b": {"class", "dir"},
    "span": {"class", "dir"},
    "th": {"class", "dir"},
    "td": {"class", "dir"},
    "ol": {"start"},
    "pre": {"class"},
    "header": {"class"},
    "code": {"class"},
    "dl": {"class"},
    "details": {"class"},
    "section": {"class"},
    "article": {"class", "id"},
    "div": {"class", "id", "hidden"},
    "nav": {"id", "aria-label"},
    "time": {"datetime", "title"},
    "a": {"class", "href", "rel", "title"},
    "svg": {"viewbox", "aria-hidden"},
    "path": {"d", "class"},
    "button": {"type", "id", "title", "aria-label", "aria-pressed"},
    "input": {"type", "id", "placeholder", "title", "aria-label", "autocomplete", "spellcheck"},
    "output": {"id", "for", "aria-live"},
}
TARGET = re.compile(r"(https?://|mailto:|#)\S*", re.IGNORECASE)


def page_of(*found: Document, title: str = "Conversations") -> str:
    return "".join(html_page(found, title=title, exported_at=CLOCK))


def check_inert(page: Element) -> None:
    """Only elements and attributes that the writer knows; every target leads out or nowhere."""
    header = page.walk()
    for element in header:
        if element.tag:
            assert element.tag in ALLOWED, element.tag
            extra = set(element.attributes) - ALLOWED[element.tag]
            assert not extra, (element.tag, extra)
    assert len(page.all("script")) == len(page.all("style")) == 1
    assert len(page.all("input")) == 1
    assert {meta.attributes.get("http-equiv") for meta in page.all("meta")} == {
        None,
        "Content-Security-Policy",
    }
    ids = [element.id for element in page.walk() if element.id]
    assert len(ids) == len(set(ids))
    for link in page.all("a"):
        target = link.attributes["href"]
        assert TARGET.fullmatch(target), target
        if not target.startswith("#"):
            assert link.attributes["rel"] == "noopener noreferrer nofollow"


def letters(text: str) -> str:
    """Reduce text to what no rendering of Markdown or JSON changes."""
    return "".join(filter(str.isalnum, neutralise(text)))


def flat(text: str) -> str:
    """Write a JSON object or array without its quoting; other text as it is."""

    def parts(value: object) -> Iterator[str]:
        if isinstance(value, dict):
            for key, inner in value.items():
                yield key
                yield from parts(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from parts(inner)
        else:
            yield value if isinstance(value, str) else json.dumps(value)

    try:
        value = json.loads(text)
    except ValueError:
        return text
    return " ".join(parts(value)) if isinstance(value, (dict, list)) else text


def expected(message: Message) -> str:
    """Say what a message must show, in this order: reasoning, text, calls."""
    text = plain_text(message.content)
    if message.role == "tool":
        return letters(flat(text))
    calls = tool_calls(message.tool_calls)
    said = [message.reasoning or "", html.unescape(text)]
    said += [f"{call.name} {flat(call.arguments)}" for call in calls]
    if message.tool_calls and not calls:
        said.append(f"tool calls {message.tool_calls!s}")
    return letters(" ".join(said))


@pytest.mark.parametrize("name", READABLE)
def test_the_page_is_the_transcript(name: str, tmp_path: Path) -> None:
    """Each message once, in order, with all of its text (R075)."""
    found = documents(name, tmp_path)
    page = read_page(page_of(*found))
    check_inert(page)
    assert found
    articles = page.all("article")
    assert len(articles) == len(found)
    for document, article in zip(found, articles, strict=True):
        said = messages_of(article)
        assert [message.id for message in said] == [message.id for message in document.messages]
        for message, on_page in zip(document.messages, said, strict=True):
            shown_text = letters(on_page.text)
            if message.role == "tool" and shown_text.startswith(letters(message.tool_name or "")):
                shown_text = shown_text.removeprefix(letters(message.tool_name or ""))
            assert shown_text in {expected(message), "empty", "nooutput"}, message
            if shown_text in {"empty", "nooutput"}:
                assert not expected(message).strip()


def test_hidden_messages_stay_out(tmp_path: Path) -> None:
    (document,) = [d for d in documents("0.22.2", tmp_path) if len(d.messages) > 10][:1]
    secret = document.messages[0]._replace(id=9001, content="walrus", display_kind="hidden")
    text = page_of(document._replace(messages=(secret, *document.messages)))
    assert "walrus" not in text
    assert "9001" not in text


def test_R066_archived_turns_are_shown_before_a_divider(tmp_path: Path) -> None:
    found = [d for d in documents("0.22.2", tmp_path) if any(m.archived for m in d.messages)]
    assert found
    for document in found:
        page = read_page(page_of(document))
        archived = sum(m.archived for m in document.messages)
        marked = [t for t in page.all("section", "turn") if t.all("span", "tag")]
        assert sum(len(t.all("div", "message")) for t in marked) == archived
        dividers = [p.text for p in page.all("p", "divider")]
        assert any("no longer sees" in text for text in dividers)


def test_facts_of_a_conversation(tmp_path: Path) -> None:
    for document in documents("0.22.2", tmp_path):
        article = read_page(page_of(document)).one("article")
        labels, values = (article.one("dl", "facts").all(tag) for tag in ("dt", "dd"))
        facts = {k.text: v.text for k, v in zip(labels, values, strict=True)}
        summary = document.summary
        assert facts["Session"] == summary.id
        assert facts["Source"] == summary.conversation.source
        assert facts["Messages"].split()[0] == f"{len(document.messages):,}"
        assert article.one("h2").text == (" ".join(summary.name.split()) or "(no request yet)")
        assert {"Started", "State", "Cost"} <= set(facts)
        assert "cost" not in facts["Cost"]


def test_several_conversations_have_a_list_of_contents(tmp_path: Path) -> None:
    found = documents("0.22.2", tmp_path)
    page = read_page(page_of(*found, title="All of <them>"))
    links = page.one("nav").all("a")
    assert [link.attributes["href"] for link in links] == [
        f"#{article.id}" for article in page.all("article")
    ]
    titles = [link.one("b").text for link in links]
    assert titles == [article.one("h2").text for article in page.all("article")]
    assert page.one("title").text == page.one("h1").text == "All of <them>"
    assert not read_page(page_of(found[0])).all("nav")
    assert not read_page(page_of()).all("nav")


def test_the_policy_allows_exactly_the_embedded_style_and_script(tmp_path: Path) -> None:
    text = page_of(*documents("0.22.2", tmp_path)[:1])
    page = read_page(text)
    (policy,) = [m for m in page.all("meta") if "http-equiv" in m.attributes]
    rules = dict(rule.split(" ", 1) for rule in policy.attributes["content"].split("; "))
    for tag in ("style", "script"):
        digest = hashlib.sha256(page.one(tag).text.encode()).digest()
        assert rules[f"{tag}-src"] == f"'sha256-{b64encode(digest).decode()}'"
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert len(rules) == 5
    assert text.index("Content-Security-Policy") < text.index("<style>") < text.index("<script>")


def test_the_page_needs_nothing_from_outside(tmp_path: Path) -> None:
    page = read_page(page_of(*documents("0.22.2", tmp_path)[:1]))
    style, script = page.one("style").text, page.one("script").text
    assert not re.search(r"url\(|@import|https?:", style)
    assert not re.search(r"fetch\(|XMLHttp|import\(|https?:|innerHTML|eval\(|\.src\b", script)
    for text in (style, script):
        assert not re.search(r"<!--|</(style|script)", text, re.IGNORECASE)


def test_the_same_input_gives_the_same_page(tmp_path: Path) -> None:
    found = documents("0.22.2", tmp_path)
    assert page_of(*found) == page_of(*found)


def test_a_conversation_is_written_before_the_next_is_taken(tmp_path: Path) -> None:
    """Nothing is held twice: documents are asked for one by one."""
    found = [d for d in documents("0.22.2", tmp_path) if d.messages][:2]
    taken = []

    def one_by_one() -> Iterator[Document]:
        for document in found:
            taken.append(document.summary.id)
            yield document

    pages = html_page(one_by_one(), title="x", exported_at=CLOCK)
    text = ""
    while f'id="m{found[0].messages[-1].id}"' not in text:
        text += next(pages)
    assert taken == [found[0].summary.id]
    assert f'id="m{found[1].messages[-1].id}"' in "".join(pages)


def test_long_conversations_are_cut_into_parts(tmp_path: Path) -> None:
    """A browser skips a part as one; the pieces of the page stay small whatever its length."""
    (document, *_) = documents("0.22.2", tmp_path)
    messages = tuple(said(n, ("user", "assistant")[n % 2], f"number {n}") for n in range(1, 101))
    written = list(html_page([document._replace(messages=messages)], title="x", exported_at=CLOCK))
    page = read_page("".join(written))
    assert [len(part.all("section")) for part in page.all("div", "part")] == [40, 40]
    assert [message.id for message in messages_of(page)] == list(range(1, 101))
    assert max(map(len, written[1:])) < 2_000


# Hostile text


def places(payload: str) -> str:
    """Put text into every place that Markdown has."""
    return "\n\n".join(
        (
            payload,
            f"[label]({payload})",
            f"[label](<{payload}>)",
            f"[{payload}](https://example.org/)",
            f"![alt]({payload})",
            f"![{payload}](https://example.org/a.png)",
            f'[x](https://example.org "{payload}")',
            f"<{payload}>",
            f"[ref]\n\n[ref]: {payload}",
            f"```{payload}\n{payload}\n```",
            f"~~~python {payload}\n{payload}\n~~~",
            f"| {payload} | b |\n|:-:|--:|\n| {payload} | `{payload}` |",
            f"# {payload}",
            f"> {payload}",
            f"1. {payload}",
            f"- {payload}",
            f"`{payload}`",
            f"**{payload}** _{payload}_ ~~{payload}~~",
            f"    {payload}",
            f"https://example.org/{payload}",
            f"<think>{payload}</think>",
        )
    )


def spread(path: Path) -> None:
    """Fill a store with the payloads: sessions and messages, every text column that is shown."""
    connection = sqlite3.connect(path)
    sessions = [row[0] for row in connection.execute("SELECT id FROM sessions ORDER BY id")]
    for number, session_id in enumerate(sessions):
        payload = PAYLOADS[number % len(PAYLOADS)]
        connection.execute(
            "UPDATE sessions SET title = :text || :n, model = :text, source = :text, cwd = :text,"
            " git_repo_root = :text, git_branch = :text, end_reason = :text, cost_status = :text"
            " WHERE id = :id AND parent_session_id IS NULL",
            {"text": payload, "n": number, "id": session_id},
        )
    home = sessions[0]
    for payload in PAYLOADS:
        text = places(payload)
        fields = json.dumps({payload: payload, "path": payload, "command": f"{payload}\n{payload}"})
        calls = [
            {"id": payload, "function": {"name": payload, "arguments": arguments}}
            for arguments in (fields, payload)
        ]
        parts = [{"type": "text", "text": payload}, {"type": payload, "image_url": payload}]
        rows: list[tuple[Any, ...]] = [
            ("user", text, None, None, None, None, None),
            ("assistant", text, json.dumps(calls), None, None, None, text),
            ("tool", fields, None, payload, payload, None, None),
            ("tool", text, None, None, payload, None, None),
            ("tool", text, None, "nobody", payload, None, None),
            ("user", payload, None, None, None, payload, None),
            (payload, text, payload, None, None, None, None),
            ("user", "\0json:" + json.dumps(parts), None, None, None, None, None),
            ("assistant", text, f"[{payload}", None, None, None, None),
        ]
        connection.executemany(
            "INSERT INTO messages (session_id, role, content, tool_calls, tool_call_id, tool_name,"
            f" display_kind, reasoning, timestamp) VALUES ('{home}', ?, ?, ?, ?, ?, ?, ?, 1.8e9)",
            rows,
        )
    connection.commit()
    connection.close()


def test_R078_hostile_text_stays_text(tmp_path: Path) -> None:
    assert len(PAYLOADS) >= 60
    found = documents("0.22.2", tmp_path, spread)
    assert sum(len(d.messages) for d in found) > 9 * len(PAYLOADS)
    for payload in PAYLOADS[:5]:
        found.append(found[0]._replace(messages=()))  # a page is titled by a payload, too
        page = read_page(page_of(*found[-1:], title=payload))
        assert page.one("title").text == payload
    page = read_page(page_of(*[d for d in found if d.messages]))
    check_inert(page)
    everything = letters(page.text)
    for payload in PAYLOADS:  # it is all there, to be read
        assert letters(payload) in everything, payload


PARTS = [
    *"<>&\"'`*_[]()!#|-~:\\/\n\t abj;=\u202e\0\ud83d",
    *("javascript:", "http://", "<img&#32;src=x>", "&#x202e;", "\x1b[31m", "```", "|---|"),
    *("[a](b)", "![", "**", "[a <https://b> c](d)"),
]


@given(st.lists(st.sampled_from(PARTS), max_size=40).map("".join), st.booleans())
@settings(max_examples=400, deadline=None)
def test_any_markdown_is_well_formed_and_inert(text: str, typed: bool) -> None:
    written = MarkdownHtml(CODE).render(text, typed=typed)
    check_inert_part(read_page(written))
    written.encode("utf-8")
    assert not set(written) & set("\u202e\0\x1b")


CODE = CodeHtml()


def check_inert_part(part: Element) -> None:
    for element in part.walk():
        if element.tag:
            assert set(element.attributes) <= ALLOWED[element.tag], element.tag
            assert TARGET.fullmatch(element.attributes.get("href", "#"))
            assert element.tag not in {"script", "style", "input", "svg", "button"}


def test_characters_that_act_are_neutralised_others_are_not(tmp_path: Path) -> None:
    """R083 and §5: escapes, overrides and broken text; not CJK, emoji or right-to-left text."""
    (document, *_) = documents("0.22.2", tmp_path)
    fine = "数据库 田中さん 한국어 🙆🏽‍♀️ שלום عربي naïve"
    bad = "\x1b]0;evil\x07\x9b31mred\u202egnp.exe\u2066\ud83d&#x202e;\x00&#27;"
    message = document.messages[0]._replace(role="assistant", content=f"{fine} {bad}")
    hostile = document.summary._replace(
        sessions=tuple(s._replace(title=bad, cwd=bad, model=bad) for s in document.summary.sessions)
    )
    text = page_of(document._replace(summary=hostile, messages=(message,)), title=bad)
    text.encode("utf-8")
    assert fine in text
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text
    )


def test_text_cannot_end_an_attribute_or_element() -> None:
    assert safe("<a b='c' d=\"e\"> & \x1b[1m\u202e") == (
        "&lt;a b=&#x27;c&#x27; d=&quot;e&quot;&gt; &amp; "
    )


# Tool calls


def said(number: int, role: str, text: object = "", **fields: Any) -> Message:
    message = Message(number, "s", role, text, None, None, None, 1.8e9, False, True, None, None)
    return message._replace(**fields)


def calls(*names: str, ids: tuple[str | None, ...] = ()) -> str:
    padded = (*ids, *[None] * len(names))
    return json.dumps(
        [
            {"id": call_id, "function": {"name": name, "arguments": "{}"}}
            for name, call_id in zip(names, padded, strict=False)
        ]
    )


def test_results_go_to_their_calls_by_id() -> None:
    """Ids may come back in another order, and may be used again in a later answer."""
    messages = [
        said(1, "assistant", tool_calls=calls("a", "a", ids=("x", "y"))),
        said(2, "tool", "of y", tool_call_id="y"),
        said(3, "tool", "of x", tool_call_id="x"),
        said(4, "assistant", tool_calls=calls("a", ids=("x",))),
        said(5, "tool", "again x", tool_call_id="x"),
    ]
    (turn,) = turns(messages)
    folded = [call.result.id for step in turn.steps for call in step.calls if call.result]
    assert folded == [3, 2, 5]


def test_results_without_a_known_id_go_by_order_and_name() -> None:
    messages = [
        said(1, "assistant", tool_calls=calls("read", "write", "read")),
        said(2, "tool", "first", tool_name="read"),
        said(3, "tool", "second", tool_name="read", tool_call_id="unknown"),
        said(4, "tool", "third"),
        said(5, "tool", "too many"),
        said(6, "tool", "stranger", tool_name="odd"),
    ]
    (turn,) = turns(messages)
    assert [step.message.id for step in turn.steps] == [1, 5, 6]
    assert [call.result.id for call in turn.steps[0].calls if call.result] == [2, 4, 3]


def test_a_turn_ends_where_the_user_speaks() -> None:
    messages = [
        said(1, "user", "go"),
        said(2, "assistant", tool_calls=calls("a", ids=("x",))),
        said(3, "user", "wait"),
        said(4, "tool", "late", tool_call_id="x"),
        said(5, "assistant", "done", archived=True),
        said(6, "assistant", "really", session_id="next"),
    ]
    found = list(turns(messages))
    assert [[step.message.id for step in turn.steps] for turn in found] == [
        [1], [2], [3], [4], [5], [6],
    ]  # fmt: skip


def rendered(*messages: Message, tmp_path: Path) -> Element:
    (document, *_) = documents("0.22.2", tmp_path)
    return read_page(page_of(document._replace(messages=messages)))


def test_a_call_says_in_one_line_what_it_is_about(tmp_path: Path) -> None:
    arguments = {"timeout": 5, "command": "pytest -q\necho done"}
    call = json.dumps(
        [{"id": "1", "function": {"name": "terminal", "arguments": json.dumps(arguments)}}]
    )
    result = json.dumps({"output": "line 1\nline 2", "exit_code": 2, "error": None})
    page = rendered(
        said(1, "assistant", "", tool_calls=call),
        said(2, "tool", result, tool_call_id="1", tool_name="terminal"),
        tmp_path=tmp_path,
    )
    details = page.one("details", "call")
    assert details.one("b", "name").text == "terminal"
    assert details.one("code", "line").text == "pytest -q …"
    assert details.one("span", "state").text == "exit 2"
    assert details.one("div", "result").id == "m2"
    blocks = [block.text for block in details.all("pre")]
    assert blocks == ["pytest -q\necho done", "line 1\nline 2"]


def test_long_output_shows_twenty_lines_and_unfolds(tmp_path: Path) -> None:
    lines = "".join(f"line {n}\n" for n in range(143))
    page = rendered(said(1, "tool", lines, tool_name="terminal"), tmp_path=tmp_path)
    call = page.one("details", "call")
    head, rest = call.all("pre")
    assert head.text.count("\n") == 20
    assert head.text + rest.text == lines
    assert call.one("details", "more").one("summary").text == "123 more lines"


@pytest.mark.parametrize("stored", ['[{"id": "broken"', b"\xff[", "17", 42])
def test_calls_that_do_not_decode_are_shown_as_stored(stored: object, tmp_path: Path) -> None:
    page = rendered(said(1, "assistant", "", tool_calls=stored), tmp_path=tmp_path)
    call = page.one("details", "call")
    assert call.one("span", "state").text == "unreadable"
    wanted = stored.decode("utf-8", "replace") if isinstance(stored, bytes) else str(stored)
    assert call.one("pre").text == wanted


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 400 + "1" + "}" * 400, '{"a": 1, "a": 2}', "{not json"]
)
def test_arguments_that_are_no_json_object_are_shown_as_they_are(text: str, tmp_path: Path) -> None:
    call = json.dumps([{"function": {"name": "t", "arguments": text}}])
    page = rendered(said(1, "assistant", "", tool_calls=call), tmp_path=tmp_path)
    assert letters(text) in letters(messages_of(page)[0].text)
    deep = "\0json:" + text
    rendered(said(1, "user", deep), said(2, "assistant", deep, tool_calls=text), tmp_path=tmp_path)


# Text


def markdown(text: str, *, typed: bool = False) -> Element:
    return read_page(MarkdownHtml(CODE).render(text, typed=typed))


def test_markdown_is_rendered() -> None:
    part = markdown(
        "# Head\n\npara *em* **strong** ~~gone~~ `code` [link](https://example.org/a_b)\n"
        "next line\n\n> quote\n\n3. three\n4. four\n\n- x\n  - y\n\n"
        "| a | b |\n|---|--:|\n| 1 | 2 |\n\n```python\ndef f(): pass\n```\n\n---\n"
    )
    for tag, text in {
        "h3": "Head", "em": "em", "strong": "strong", "s": "gone", "blockquote": "quote",
    }.items():  # fmt: skip
        assert part.one(tag).text.strip() == text
    assert part.one("a").attributes["href"] == "https://example.org/a_b"
    assert part.one("ol").attributes["start"] == "3"
    assert [cell.text for cell in part.all("th") + part.all("td")] == ["a", "b", "1", "2"]
    assert [c.text for c in part.all("td", "right")] == ["2"]
    assert part.one("pre").text == "def f(): pass\n"
    assert [s.text.strip() for s in part.all("span", "k")] == ["def", "pass"]
    assert len(part.all("ul")) == 2
    assert len(part.all("hr")) == len(part.all("br")) == 1


def test_typed_text_keeps_every_character() -> None:
    """A person's text is not always meant as Markdown."""
    text = "__init__.py 2*3*4 C:\\.ssh &lt;b&gt; ~~x~~ **bold**\nx\n\n[WARN]: full\n\nfoo\n==="
    assert markdown(text, typed=True).text.split() == text.split()
    assert markdown(text, typed=True).all("strong")
    assert markdown("# heading", typed=True).one("h3").text == "# heading"
    assert "full" in markdown("[WARN]: full").text


@pytest.mark.parametrize(
    ("text", "target", "after"),
    [
        ("see https://example.org/a_(b).", "https://example.org/a_(b)", "."),
        ("(https://example.org/x)", "https://example.org/x", ")"),
        ("<https://example.org/x>", "https://example.org/x", ""),
        ("<me@example.org>", "mailto:me@example.org", ""),
        ("[m](#m12)", "#m12", ""),
        ("见https://example.org/x。好", "https://example.org/x", "。好"),
    ],
)
def test_addresses_are_links(text: str, target: str, after: str) -> None:
    part = markdown(text)
    assert part.one("a").attributes["href"] == target
    assert part.text.strip().endswith(part.one("a").text + after)


@pytest.mark.parametrize(
    ("text", "shown_text"),
    [
        ("[docs](docs/a.md)", "docs (docs/a.md)"),
        ("[x](javascript:alert(1))", "x (javascript:alert(1))"),
        ("[](ftp://example.org)", "ftp://example.org"),
        ("https://...", "https://..."),
        ("![a chart](chart.png)", "[image: a chart] (chart.png)"),
    ],
)
def test_other_targets_are_named_not_linked(text: str, shown_text: str) -> None:
    part = markdown(text)
    assert not part.all("a")
    assert part.text.strip() == shown_text


def test_R044_pictures_are_placeholders(tmp_path: Path) -> None:
    data = "data:image/png;base64," + "iVBORw0KGgo" * 40
    parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": data}}]
    page = rendered(
        said(1, "user", "\0json:" + json.dumps(parts)),
        said(2, "assistant", f"![chart]({data}) and ![other](https://example.org/o.png)"),
        said(3, "tool", json.dumps({"picture": data})),
        tmp_path=tmp_path,
    )
    assert "iVBORw0KGgo" not in page.text
    assert [span.text for span in page.all("span", "attachment")] == [
        "[image]",
        "[image: chart]",
        "[image: other]",
    ]
    assert "[image]" in page.one("details", "call").text
    assert not page.all("img")


def test_reasoning_and_what_hermes_added_are_folded(tmp_path: Path) -> None:
    summary = "[CONTEXT SUMMARY]: all of it"
    page = rendered(
        said(1, "assistant", "<think>inline</think>\nanswer", reasoning="thought"),
        said(2, "user", summary),
        said(3, "user", "plain"),
        tmp_path=tmp_path,
    )
    asides = [d.one("div", "text").text.strip() for d in page.all("details", "aside")]
    assert asides == ["thought", "inline", summary]
    answer, *_, plain = page.all("div", "message")
    parts = [part for part in answer.content if isinstance(part, Element)]
    assert [part.text.strip() for part in parts if "text" in part.classes] == ["answer"]
    assert plain.one("div", "text").text.strip() == "plain"


@given(st.text(max_size=80), st.sampled_from(["user", "assistant", "tool", "odd"]))
def test_pieces_are_all_of_a_message(text: str, role: str) -> None:
    end = "[END OF PRIOR CONTEXT — COMPACTION SUMMARY BELOW]"
    wrapped = f"[PRIOR CONTEXT x]{text}{end}\n[CONTEXT SUMMARY]: s"
    for stored in (text, wrapped):
        found = list(pieces(said(1, role, stored)))
        if not stored.startswith("\0json:"):
            assert letters("".join(piece.text for piece in found)) == letters(stored)
        if role != "user":
            assert all(p.kind in {PieceKind.TEXT, PieceKind.REASONING} for p in found)


def test_long_text_is_not_parsed() -> None:
    text = "![[" * 40_000
    part = markdown(text)
    assert part.one("pre").text == text


def test_languages_are_found_by_name_and_by_file() -> None:
    assert CODE.language("py") == CODE.language_of("/x/y.py") == "Python"
    assert CODE.language("C#") == CODE.language("nonsense") == CODE.language_of("README") == ""
    code = "\n\n  x = 1 # ä\n\ty\n\n"
    assert read_page(CODE.block(code, "Python")).text == code


def test_shown_leaves_only_hidden_messages_out() -> None:
    kept = said(1, "user", display_kind="model_switch")
    assert shown([kept, said(2, "user", display_kind="hidden")]) == (kept,)
