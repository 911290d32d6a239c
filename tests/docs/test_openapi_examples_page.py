"""docs/openapi-examples.md: each tool is that of the import of the operation above it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any, Final

import yaml
from click.testing import CliRunner
from pages import read

from toolmason.commands import toolmason

PAGE: Final = read("docs/openapi-examples.md")


def test_each_tool_of_the_page_is_that_of_the_operation_above_it(tmp_path: Path) -> None:
    head, *operations = map(yaml.safe_load, PAGE.blocks("yaml"))
    shown = [tomllib.loads(block)["tools"] for block in PAGE.blocks("toml")]
    paths: dict[str, Any] = {}
    for operation in operations:
        for each in operation.values():
            for data in each.values():
                data.setdefault("responses", {"200": {"description": "OK"}})
        paths |= operation
    source = tmp_path / "post.json"
    source.write_text(json.dumps({**head, "paths": paths}), encoding="utf-8")

    result = CliRunner().invoke(toolmason, ["import", "openapi", str(source)])

    assert result.exit_code == 0, result.output
    made = tomllib.loads(result.stdout)["tools"]
    assert len(operations) == len(shown) == 5
    assert {name: tool for tools in shown for name, tool in tools.items()} == made
    requests = [[f"{method.upper()} {path}" for path, item in each.items() for method in item] for each in operations]
    assert [[tool["http"] for tool in tools.values()] for tools in shown] == requests
