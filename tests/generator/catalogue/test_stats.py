"""What tools and styles cost."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import Result
from toolmason_runtime.shared.styles import STYLES
from toolmason_runtime.shared.tokens import estimate_tokens

from toolmason.catalogue.stats import CostMeter, report_stats, stats
from toolmason.catalogue.table import catalogue
from toolmason.diagnostics import Diagnostics
from toolmason.model.server import Server
from toolmason.pipeline import read
from toolmason.project import Project


@pytest.fixture
def server(project: Project) -> Server:
    """A server with thirty tools: enough for hiding them to pay."""
    text = project.manifest.read_text(encoding="utf-8")
    tool = text[text.index("[tools.count_words]") :]
    more = "".join(tool.replace("tools.count_words", f"tools.count_more_words_{number}") for number in range(29))
    project.manifest.write_text(f"{text}\n{more}", encoding="utf-8")
    diagnostics = Diagnostics()
    reading = read(project, diagnostics=diagnostics)
    assert reading is not None, list(map(str, diagnostics))
    return reading.server


def test_tool_is_measured_as_it_is_sent(server: Server) -> None:
    (first, *_others) = stats(catalogue(server)).tools
    sent = json.dumps(catalogue(server)["tools"]["count_words"]["tool"], ensure_ascii=False, separators=(",", ":"))

    assert (first.name, first.size, first.tokens) == ("count_words", len(sent.encode()), estimate_tokens(sent))


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"annotations": {"readOnlyHint": True}},
        {"annotations": {"title": 'Says "annotations":'}, "_meta": {"a": [1]}},
        {"inputSchema": {"properties": {"annotations": {"description": "Each"}}}},
        {"_meta": {}},
        {"_meta": {"annotations": {"\u00e9": "\u6f22\u5b57"}}, "inputSchema": {"annotations": [{}]}},
        {"title": "\u00dcber_annotations", "annotations": {}},
    ],
)
def test_the_parts_of_a_tool_are_measured_as_the_whole(other: dict[str, Any]) -> None:
    tool = {"name": "look", "description": 'A text with "annotations": {} in it.', **other}
    sent = json.dumps(tool, ensure_ascii=False, separators=(",", ":"))
    shown = {key: value for key, value in tool.items() if key != "_meta"}
    cost = CostMeter().cost_of(tool)

    assert cost.size == len(sent.encode())
    assert cost.tokens == estimate_tokens(json.dumps(shown, ensure_ascii=False, separators=(",", ":")))


def test_half_a_character_is_measured_too(server: Server) -> None:
    served = catalogue(server)
    before = stats(served).tools[0].size
    served["tools"]["count_words"]["tool"]["description"] += "\ud800"

    assert stats(served).tools[0].size == before + 3


def test_every_style_is_measured_that_of_the_server_first(server: Server) -> None:
    measured = [each.style for each in stats(catalogue(server)).styles]

    assert measured[0] == "search-call"
    assert sorted(measured) == sorted(STYLES)


def test_classic_lists_every_tool_and_costs_most(server: Server) -> None:
    styles = {each.style: each for each in stats(catalogue(server)).styles}

    assert styles["classic"].tools == 30
    assert all(styles[each].tokens < styles["classic"].tokens for each in STYLES if each != "classic")


def test_table_is_aligned_and_has_sums_and_shares(server: Server) -> None:
    lines = report_stats(server).splitlines()
    gap = lines.index("")

    assert lines[0].split() == ["tool", "bytes", "tokens", "as", "declared"]
    assert [line.split()[0] for line in lines[gap - 2 : gap]] == ["all", "average"]
    assert len({len(line) for line in lines[:gap]}) == 1
    assert "search-call (this server)" in lines[gap + 2]
    assert next(line for line in lines if line.startswith("classic")).endswith("100%")


def test_the_field_tools_of_each_client_is_measured(server: Server) -> None:
    rows = report_stats(server).split("\n\n")[2].splitlines()

    assert rows[0].split() == ["client", "tokens", "sent", "to", "the", "model"]
    assert [row.split("  ")[0] for row in rows[1:]] == ["Claude Code", "Codex", "Gemini CLI", "OpenCode"]
    assert all(200 < int(row.split()[-1]) < 1000 for row in rows[1:])


def test_disabled_tools_cost_nothing(run: Callable[..., Result], project: Project) -> None:
    text = project.manifest.read_text(encoding="utf-8")
    text = text.replace('pinned = ["count_words"]\n', "").replace(
        "[tools.count_words]\n", "[tools.count_words]\nenabled = false\n"
    )
    project.manifest.write_text(text, encoding="utf-8")
    result = run("stats")

    assert result.exit_code == 0, result.output
    assert "count_words" not in result.stdout
    assert "all tools      0" in result.stdout
