"""Tools of real servers, served by ours in both eras of the protocol."""

from __future__ import annotations

import pytest
from mcp import types
from toolmason_runtime.serving import ProgramSettings

pytestmark = pytest.mark.anyio


async def test_text_of_an_upstream_is_passed_on(talking) -> None:
    async with talking() as client:
        result = await client.call_tool("echo", {"message": "hello"})
        print(result)
        result = await client.call_tool("get_env", {})
        print(result)
        for name in ("get_image", "ask_modern", "crash_read", "crash_write", "long_text", "gone", "fail", "call_missing", "call_broken", "log_something", "echo_remote", "work_briefly"):
            try:
                print(name, str(await client.call_tool(name, {"times":3} if "crash" in name else {"message": "x"}))[:1000])
            except Exception as e:
                print(name, repr(e))

    async def elicit(ctx, params): 
        print(params)
        return types.ElicitResult(action="accept", content={"name": "Ada"})
    async with talking(elicitation_callback=elicit) as client:
        print(await client.call_tool("ask_modern", {}))
        print(await client.call_tool("ask_everything", {}))
