"""Clients of a soak: one connection over stdio with many calls at once, and clients of a server over HTTP."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from contextlib import suppress
from typing import Any, Final

import httpx2
from mixed_calls import DECLINED, Call, Message

LEGACY: Final = "2025-11-25"
MODERN: Final = "2026-07-28"
TIMEOUT_S: Final = 120.0
MAX_LINE_BYTES: Final = 1 << 24
MAX_CANCEL_S: Final = 0.05
"""Maximum time between a call and its cancellation."""
ABOUT: Final = {"name": "toolmason", "version": "0"}


class LostAnswerError(Exception):
    """A call was not answered in time, or the server ended."""


class StdioPeer:
    """One connection over stdio. Its user approves each change except those in the directory `DECLINED`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.unexpected: list[Message] = []
        """Answers that nobody waits for: a second one, or one with an unknown id."""
        self._waiting: dict[int, asyncio.Future[Message]] = {}
        self._cancelled: set[int] = set()
        self._ids = itertools.count(1)
        self._reader = asyncio.create_task(self._read())

    async def open(self) -> None:
        params = {"protocolVersion": LEGACY, "capabilities": {"elicitation": {}}, "clientInfo": ABOUT}
        await self._answer(self._request("initialize", params))
        self._send({"method": "notifications/initialized"})

    async def call(self, call: Call) -> Message | None:
        """Return the answer; None if the call was cancelled before it came."""
        number = self._request(call.method, call.params)
        if call.kind == "cancel":
            await asyncio.sleep(random.random() * MAX_CANCEL_S)
            if not self._waiting[number].done():
                self._cancelled.add(number)
                self._waiting.pop(number).cancel()
                self._send({"method": "notifications/cancelled", "params": {"requestId": number}})
                return None
        return await self._answer(number)

    async def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        await asyncio.wait_for(self.process.wait(), TIMEOUT_S)
        await self._reader

    def _request(self, method: str, params: Message) -> int:
        number = next(self._ids)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        self._send({"id": number, "method": method, "params": params})
        return number

    async def _answer(self, number: int) -> Message:
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await self._waiting[number]
        except TimeoutError:
            raise LostAnswerError(f"request {number} has no answer after {TIMEOUT_S:g} s") from None
        finally:
            self._waiting.pop(number)

    def _send(self, message: Message) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            message = json.loads(line)
            if "method" in message:
                if "id" in message:
                    self._send({"id": message["id"], "result": decide(message["params"])})
            elif (future := self._waiting.get(message["id"])) and not future.done():
                future.set_result(message)
            elif message["id"] not in self._cancelled:
                self.unexpected.append(message)
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(LostAnswerError("the server ended"))


class HttpPeer:
    """A client over HTTP: of 2025-11-25 with a session, or of 2026-07-28 with a user who answers questions."""

    def __init__(self, client: httpx2.AsyncClient, address: str, *, is_modern: bool) -> None:
        self.client, self.address, self.is_modern = client, address, is_modern
        self.unexpected: list[Message] = []
        self._headers = {"Accept": "application/json, text/event-stream"}
        self._ids = itertools.count(1)

    async def open(self) -> None:
        self._headers["MCP-Protocol-Version"] = MODERN if self.is_modern else LEGACY
        if not self.is_modern:
            params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": ABOUT}
            message = {"jsonrpc": "2.0", "id": next(self._ids), "method": "initialize", "params": params}
            response = await self.client.post(self.address, json=message, headers=self._headers)
            self._headers["Mcp-Session-Id"] = response.raise_for_status().headers["Mcp-Session-Id"]
            message = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            (await self.client.post(self.address, json=message, headers=self._headers)).raise_for_status()

    async def call(self, call: Call) -> Message | None:
        """Return the answer; None if the call was cancelled before it came."""
        if call.kind == "cancel":
            task = asyncio.create_task(self._request(call.method, call.params))
            done, _ = await asyncio.wait([task], timeout=random.random() * MAX_CANCEL_S)
            if not done:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
                return None
            return task.result()
        answer = await self._request(call.method, call.params)
        while answer.get("result", {}).get("resultType") == "input_required":
            result = answer["result"]
            replies = {key: decide(request["params"]) for key, request in result["inputRequests"].items()}
            state = {"requestState": result["requestState"]} if "requestState" in result else {}
            answer = await self._request(call.method, {**call.params, "inputResponses": replies, **state})
        return answer

    async def close(self) -> None:
        if not self.is_modern:
            (await self.client.delete(self.address, headers=self._headers)).raise_for_status()

    async def _request(self, method: str, params: Message) -> Message:
        number, headers = next(self._ids), self._headers
        if self.is_modern:
            about = {
                "protocolVersion": MODERN,
                "clientCapabilities": {"elicitation": {"form": {}}},
                "clientInfo": ABOUT,
            }
            params = {**params, "_meta": {f"io.modelcontextprotocol/{key}": value for key, value in about.items()}}
            headers = {**headers, "Mcp-Method": method, **({"Mcp-Name": params["name"]} if "name" in params else {})}
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        response = await self.client.post(self.address, json=message, headers=headers)
        answers = [answer for answer in _messages(response) if "method" not in answer]
        if len(answers) != 1 or answers[0]["id"] != number:
            raise LostAnswerError(f"request {number} has the answers {answers}, status {response.status_code}")
        return answers[0]


def decide(question: Message) -> Message:
    """Return the answer of the user to a question about a change."""
    decision = "reject" if f"{DECLINED}/" in question["message"] else "approve"
    return {"action": "accept", "content": {"decision": decision}}


def _messages(response: httpx2.Response) -> list[Message]:
    if response.headers.get("content-type", "").startswith("text/event-stream"):
        lines = [line.removeprefix("data:").strip() for line in response.text.splitlines() if line.startswith("data:")]
        return [json.loads(line) for line in lines if line.startswith("{")]
    body: Any = response.json()
    return [body]
