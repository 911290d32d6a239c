"""The result of a search in docs/serving.md is a real one."""

from __future__ import annotations

import asyncio
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from toolmason_runtime.discovery import style_for
from toolmason_runtime.shared.selection import Selection

from workbench_server.catalogue import CATALOGUE

PAGE = Path(__file__).parents[2] / "docs" / "serving.md"


def load_index() -> dict[str, Any]:
    index: dict[str, Any] = json.loads(files("workbench_server").joinpath("search_index.json").read_text("utf-8"))
    return index


def test_the_search_result_of_the_page_is_one_of_workbench() -> None:
    [shown] = re.findall(r'```json\n(\{\n  "tool_name".*?)```', PAGE.read_text(encoding="utf-8"), re.DOTALL)
    style = style_for(CATALOGUE, Selection("search-call"), load_index)

    async def run(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError(name, arguments)

    answer = asyncio.run(style.call("search", {"query": "jq expression for a JSON file"}, run))
    results = json.loads(answer["content"][0]["text"])["results"]
    assert json.loads(shown) in results
