"""The review pages over HTTP: who is answered, what a page contains, and what a decision does."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import signal
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from proposals import LINES as TEN_LINES
from proposals import SEVERAL, Desk
from toolmason_runtime import ToolError

from workbench_handlers.editing.reviews.store import Decision
from workbench_handlers.editing.surfaces.pages import ReviewPages, serve_pages
from workbench_handlers.editing.surfaces.pages.form_text import edited_bytes, form_text
from workbench_handlers.editing.surfaces.pages.render import diff_html
from workbench_handlers.editing.text.diff import diff_rows

pytestmark = pytest.mark.anyio
TIMEOUT_S = 60.0
OLD, NEW = b"one\ntwo\n", b"one\n2\n"
SECRET = b"the text of the file"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.text)
        return value


@dataclass(frozen=True)
class Browser:
    """A person's browser after the first address; the arguments replace parts of a request."""

    pages: ReviewPages

    async def get(self, path: str, **headers: str | None) -> Answer:
        return await self.send("GET", path, b"", headers)

    async def decide(self, review_id: str, decision: Any, **headers: str | None) -> Answer:
        return await self.send("POST", self.pages.path(review_id), json.dumps(decision).encode(), headers)

    async def send(self, method: str, path: str, body: bytes, headers: Mapping[str, str | None]) -> Answer:
        host = f"127.0.0.1:{self.pages.port}"
        every = {"host": host, "cookie": f"review={self.pages.token}"}
        if method != "GET":
            every |= {"origin": f"http://{host}", "content-type": "application/json"}
        every |= {name.replace("_", "-"): value or "" for name, value in headers.items()}
        sent = {name: value for name, value in every.items() if headers.get(name.replace("-", "_"), "") is not None}
        return await asyncio.to_thread(_exchange, self.pages.port, method, path, body, sent)


def _exchange(port: int, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        if body:
            connection.putheader("content-length", str(len(body)))
        connection.endheaders(body or None)
        response = connection.getresponse()
        return Answer(response.status, dict(response.headers), response.read().decode())
    finally:
        connection.close()


@pytest.fixture
async def browser(desk: Desk) -> AsyncIterator[Browser]:
    async with serve_pages(desk.store) as pages:
        yield Browser(pages)


async def test_the_token_moves_from_the_address_to_a_cookie(desk: Desk, browser: Browser) -> None:
    review = desk.propose("a.txt", OLD, NEW)
    address = browser.pages.url(review.id).removeprefix(f"http://127.0.0.1:{browser.pages.port}")

    entrance = await browser.get(address, cookie=None)
    cookie, *attributes = entrance.headers["set-cookie"].split("; ")
    page = await browser.get(browser.pages.path(review.id), cookie=cookie)

    assert {attribute.lower() for attribute in attributes} == {
        *("httponly", "samesite=strict", f"path={browser.pages.path()}")
    }
    assert f'content="0; url={browser.pages.path(review.id)}"' in entrance.text
    assert browser.pages.token not in entrance.text
    assert page.status == 200
    assert browser.pages.token not in page.text


FORGED = [
    pytest.param("GET", "{page}", {"cookie": None}, 403, id="no-cookie"),
    pytest.param("GET", "{page}", {"cookie": "review=wrong"}, 403, id="wrong-cookie"),
    pytest.param("GET", "{page}", {"cookie": "review=\xe9"}, 403, id="cookie-outside-of-ascii"),
    pytest.param("GET", "{page}?token=wrong", {}, 403, id="wrong-token-beside-the-cookie"),
    pytest.param("GET", "{page}?token=", {"cookie": None}, 403, id="empty-token"),
    pytest.param("POST", "{page}?token={token}", {"cookie": None}, 403, id="a-token-in-an-address-decides-nothing"),
    pytest.param("GET", "{list}static/review.js", {"cookie": None}, 403, id="script-without-cookie"),
    pytest.param("GET", "{page}", {"host": "evil.example"}, 421, id="host-of-another-name"),
    pytest.param("GET", "{page}?token={token}", {"host": "evil.example:{port}"}, 421, id="dns-rebinding"),
    pytest.param("GET", "{page}", {"host": "127.0.0.1"}, 421, id="host-without-port"),
    pytest.param("GET", "{page}", {"host": None}, 400, id="no-host"),
    pytest.param("POST", "{page}", {"origin": None}, 403, id="no-origin"),
    pytest.param("POST", "{page}", {"origin": "null"}, 403, id="origin-null"),
    pytest.param("POST", "{page}", {"origin": "https://evil.example"}, 403, id="origin-of-another-site"),
    pytest.param("POST", "{page}", {"origin": "http://127.0.0.1:1"}, 403, id="origin-of-another-port"),
    pytest.param("POST", "{page}", {"origin": "http://localhost:{port}"}, 403, id="origin-of-another-name"),
    pytest.param("POST", "{page}", {"content_type": "text/plain"}, 400, id="a-form-of-another-page"),
    pytest.param("PUT", "{page}", {}, 405, id="put"),
    pytest.param("DELETE", "{page}", {}, 405, id="delete"),
    pytest.param("POST", "{list}", {}, 405, id="post-to-the-list"),
    pytest.param("GET", "/", {}, 404, id="outside-of-the-path"),
    pytest.param("GET", "/r/{id}", {}, 404, id="review-outside-of-the-path"),
    pytest.param("GET", "{list}r/../r/{id}/../../{id}", {}, 404, id="dots"),
    pytest.param("GET", "{list}r/..%2f..%2f..%2f..%2fetc%2fpasswd", {}, 404, id="encoded-dots"),
    pytest.param("GET", "{list}r/{id}%00", {}, 404, id="nul"),
    pytest.param("GET", "{list}r/rv_ffffffffffffffffffff", {}, 404, id="unknown-id"),
    pytest.param("POST", "{list}r/..", {}, 404, id="decision-about-dots"),
    pytest.param("GET", "{list}state?id=../{id}", {}, 404, id="state-of-dots"),
    pytest.param("GET", "{list}static/..%2fapp.py", {}, 404, id="source"),
    pytest.param("GET", "{list}", {"connection": "upgrade", "upgrade": "websocket"}, 200, id="websocket"),
]


@pytest.mark.parametrize(("method", "path", "headers", "status"), FORGED)
async def test_only_the_browser_of_the_person_is_answered(
    desk: Desk, browser: Browser, *, method: str, path: str, headers: dict[str, str | None], status: int
) -> None:
    review = desk.propose("a.txt", OLD, SECRET)
    pages = browser.pages
    values = {"page": pages.path(review.id), "list": pages.path(), "id": review.id, "token": pages.token}
    filled = {name: value and value.replace("{port}", str(pages.port)) for name, value in headers.items()}

    answer = await browser.send(method, path.format(**values), b'{"action": "approve"}' * (method != "GET"), filled)

    assert answer.status == status
    assert SECRET.decode() not in answer.text
    assert pages.token not in answer.text
    assert not desk.store.is_decided(review)


async def test_every_answer_isolates_the_page(desk: Desk, browser: Browser) -> None:
    review = desk.propose("a.txt", OLD, NEW)
    paths = ["", f"r/{review.id}", "static/review.js", "state", "missing"]

    answers = [await browser.get(browser.pages.path() + path) for path in paths]
    answers += [await browser.get("/", cookie=None), await browser.get("/", host="evil.example")]

    for answer in answers:
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy


async def test_a_page_has_no_external_references_and_escapes_every_text(desk: Desk, browser: Browser) -> None:
    deceit = "</textarea><script>alert(1)</script>\u202e\"'&\x07"
    review = desk.propose(f"{deceit.replace('/', '')}\udcff.txt", OLD, deceit.encode(), notes=(deceit,), client=deceit)

    page = (await browser.get(browser.pages.path(review.id))).text
    listed = (await browser.get(browser.pages.path())).text

    without_form = page[: page.index('<form id="edit"')] + page[page.index("</form>") :] + listed
    assert "<script>" not in page + listed
    assert page.count("</textarea>") == 2
    assert "The text contains invisible characters." in page
    assert "\u202e" not in without_form
    assert "\x07" not in without_form
    assert without_form.count("\\u202e") >= 5
    addresses = set(re.findall(r'(?:src|href|url)="?([^" >]*)', page + listed))
    assert all(address == "data:," or address.startswith(browser.pages.path()) for address in addresses)


@pytest.mark.parametrize(
    ("decision", "status", "content", "edited"),
    [
        pytest.param({"action": "approve"}, "COMMITTED", NEW, None, id="approve"),
        pytest.param({"action": "reject"}, "REJECTED", OLD, None, id="reject"),
        pytest.param({"action": "comment", "comment": "no"}, "REVIEW", OLD, None, id="comment"),
        pytest.param({"action": "edit", "text": "one\n3\n"}, "REVIEW", OLD, b"one\n3\n", id="edit"),
    ],
)
async def test_a_decision_is_carried_out_and_the_next_review_is_offered(
    desk: Desk, browser: Browser, *, decision: dict[str, str], status: str, content: bytes, edited: bytes | None
) -> None:
    review, following = desk.propose("a.txt", OLD, NEW), desk.propose("b.txt", OLD, NEW)

    answer = (await browser.decide(review.id, decision)).json

    assert (desk.store.status(review), desk.read("a.txt"), desk.store.edited(review)) == (status, content, edited)
    assert answer["open"] is False
    assert answer["pending"] == [following.id]
    assert answer["next"] == {"url": browser.pages.path(following.id), "name": "b.txt"}
    stored = desk.store.decision(review)
    assert stored is not None
    assert (stored.surface, stored.comment) == ("page", decision.get("comment", ""))


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param({}, id="empty"),
        pytest.param([], id="list"),
        pytest.param({"action": "commit"}, id="unknown-action"),
        pytest.param({"action": "comment", "comment": "  "}, id="blank-comment"),
        pytest.param({"action": "comment", "comment": "x" * 20_001}, id="long-comment"),
        pytest.param({"action": "edit", "text": NEW.decode()}, id="unchanged-text"),
        pytest.param({"action": "edit", "text": 1}, id="text-of-another-type"),
        pytest.param({"action": "edit", "text": "\ud800"}, id="surrogate"),
        pytest.param({"action": "edit"}, id="no-text"),
    ],
)
async def test_an_invalid_decision_is_reported_and_decides_nothing(desk: Desk, browser: Browser, sent: Any) -> None:
    review = desk.propose("a.txt", OLD, NEW)

    answer = await browser.decide(review.id, sent)

    assert answer.status == 400
    assert answer.json["error"].endswith(".")
    assert not desk.store.is_decided(review)


async def test_text_that_a_form_would_change_cannot_be_edited_there(desk: Desk, browser: Browser) -> None:
    review = desk.propose("a.txt", OLD, b"one\rtwo\n")

    page = await browser.get(browser.pages.path(review.id))
    answer = await browser.decide(review.id, {"action": "edit", "text": "other"})

    assert page.status == 200
    assert "A form would change this text" in page.text
    assert (answer.status, desk.store.is_decided(review)) == (400, False)


async def test_the_first_of_many_decisions_is_kept(desk: Desk, browser: Browser) -> None:
    review = desk.propose("a.txt", OLD, NEW)
    decisions = [{"action": "reject"}, *({"action": "edit", "text": f"{number}"} for number in range(9))]

    answers = await asyncio.gather(*(browser.decide(review.id, decision) for decision in decisions))

    assert sum("decided elsewhere" not in answer.json["text"] for answer in answers) == 1
    assert desk.read("a.txt") == OLD


async def test_a_page_shows_that_its_review_was_decided_elsewhere(desk: Desk, browser: Browser) -> None:
    review = desk.propose("a.txt", OLD, NEW)
    address = f"{browser.pages.path()}state?id={review.id}"
    before = (await browser.get(address)).json
    assert desk.store.decide(review, Decision("reject", "terminal"))
    after, page = (await browser.get(address)).json, await browser.get(browser.pages.path(review.id))

    assert (before["open"], before["pending"]) == (True, [review.id])
    assert (after["open"], after["pending"]) == (False, [])
    assert after["text"] == "Rejected. The file was not changed."
    assert 'data-open="no"' in page.text
    assert after["text"] in page.text


async def test_an_approval_with_a_write_error_is_reported_and_can_be_retried(desk: Desk, browser: Browser) -> None:
    review = desk.propose("a.txt", OLD, NEW)
    path = desk.project / "a.txt"
    path.unlink()
    path.mkdir()

    answer = await browser.decide(review.id, {"action": "approve"})
    path.rmdir()
    path.write_bytes(OLD)
    again = await browser.decide(review.id, {"action": "approve"})

    assert answer.status == 400
    assert "a.txt" in answer.json["error"]
    assert "Committed" in again.json["text"]
    assert path.read_bytes() == NEW


async def test_two_servers_have_their_own_addresses_and_leave_the_signals_alone(desk: Desk) -> None:
    before = signal.getsignal(signal.SIGINT)
    async with serve_pages(desk.store) as one, serve_pages(desk.store) as other:
        assert signal.getsignal(signal.SIGINT) is before
        assert one.token != other.token
        assert one.path() != other.path()
        assert (await Browser(other).get(other.path(), cookie=f"review={one.token}")).status == 403
        assert (await Browser(one).get(one.path())).status == 200

    with pytest.raises(ConnectionRefusedError):
        await Browser(one).get(one.path())
    async with serve_pages(desk.store, port=one.port) as again:
        assert again.port == one.port


def test_the_words_that_differ_are_marked_and_text_stays_escaped() -> None:
    html = diff_html(diff_rows(b"a <b> c\nsame\n", b"a <i> c\nsame\n"))

    assert "<code><del>a &lt;<mark>b</mark>&gt; c</del></code>" in html
    assert "<code><ins>a &lt;<mark>i</mark>&gt; c</ins></code>" in html


@pytest.mark.parametrize(
    ("lines", "blocks", "is_marked"),
    [pytest.param(200, 1, True, id="short"), pytest.param(2_001, 11, False, id="too-long-for-marks")],
)
def test_a_long_change_is_divided_and_complete(lines: int, blocks: int, is_marked: bool) -> None:
    old, new = (b"".join(b"%s %d\n" % (word, number) for number in range(lines)) for word in (b"old", b"new"))

    html = diff_html(diff_rows(old, new))

    assert html.count('<div class="change"') == blocks
    assert html.count('<div class="row changed">') == lines
    assert ("<mark>" in html) == is_marked


LINES = st.text("ab\u202e\t \"'<&", max_size=3)
TEXTS = st.lists(st.tuples(LINES, st.sampled_from(["\n", "\r\n"])), max_size=8).map(
    lambda lines: "".join(map("".join, lines))
)


@given(text=TEXTS, end=LINES)
def test_an_edited_line_leaves_the_bytes_of_the_other_lines(text: str, end: str) -> None:
    data = (text + end).encode()
    shown = form_text(data)

    assert shown is not None
    assert "\r" not in shown
    assert edited_bytes(data, f"{shown}!") == data + b"!"
    assert edited_bytes(data, f"first\n{shown}").endswith(data)


@given(data=st.text(st.sampled_from("a\n\r\0\x85\u2028"), max_size=8).map(str.encode) | st.binary(max_size=8))
def test_a_form_without_a_change_returns_the_same_bytes_or_is_not_offered(data: bytes) -> None:
    try:
        shown = form_text(data)
    except ToolError:  # binary: no text of such a file is ever proposed
        return
    if shown is not None:
        # A browser turns CR and CRLF into LF.
        assert shown == shown.replace("\r\n", "\n").replace("\r", "\n")
        assert edited_bytes(data, shown) == data


@pytest.mark.parametrize(
    ("decision", "written"),
    [
        ({"action": "approve"}, {name: new for name, (_, new) in SEVERAL.items()}),
        ({"action": "approve", "chosen": [[0], [], [1]]}, {"src/app.py": SEVERAL["src/app.py"][1], "list.txt": b"-10"}),
        ({"action": "approve", "chosen": [[], [0], []]}, {"docs/new.md": b"# New\n"}),
    ],
)
async def test_several_files_are_approved_by_file_and_by_change(
    desk: Desk, browser: Browser, decision: Any, written: dict[str, bytes]
) -> None:
    review = desk.propose_files(SEVERAL)

    answer = await browser.decide(review.id, decision)

    expected = {**{name: old for name, (old, _) in SEVERAL.items()}, **written}
    if written.get("list.txt") == b"-10":
        expected["list.txt"] = TEN_LINES.replace(b"ten", b"10")
    assert (answer.status, answer.json["open"]) == (200, False)
    assert {name: desk.read(name) for name in SEVERAL} == expected


@pytest.mark.parametrize(
    "chosen", [[], [[0], [0]], [[0], [0], [2]], [[0], [0], [-1]], [[0], [0], [True]], [[0], [0], "1"], [[], [], []]]
)
async def test_a_choice_that_does_not_fit_decides_nothing(desk: Desk, browser: Browser, chosen: Any) -> None:
    review = desk.propose_files(SEVERAL)

    answer = await browser.decide(review.id, {"action": "approve", "chosen": chosen})

    assert answer.status == 400
    assert not desk.store.is_decided(review)


async def test_the_texts_of_several_files_are_edited(desk: Desk, browser: Browser) -> None:
    review = desk.propose_files(SEVERAL)
    page = await browser.get(browser.pages.path(review.id))

    same = await browser.decide(review.id, {"action": "edit", "texts": {"1": "# New\n"}})
    answer = await browser.decide(review.id, {"action": "edit", "texts": {"1": "# Mine\n", "2": 5, "7": "x"}})

    decision = desk.store.decision(review)
    assert (same.status, answer.status) == (400, 200)
    assert decision is not None
    assert decision.texts == {1: b"# Mine\n"}
    assert all(f"Changes of {name}" in page.text for name in SEVERAL)
