"""The scripted agent of the benchmark: its queries and steps, the sets of tasks, and a run with the bench's own set."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from bench.agent.__main__ import main
from bench.agent.contestants import MAX_FOUND, Everything, Ours, ToolSearchTool, catalogue_of
from bench.agent.policy import Answer, keywords, perform, query
from bench.agent.tasks import GARDEN, DataError, Task, Tool, load_sets
from hypothesis import example, given
from hypothesis import strategies as st


@dataclass
class Recorder:
    """Shows the tools of `answers` in turn."""

    answers: list[tuple[str, ...]]
    described: frozenset[str] = frozenset()
    takes_pattern: bool = False
    name: str = "recorder"
    surface: int = 100
    queries: list[str] = field(default_factory=list)
    called: list[str] = field(default_factory=list)

    async def search(self, query: str) -> Answer:
        self.queries.append(query)
        shown = self.answers[len(self.queries) - 1]
        return Answer(10, shown, self.described & set(shown))

    async def look_up(self, tool: str) -> int:
        self.queries.append(tool)
        return 5

    async def call(self, tool: str) -> bool:
        self.called.append(tool)
        return tool != "broken"


TASK = Task('Rename the file "Big Report.txt" to 2026', frozenset({"rename"}))
OTHERS = ("copy", "move")
CASES = {
    "found at once": ([("rename", *OTHERS)], {"rename"}, (True, True, True), 110, 1),
    "found, without its arguments": ([(*OTHERS, "rename")], set(), (True, True, False), 115, 2),
    "found by the second query": ([OTHERS, ("rename",)], {"rename"}, (False, True, False), 120, 2),
    "not found": ([OTHERS, OTHERS], {"rename"}, (False, False, False), 120, 2),
    "nothing found": ([(), ()], set(), (False, False, False), 120, 2),
}


@pytest.mark.parametrize(("answers", "described", "success", "tokens", "turns"), CASES.values(), ids=CASES)
def test_the_agent_searches_at_most_twice(
    answers: list[tuple[str, ...]], described: set[str], success: tuple[bool, bool, bool], tokens: int, turns: int
) -> None:
    recorder = Recorder(answers, frozenset(described))
    outcome = asyncio.run(perform(TASK, recorder))

    assert (outcome.in_one, outcome.in_two, outcome.is_first) == success
    assert (outcome.tokens, outcome.turns) == (tokens, turns)
    assert recorder.queries[:2] == [TASK.request, "rename file"][: len(answers)] or "rename" in recorder.queries
    assert recorder.called == (["rename"] if outcome.in_two else [])


def test_a_call_of_the_wrong_tool_is_no_success() -> None:
    task = Task("Break it", frozenset({"broken"}))
    outcome = asyncio.run(perform(task, Recorder([("broken",)], frozenset({"broken"}))))
    assert not outcome.in_two


def test_keywords_are_the_longest_words_without_values() -> None:
    request = "Please send the message 'see you at noon' to my colleagues in 3 departments of the biggest company now"
    assert keywords(request) == ["send", "message", "colleagues", "departments", "biggest", "company"]
    assert query(request, 2, is_pattern=False) == "send message colleagues departments biggest company"
    assert query(request, 1, is_pattern=True) == "(?i)departments"
    assert query(request, 2, is_pattern=True) == "(?i)colleagues|message"


@example(request=f"{'1' * 198}. 2", search=1)
@example(request="a.b. " * 80, search=2)
@given(request=st.text(max_size=400), search=st.sampled_from([1, 2]))
def test_any_request_gives_a_query_and_a_valid_pattern(request: str, search: int) -> None:
    pattern = query(request, search, is_pattern=True)

    assert len(pattern) <= 200
    re.compile(pattern)
    assert query(request, search, is_pattern=False) or not request


def test_the_documented_tool_search_returns_five_whole_definitions() -> None:
    tools = [Tool(f"tool_{number}", "Water the lawn", "all", {"type": "object"}) for number in range(9)]
    for takes_pattern, text in ((False, "lawn"), (True, "(?i)LAWN")):
        answer = asyncio.run(ToolSearchTool(tools, takes_pattern=takes_pattern).search(text))
        assert answer.shown == tuple(tool.name for tool in tools[:MAX_FOUND])
        assert answer.described == set(answer.shown)
    assert asyncio.run(ToolSearchTool(tools, takes_pattern=True).search("LAWN")).shown == ()


def test_both_of_our_styles_show_what_they_find_and_call_it() -> None:
    [garden] = load_sets(GARDEN, 1)
    for style in ("search-call", "code"):
        ours = Ours(catalogue_of(garden.tools), style)
        answer = asyncio.run(ours.search("last frost in spring"))

        assert "frost_dates" in answer.described <= set(answer.shown)
        assert asyncio.run(ours.look_up(answer.shown[-1])) > 0
        assert asyncio.run(ours.call("frost_dates"))
        assert not asyncio.run(ours.call("no_such_tool"))
        assert ours.surface < Everything(garden.tools).surface / 5


def test_a_run_with_the_set_of_the_bench(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    shares = {row[0]: row[1:] for row in rows}

    assert [float(share) >= 0.95 for share in shares["toolmason, search-call"][:2]] == [True, True]
    assert shares["list of all tools"][:2] == ["1.000", "1.000"]
    for rival in ("Anthropic's tool search, BM25", "Anthropic's tool search, regex"):
        assert float(shares[rival][2]) < float(shares["toolmason, code"][2])


BAD = {
    "no files": ({}, "no directory with tools.jsonl and queries.jsonl"),
    "not JSON": ({"tools.jsonl": "{", "queries.jsonl": ""}, "tools.jsonl:1: "),
    "no name": ({"tools.jsonl": '{"description": ""}', "queries.jsonl": ""}, "tools.jsonl:1: an object with `name`"),
    "twice": (
        {"tools.jsonl": '{"name": "a", "description": ""}\n' * 2, "queries.jsonl": ""},
        "tools.jsonl:2: a second",
    ),
    "unknown": (
        {"tools.jsonl": '{"name": "a", "description": ""}', "queries.jsonl": '{"query": "", "relevant": ["b"]}'},
        "queries.jsonl:1: unknown tool `b`",
    ),
    "nothing needed": (
        {"tools.jsonl": '{"name": "a", "description": ""}', "queries.jsonl": '{"query": "", "relevant": []}'},
        "queries.jsonl:1: `relevant` is empty",
    ),
    "no tasks": ({"tools.jsonl": '{"name": "a", "description": ""}', "queries.jsonl": ""}, "queries.jsonl: no tasks"),
}


@pytest.mark.parametrize(("files", "message"), BAD.values(), ids=BAD)
def test_invalid_data_is_an_error_with_its_place(
    files: dict[str, str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=re.escape(message)):
        load_sets(tmp_path, 5)
    assert main(["--data", str(tmp_path)]) == 1
    assert message in capsys.readouterr().err


def test_sets_are_the_directories_below_one(tmp_path: Path) -> None:
    tool = {
        "id": "1",
        "name": "a.b",
        "description": "",
        "parameters": {"properties": {"n": {"type": "float"}, "x": {"type": "any"}}},
    }
    for name in ("two", "one"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tools.jsonl").write_text(json.dumps(tool), encoding="utf-8")
        rows = [json.dumps({"query": str(number), "relevant": ["1"]}) for number in range(10)]
        (tmp_path / name / "queries.jsonl").write_text("\n".join(rows), encoding="utf-8")
    one, two = load_sets(tmp_path, 5)

    assert (one.name, two.name) == ("one", "two")
    assert [task.request for task in one.tasks] == ["0", "2", "4", "6", "8"]
    assert one.tasks[0].tools == {"a.b"}
    assert one.tools[0].parameters == {"type": "object", "properties": {"n": {"type": "number"}, "x": {}}}
