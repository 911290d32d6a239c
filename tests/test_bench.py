"""The parts of the benchmark that decide what its figures mean."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench.__main__ import main
from bench.calling_http import HttpCalls
from bench.clock import measure_children, process_cpu
from bench.contestants import BARE, OURS
from bench.file_tools import FileTask
from bench.large_results import LargeResult
from bench.lessons import compare
from bench.page import page
from bench.peers import GO, TYPESCRIPT, TYPESCRIPT_1, find_peers
from bench.promises import Findings, rows
from bench.rounds import Cost, ratio, typical
from bench.schemas.cost import Tokens
from bench.schemas.fields import Field, problems
from bench.schemas.samples import samples
from bench.schemas.semantics import Acceptance
from bench.schemas.survival import Survival
from bench.store import Store, StoreError
from bench.synthetic import MAX_TOOLS, synthetic_tools


def tool(value: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": value}}


def test_no_two_synthetic_tools_share_a_name_a_text_or_a_parameter() -> None:
    tools = synthetic_tools(MAX_TOOLS)

    assert len({tool.name for tool in tools}) == len({tool.description for tool in tools}) == MAX_TOOLS == 10_000
    assert len({part.description for tool in tools for part in tool.parameters}) == 3 * MAX_TOOLS


def test_a_ratio_is_the_median_of_the_ratios_of_each_round() -> None:
    ours, theirs = [Cost(1, 4), Cost(9, 4), Cost(2, 4)], [Cost(2, 1), Cost(3, 2), Cost(2, 4)]

    compared = ratio(ours, theirs)

    assert (compared.median, compared.cpu) == (1, 2)
    assert str(compared) == "1.00x (0.75 to 2.00; CPU 2.00x)"
    assert typical(ours) == Cost(2, 4)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not report the CPU time of children")
def test_cpu_time_is_that_of_the_measured_process() -> None:
    busy = "import time\nwhile time.process_time() < 0.2: pass\nprint(flush=True)\ninput()"
    with measure_children() as timer:
        process = subprocess.Popen([sys.executable, "-c", busy], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        while_running = process_cpu(process.pid)
        process.communicate(b"\n")

    assert timer.cost.cpu >= 0.2
    assert timer.cost.wall >= 0.2
    assert sys.platform != "linux" or 0.2 <= while_running <= timer.cost.cpu


@pytest.mark.skipif(sys.platform != "linux", reason="the times of running processes are in /proc")
def test_cpu_time_includes_programs_that_a_running_child_has_started() -> None:
    busy = "import time\nwhile time.process_time() < 0.2: pass"
    launcher = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {busy!r}])\nprint(flush=True)\ninput()"
    server = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {launcher!r}])"
    command = [sys.executable, "-c", server]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert process_cpu(process.pid) >= 0.2
        process.communicate(b"\n")


def test_a_task_that_leaves_memory_behind_misses_its_target() -> None:
    found = [row for row in rows(_findings("a query", 11)) if "memory by" in row.what]
    assert [row.verdict for row in found] == ["**not met**"]


def test_a_bar_in_a_cell_does_not_end_it() -> None:
    assert "| .users \\| length | jq" in page(_findings(".users | length", None))


def test_scale_needs_two_sizes_before_anything_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--sizes", "1000"])
    assert "at least two sizes" in capsys.readouterr().err


def test_a_comparison_names_the_best_peer_and_says_when_ours_is_worse() -> None:
    peers = {"slow": 90.0, "quick": 12.0}

    assert compare(33, peers, "ms") == "33 ms; the best peer, quick, 12 ms: ours is **worse**, by a factor of 2.8"
    assert compare(6, peers, "ms").endswith("ours is better, by a factor of 2.0")
    assert compare(12.1, peers, "ms").endswith(": equal")
    assert compare(45, peers, "calls/s", is_more_better=True).startswith("45 calls/s; the best peer, slow, 90 calls/s")
    assert compare(1234, {}, "ms") == "1,234 ms"


def test_the_page_names_a_peer_that_cannot_run() -> None:
    findings = replace(_findings("a query", None), missing={GO: "`go` is not installed"}, dates=("2026-01-02",))

    assert "**Not measured**: Go SDK; `go` is not installed." in page(findings)
    assert "measured on 2026-01-02" in page(findings)


def test_the_page_has_a_sentence_and_a_row_for_each_program_of_a_large_result() -> None:
    results = tuple(
        LargeResult(label=label, megabytes=100, cost=Cost(seconds, 1), memory=300.0, longest_ping=seconds * 1000)
        for label, seconds in ((BARE, 4.0), (GO, 1.0), (OURS, 2.0))
    )
    text = page(replace(_findings("a query", None), large_results=results))

    assert (
        "A result of 100 MB takes 2,000 ms; the best peer, Go SDK, 1,000 ms: ours is **worse**, by a factor of 2.0."
        in text
    )
    assert [line for line in text.splitlines() if line.startswith("| Go SDK ") and "1,000.0" in line]


def test_a_peer_that_refuses_an_era_is_named_with_its_answer() -> None:
    costs = {OURS: [Cost(1, 1)], BARE: [Cost(2, 1)]}
    calls = HttpCalls(era="2026-07-28", clients=64, costs=costs, refused={GO: "Bad Request"})
    text = page(replace(_findings("a query", None), http_calls=(calls,)))

    assert "**Not measured**: Go SDK in revision 2026-07-28; its answer: Bad Request" in text
    assert "ours 1 calls/s; the best peer, bare SDK server, 0.5 calls/s: ours is better, by a factor of 2.0." in text


def test_stored_results_are_measured_once_and_not_mixed_with_others(tmp_path: Path) -> None:
    store = Store(tmp_path, {"rounds": 3})
    store.write("start", {"starts": Cost(1, 2)})

    assert store.read("start") == {"starts": Cost(1, 2)}
    assert store.read("call") is None
    with pytest.raises(StoreError, match="remove the file"):
        Store(tmp_path, {"rounds": 5}).read("start")


def test_a_machine_without_other_languages_names_each_missing_peer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    peers = find_peers(tmp_path)

    assert not peers.commands
    assert peers.missing.keys() == {TYPESCRIPT_1, TYPESCRIPT, GO}
    assert peers.missing[GO] == "`go` is not installed"


def test_unknown_parts_are_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--only", "start,strat"])
    assert "unknown parts: strat; the parts are start, cold, list" in capsys.readouterr().err


def _findings(task: str, growth_mib: float | None) -> Findings:
    cost = Cost(1, 1)
    same = ratio([cost], [cost])
    of_task = FileTask(label=task, other="jq", ours=cost, theirs=cost, ratio=same, target=None, growth_mib=growth_mib)
    return Findings((1000,), 5, ("files",), file_tools=(of_task,))


@pytest.mark.parametrize(
    ("field", "schema", "problem"),
    [
        (Field.PARAMETERS, {"type": "object", "properties": {"a": {}}}, "type: must be specified"),
        (Field.VERTEX, tool({"type": "null"}), "NULL"),
        (Field.VERTEX, tool({"description": "A", "anyOf": [{"type": "string"}]}), "alongside any_of"),
        (Field.JSON, tool({"$ref": "#/$defs/A"}), "undefined schema"),
        (Field.JSON, tool({"$ref": "#", "minLength": 1}), "unsupported fields"),
        (Field.ANTHROPIC, {**tool({}), "anyOf": [{}]}, "at the top level"),
        (Field.ANTHROPIC, {"type": "object", "properties": {"a b": {}}}, "property keys"),
        (Field.OPENAI, {"type": "object"}, "missing properties"),
        (Field.OPENAI, tool({"type": "array"}), "missing items"),
        (Field.VS_CODE, tool({"type": "array"}), "missing items"),
    ],
)
def test_each_reader_refuses_what_its_provider_refuses(field: Field, schema: Any, problem: str) -> None:
    assert any(problem in each for each in problems(field, schema))
    assert not list(problems(field, tool({"type": "string"})))


def test_the_samples_of_a_schema_are_valid_and_reach_each_branch() -> None:
    schema = tool(
        {"anyOf": [{"type": "string", "pattern": "^[a-c]{2,3}$"}, {"type": "array", "items": {"type": "null"}}]}
    )
    made = samples(schema)

    assert {type(value["a"]) for value in made if "a" in value} == {str, list}
    assert {"a": [None]} in made
    assert all(Acceptance(schema).accepts(value) for value in made)


def test_a_schema_that_one_client_loses_does_not_survive_all() -> None:
    faults = {"one": {"a": "raises"}, "two": {"b": "an argument is lost"}, "three": {}}
    survival = Survival(faults, frozenset("abcd"), frozenset("a"))

    assert survival.share(["one"]) == 0.75
    assert survival.share(["one", "two", "three"]) == 0.5
    assert survival.share(["one", "two"], hard=True) == 0
    assert survival.causes(["one", "two"]) == [("raises", 1, "a"), ("an argument is lost", 1, "b")]


def test_tokens_are_compared_by_sum_and_by_schema() -> None:
    tokens = Tokens(100, 75, (0.5, 1.0, 1.5))

    assert (tokens.total, tokens.percentile(0.5), tokens.percentile(1)) == (0.75, 1.0, 1.5)
