"""A headless Chromium, driven over the pipe of its DevTools protocol."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

TIMEOUT_S = 60.0
NAMES = ("chromium", "chromium-browser", "google-chrome")
MAX_MESSAGE = 64 * 1024 * 1024
CTRL = 2
_KEYS = {"Enter": ("\r", 13), "Escape": ("", 27), "Tab": ("", 9)}


@dataclass
class Chromium:
    """The connection to a browser."""

    reader: asyncio.StreamReader
    writer: asyncio.WriteTransport
    numbers: count[int] = field(default_factory=lambda: count(1))
    answers: dict[int, asyncio.Future[dict[str, Any]]] = field(default_factory=dict)
    pages: dict[str, Page] = field(default_factory=dict)

    async def send(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol, and return its result."""
        number = next(self.numbers)
        self.answers[number] = asyncio.get_running_loop().create_future()
        message = {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        self.writer.write(json.dumps(message).encode() + b"\0")
        answer = await asyncio.wait_for(self.answers[number], TIMEOUT_S)
        del self.answers[number]
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        result: dict[str, Any] = answer["result"]
        return result

    async def receive(self) -> None:
        """Pass on the messages of the browser until it ends."""
        while True:
            message = json.loads((await self.reader.readuntil(b"\0"))[:-1])
            if answer := self.answers.get(message.get("id", 0)):
                answer.set_result(message)
            elif page := self.pages.get(message.get("sessionId", "")):
                page.receive(message)

    async def open(self, url: str, width: int, height: int) -> Page:
        """Open a page in a window of this size; below 700 pixels it is a phone."""
        target = (await self.send("Target.createTarget", url="about:blank"))["targetId"]
        session = (await self.send("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
        page = self.pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            await page.send(f"{domain}.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 700}
        await page.send("Emulation.setDeviceMetricsOverride", **size)
        await page.send("Page.navigate", url=url)
        await page.wait("document.readyState === 'complete' && document.querySelector('main') !== null")
        return page


@dataclass
class Page:
    """A page, and the problems and requests that the browser reports."""

    browser: Chromium
    session: str
    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def receive(self, message: dict[str, Any]) -> None:
        """Record an event."""
        match message:
            case {"method": "Runtime.exceptionThrown" | "Log.entryAdded", "params": params}:
                self.problems.append(json.dumps(params))
            case {"method": "Network.requestWillBeSent", "params": {"request": {"url": url}}}:
                self.requests.append(url)

    async def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol for this page."""
        return await self.browser.send(method, self.session, **parameters)

    async def evaluate(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        result = await self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    async def wait(self, condition: str) -> None:
        """Wait until a condition holds, also across navigation."""
        try:
            async with asyncio.timeout(TIMEOUT_S):
                while not await self._holds(condition):
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(
                f"{condition}\n{self.problems}\n{await self.evaluate('document.body.innerText')}"
            ) from None

    async def _holds(self, condition: str) -> bool:
        try:
            return bool(await self.evaluate(f"Boolean({condition})"))
        except RuntimeError:  # the page is being replaced
            return False

    async def press(self, key: str, modifiers: int = 0) -> None:
        """Press and release a key."""
        text, code = _KEYS.get(key, (key, ord(key.upper()[0])))
        event = {"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        await self.send("Input.dispatchKeyEvent", type="keyDown", text="" if modifiers else text, **event)
        await self.send("Input.dispatchKeyEvent", type="keyUp", **event)

    async def type(self, text: str) -> None:
        """Type a text key by key."""
        for character in text:
            await self.press(character)

    async def tap(self, selector: str) -> None:
        """Click the middle of an element."""
        box = "{const box = document.querySelector(%s).getBoundingClientRect(); [box.x + box.width / 2, box.y + box.height / 2]}"
        x, y = await self.evaluate(box % json.dumps(selector))
        for kind in ("mousePressed", "mouseReleased"):
            await self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    async def screenshot(self, path: Path) -> None:
        """Save the visible part as PNG."""
        path.write_bytes(base64.b64decode((await self.send("Page.captureScreenshot"))["data"]))


def find_chromium() -> str:
    """Return the path of the browser."""
    path = next(filter(None, map(shutil.which, [os.environ.get("CHROMIUM", ""), *NAMES])), None)
    assert path, "install Chromium, or set CHROMIUM to its path: the review pages are tested in it"
    return path


@asynccontextmanager
async def chromium(directory: Path) -> AsyncIterator[Chromium]:
    """Start a browser with a profile in `directory`. It cannot reach another machine."""
    arguments = [
        *("--headless=new", "--remote-debugging-pipe", f"--user-data-dir={directory}", "--no-first-run"),
        *("--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update"),
        *("--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
        *(["--no-sandbox"] if hasattr(os, "getuid") and os.getuid() == 0 else []),
    ]
    from_browser, its_output = os.pipe()
    its_input, to_browser = os.pipe()

    def connect() -> None:
        # Chromium reads from 3 and writes to 4. The copies cannot overwrite each other.
        copies = os.dup(its_input), os.dup(its_output)
        while min(copies) < 5:
            copies = os.dup(copies[0]), os.dup(copies[1])
        os.dup2(copies[0], 3)
        os.dup2(copies[1], 4)

    loop = asyncio.get_running_loop()
    process = await asyncio.create_subprocess_exec(
        find_chromium(),
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, "HOME": str(directory)},
        close_fds=False,
        preexec_fn=connect,
    )
    os.close(its_input)
    os.close(its_output)
    reader = asyncio.StreamReader(MAX_MESSAGE)
    incoming, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(from_browser, "rb")
    )
    outgoing, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(to_browser, "wb"))
    browser = Chromium(reader, outgoing)
    receiving = asyncio.create_task(browser.receive())
    try:
        yield browser
        await browser.send("Browser.close")
        await asyncio.wait_for(process.wait(), TIMEOUT_S)
    finally:
        receiving.cancel()
        await asyncio.gather(receiving, return_exceptions=True)
        if process.returncode is None:
            process.kill()
            await process.wait()
        outgoing.close()
        incoming.close()
