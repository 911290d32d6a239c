"""What the `odd` tools do."""

# ruff: noqa: ARG001, T201  a handler is given what it may not need; tests read what is printed

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from functools import partial
from typing import Any, get_args

import anyio
from anyio import from_thread
from toolmason_runtime import Audio, Content, Image, Reply, Resource, ResourceLink, Text, ToolCall, ToolError
from toolmason_runtime.calls.call import ElicitationMode, Level

from sample_server.handlers import Notebook
from sample_server.odd.models import NoParams, RefuseParams

NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


async def rare(params: NoParams, call: ToolCall) -> Content:
    return "rare"


async def raw(params: dict[str, Any], call: ToolCall) -> Content:
    return json.dumps(params)


async def mixed(params: NoParams, call: ToolCall) -> Content:
    return [
        "plain",
        Text("text"),
        Image(b"\x89PNG", "image/png"),
        Audio(b"RIFF", "audio/wav"),
        Resource("file:///a", "whole", "text/plain"),
        Resource("file:///b", b"\x00", "application/octet-stream"),
        ResourceLink("file:///c", "c", "text/plain", "a link"),
    ]


async def refuse(params: RefuseParams, call: ToolCall) -> Content | Reply:
    if params.text == "reply":
        return Reply("refused in a reply", is_error=True)
    raise ToolError(
        f"cannot take {params.text!r}: send 'reply'", code="NOT_TAKEN", details={"length": len(params.text)}
    )


async def crash(params: NoParams, call: ToolCall) -> Content:
    raise RuntimeError("password 12345")


async def crash_together(params: NoParams, call: ToolCall) -> Content:
    async def fail(text: str) -> None:
        raise ToolError(text)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(fail, "first")
        tasks.start_soon(fail, "second")
    return "never"


async def lie(params: NoParams, call: ToolCall) -> dict[str, Any]:
    return {"words": "many"}


async def odd_text(params: NoParams, call: ToolCall) -> dict[str, Any]:
    return {"name\udc80": "file\udcff.txt", "none": None}


async def wait(params: NoParams, call: ToolCall) -> Content:
    await call.progress(1, 2, "waiting")
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        print("the wait was cancelled", file=sys.stderr, flush=True)
        raise
    return "never"


async def stubborn(params: NoParams, call: ToolCall) -> Content:
    print("blocking", file=sys.stderr, flush=True)
    time.sleep(3600)  # noqa: ASYNC251  what a handler should not do
    return "never"


RELEASED = threading.Event()


def hold(params: NoParams, call: ToolCall) -> Content:
    from_thread.run(call.progress, 1, 2, "holding")
    RELEASED.wait()
    return f"released in {'the main' if threading.current_thread() is threading.main_thread() else 'another'} thread"


async def release(params: NoParams, call: ToolCall) -> Content:
    RELEASED.set()
    return "done"


def hold_until_cancelled(params: NoParams, call: ToolCall) -> Content:
    from_thread.run(call.progress, 1, 2, "holding")
    try:
        while not RELEASED.wait(0.01):
            from_thread.check_cancelled()
    except asyncio.CancelledError:
        print("the thread was cancelled", file=sys.stderr, flush=True)
        raise
    return "never"


def ask_in_a_thread(params: NoParams, call: ToolCall) -> Content:
    answer = from_thread.run(partial(call.elicit, "Your name?", NAME, key="name"))
    if answer["action"] != "accept":
        raise ToolError("no name: accept the question")
    return str(answer["content"]["name"])


async def flood(params: NoParams, call: ToolCall) -> Content:
    sys.stderr.write("flooding\n")
    while True:
        sys.stderr.write("more than a pipe holds\n" * 1000)


async def chatter(params: NoParams, call: ToolCall) -> Content:
    print("printed by the handler")
    child = "import sys; print('printed by a child'); sys.stdout.write(repr(sys.stdin.read()))"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", child)
    assert await process.wait() == 0
    return "done"


async def report(params: NoParams, call: ToolCall) -> Content:
    await call.progress(0.5, 1, "half")
    for level in get_args(Level):
        await call.log(level, {"said": level}, "sample")
    return "done"


async def ask(params: NoParams, call: ToolCall) -> Content:
    name = await call.elicit("Your name?", NAME, key="name")
    city = await call.elicit("Your city?", CITY, key="city")
    return f"{name['content']['name']} of {city['content']['city']}"


async def open_page(params: NoParams, call: ToolCall) -> Content:
    url = "http://127.0.0.1:1/page"
    answer = await call.elicit_url("Open the page.", url, key="page", elicitation_id="page-1")
    return json.dumps(answer)


async def show_client(params: NoParams, call: ToolCall) -> Content:
    modes = [mode for mode in get_args(ElicitationMode) if call.can_elicit(mode)]
    return json.dumps({"name": call.client_name, "modes": modes, "max_wait_s": call.max_wait_s})


async def sample(params: NoParams, call: ToolCall) -> Content:
    message = {"role": "user", "content": {"type": "text", "text": "hello"}}
    answer = await call.sample({"messages": [message], "maxTokens": 10})
    return str(answer["content"]["text"])


async def roots(params: NoParams, call: ToolCall) -> Content:
    return json.dumps(await call.client_roots())


async def show_state(params: NoParams, call: ToolCall) -> Content:
    notebook = call.state(Notebook)
    return json.dumps({"options": notebook.options, "is_open": notebook.is_open})
