"""The review page inside of a client with MCP Apps, with the client's bridge from npm, in Chromium."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from app_client import EXTENSIONS, Server, host_page, workbench
from chromium import Page, chromium

pytestmark = pytest.mark.anyio
PHONE, DESKTOP = (390, 844), (1280, 800)
URI = "ui://workbench/propose_and_review"
ACTION = "propose_and_review-page"
OLD = "".join(f"line {number}\n" for number in range(1, 41))
EDITS = [
    {"match_text": "line 3\n", "new_string": "third <b onclick=alert(1)>line</b>\n"},
    {"match_text": "line 30\n", "new_string": "line thirty\u202e\n"},
]
DATA = "toolmason/page"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.py").write_text(OLD, encoding="utf-8")
    async with workbench(tmp_path / "project", tmp_path / "state") as server:
        yield server


async def propose(server: Server) -> dict[str, Any]:
    return await server.call("propose_and_review", path="a.py", edits=EDITS)


def text_of(result: dict[str, Any]) -> str:
    return "\n".join(block.get("text", "") for block in result.get("content", ()))


class View:
    """The view in the frame of the client's page."""

    def __init__(self, page: Page, frame: Page, context: int | None) -> None:
        self.page, self._frame, self._context = page, frame, context

    async def evaluate(self, expression: str) -> Any:
        where = {} if self._context is None else {"contextId": self._context}
        result = await self._frame.send("Runtime.evaluate", expression=expression, returnByValue=True, **where)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    async def wait(self, condition: str) -> None:
        for _ in range(600):
            if await self.evaluate(f"Boolean({condition})"):
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"{condition}\n{await self.evaluate('document.body.innerText')}")

    async def tap(self, selector: str) -> None:
        box = await self.evaluate(f"document.querySelector({json.dumps(selector)}).getBoundingClientRect().toJSON()")
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        for kind in ("mousePressed", "mouseReleased"):
            await self.page.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)


OpenView = Callable[..., Awaitable[View]]


@pytest.fixture
async def open_view(server: Server, tmp_path: Path) -> AsyncIterator[OpenView]:
    """Propose a change and show its page; problems in the browser, and requests to others, fail the test."""
    result = await propose(server)
    (content,) = (await server.request("resources/read", {"uri": URI}))["contents"]
    async with chromium(tmp_path / "profile") as browser, host_page(server, content["text"], result) as address:
        opened: list[Page] = []

        async def open_view(size: tuple[int, int]) -> View:
            page = await browser.open(address, *size)
            opened.append(page)
            await page.wait("window.ready")
            targets = (await browser.send("Target.getTargets"))["targetInfos"]
            frames = [target for target in targets if target["type"] == "iframe"]
            if frames:
                session = await browser.send("Target.attachToTarget", targetId=frames[0]["targetId"], flatten=True)
                frame = browser.pages[session["sessionId"]] = Page(browser, session["sessionId"])
                for domain in ("Runtime", "Log", "Network"):
                    await frame.send(f"{domain}.enable")
                opened.append(frame)
                return View(page, frame, None)
            (tree,) = (await page.send("Page.getFrameTree"))["frameTree"]["childFrames"]
            world = await page.send("Page.createIsolatedWorld", frameId=tree["frame"]["id"])
            return View(page, page, world["executionContextId"])

        yield open_view
        for page in opened:
            if (directory := os.environ.get("REVIEW_SCREENSHOTS")) and page is opened[0]:
                name = os.environ["PYTEST_CURRENT_TEST"].partition("::")[2].partition(" ")[0]
                await anyio.Path(directory, f"{name}.png").write_bytes(await page.screenshot())
            assert page.problems == []
            assert all(url.startswith((address, "data:", "about:")) for url in page.requests)


ARMED = "performance.now() >= armedAt"


@pytest.mark.parametrize("size", [pytest.param(PHONE, id="phone"), pytest.param(DESKTOP, id="desktop")])
async def test_a_person_approves_one_of_two_changes(
    server: Server, open_view: OpenView, tmp_path: Path, size: tuple[int, int]
) -> None:
    view = await open_view(size)
    await view.wait("document.querySelector('nav')")
    shown = await view.evaluate("document.querySelector('main').innerText")
    assert "third <b onclick=alert(1)>line</b>" in shown
    assert "line thirty\\u202e" in shown
    assert await view.evaluate("document.documentElement.scrollWidth <= innerWidth")

    await asyncio.sleep(1)  # the page ignores events of its first moment
    await view.evaluate("document.querySelector('input[data-change=\"1\"]').scrollIntoView({block: 'center'})")
    await view.tap("input[data-change='1']")
    await view.wait("document.querySelector('.approve').textContent.startsWith('Approve 1 of 2')")
    await view.tap(".approve")
    await view.wait("document.querySelector('#status').textContent.startsWith('Committed')")

    expected = OLD.replace("line 3\n", "third <b onclick=alert(1)>line</b>\n")
    assert (tmp_path / "project" / "a.py").read_text(encoding="utf-8") == expected
    assert {call["name"] for call in server.calls} == {ACTION}
    await view.page.wait("window.context.length")
    told = await view.page.evaluate("JSON.stringify(window.context)")
    assert "The user has decided the review rv_" in told
    assert "third" not in told


async def test_a_person_rejects(server: Server, open_view: OpenView, tmp_path: Path) -> None:
    view = await open_view(DESKTOP)
    await view.wait("document.querySelector('nav')")
    await asyncio.sleep(1)
    await view.tap("nav [data-key=r]")
    await view.wait("document.querySelector('#status').textContent.startsWith('Rejected')")

    assert (tmp_path / "project" / "a.py").read_text(encoding="utf-8") == OLD
    assert "The user rejected the change" in text_of(await propose(server))


async def test_scripts_and_early_clicks_decide_nothing(server: Server, open_view: OpenView, tmp_path: Path) -> None:
    view = await open_view(DESKTOP)
    await view.wait("document.querySelector('nav')")
    await view.tap(".approve")
    for script in (
        "document.querySelector('.approve').click()",
        "document.dispatchEvent(new KeyboardEvent('keydown', {key: 'a', bubbles: true}))",
        "document.querySelector('.approve').dispatchEvent(new MouseEvent('click', {bubbles: true}))",
    ):
        await view.evaluate(script)
    await asyncio.sleep(1)
    await view.evaluate("document.querySelector('.approve').click()")

    assert [call for call in server.calls if "decision" in call["arguments"]] == []
    assert (tmp_path / "project" / "a.py").read_text(encoding="utf-8") == OLD


async def test_a_model_cannot_decide(server: Server, tmp_path: Path) -> None:
    result = await propose(server)
    page = result["_meta"][DATA]
    other = (await server.call("propose_and_review", path="b.py", match_text="", new_string="b\n"))["_meta"][DATA]
    decision = {"action": "approve"}

    # The texts for models contain no token.
    assert page["token"] not in json.dumps({key: result[key] for key in ("content", "structuredContent")})
    assert page["token"] not in json.dumps(await server.request("resources/read", {"uri": URI}))
    assert page["token"] not in json.dumps(await server.call("review_status"))
    for token in (
        "",
        "x",
        page["token"][:-1],
        page["token"].upper() + "\udcff",
        other["token"],
        None,
        5,
        [page["token"]],
    ):
        answer = await server.call(ACTION, review=page["review"], token=token, decision=decision)
        assert answer.get("isError"), token
        assert "Only the review page in the client can decide" in text_of(answer)
    for meta in ("call", "call_read"):
        answer = await server.call(meta, name=ACTION, arguments={**page, "decision": decision})
        assert answer.get("isError") or "error" in answer
    assert (tmp_path / "project" / "a.py").read_text(encoding="utf-8") == OLD
    assert not (tmp_path / "project" / "b.py").exists()


@pytest.mark.parametrize(
    "decision",
    [
        *("approve", 5, [], {}, {"action": "commit"}, {"action": "approve", "chosen": [[7]]}),
        *({"action": "approve", "chosen": [[True]]}, {"action": "edit", "text": OLD + "\ud800"}, {"action": "comment"}),
    ],
)
async def test_invalid_decisions_change_nothing(server: Server, tmp_path: Path, decision: Any) -> None:
    page = (await propose(server))["_meta"][DATA]

    answer = await server.call(ACTION, review=page["review"], token=page["token"], decision=decision)

    assert answer["isError"]
    assert "Traceback" not in text_of(answer)
    assert (tmp_path / "project" / "a.py").read_text(encoding="utf-8") == OLD


OTHERS: dict[str, dict[str, Any]] = {
    "no extension": {},
    "another extension": {"io.modelcontextprotocol/tasks": {}},
    "another type of pages": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html"]}},
    "no object": {"io.modelcontextprotocol/ui": True},
}


@pytest.mark.parametrize("extensions", OTHERS.values(), ids=OTHERS)
async def test_other_clients_see_no_page(tmp_path: Path, extensions: dict[str, Any]) -> None:
    (tmp_path / "project").mkdir()
    async with workbench(tmp_path / "project", tmp_path / "state", extensions) as other:
        listed = await other.request("tools/list", {})
        read = await other.request("resources/read", {"uri": URI})
        resources = await other.request("resources/list", {})
        called = await other.call(ACTION, review="rv_1", token="x")

    assert "ui://" not in json.dumps(listed)
    assert ACTION not in json.dumps(listed)
    assert "error" in read
    assert URI not in json.dumps(resources)
    assert "Unknown tool" in json.dumps(called)


async def test_the_tool_is_listed_with_its_page_and_the_page_alone_sees_its_requests(server: Server) -> None:
    tools = {
        tool["name"].removeprefix("workbench_"): tool for tool in (await server.request("tools/list", {}))["tools"]
    }

    assert tools["propose_and_review"]["_meta"]["ui"] == {"resourceUri": URI}
    assert tools[ACTION]["_meta"]["ui"] == {"resourceUri": URI, "visibility": ["app"]}
    assert URI not in json.dumps(await server.request("resources/list", {}))


async def test_the_page_permits_only_its_own_scripts_and_no_network(server: Server) -> None:
    (content,) = (await server.request("resources/read", {"uri": URI}))["contents"]
    html = content["text"]

    assert content["mimeType"] in EXTENSIONS["io.modelcontextprotocol/ui"]["mimeTypes"]
    assert content["_meta"]["ui"]["csp"] == {}
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    script = re.search(r"<script>(.*?)</script>", html, re.DOTALL)
    assert policy
    assert script
    assert base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode() in policy[1]
    assert policy[1].startswith("default-src 'none'; ")
    assert not re.search(r"(src|href)=[\"']?(http|//)", html)
