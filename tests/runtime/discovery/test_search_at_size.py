"""Search among 200 command tools: what is meant comes first, pages stay small, a piece of one tool's text finds it."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from toolmason_runtime.shared.catalogue import Catalogue, ToolEntry
from toolmason_runtime.shared.search.index import ToolIndex
from toolmason_runtime.shared.search.text import STOP_WORDS, fold
from toolmason_runtime.shared.tokens import estimate_tokens

MakeIndex = Callable[[Catalogue], ToolIndex]

PROGRAMS = {
    "bucketctl": "object",
    "clusterctl": "pod",
    "queuectl": "message",
    "dnsctl": "record",
    "mailctl": "mailbox",
    "vaultctl": "secret",
    "diskctl": "volume",
    "netctl": "interface",
    "imgctl": "picture",
    "pkgctl": "package",
    "jobctl": "job",
    "certctl": "certificate",
    "userctl": "account",
    "logctl": "stream",
    "metricctl": "gauge",
    "alertctl": "alarm",
    "backupctl": "snapshot",
    "buildctl": "pipeline",
    "sshctl": "tunnel",
    "dbctl": "schema",
}
VERBS = {
    "list": "List",
    "describe": "Describe",
    "create": "Create",
    "delete": "Delete",
    "copy": "Copy",
    "rename": "Rename",
    "export": "Export",
    "watch": "Watch",
    "restore": "Restore",
    "tag": "Label",
}
DETAILS = re.findall(
    r"\w+",
    """
    region owner quota expiry checksum encryption replica zone endpoint latency throughput retention schedule template
    variable namespace gateway proxy firewall subnet route cache index cursor partition offset topic subscriber consumer
    producer batch chunk header footer payload signature token session cookie locale timezone currency invoice customer
    supplier warehouse shipment parcel courier address postcode country language translation glossary chapter paragraph
    footnote citation bibliography thumbnail watermark resolution palette gradient contrast brightness shutter aperture
    microphone speaker volume pitch tempo chord melody lyric playlist channel antenna satellite orbit telescope spectrum
    frequency amplitude voltage current resistor capacitor transistor circuit sensor actuator motor gearbox turbine
    valve
    """,
)


def tool(name: str, program: str, sentence: str, *, use_case: str, keyword: str) -> ToolEntry:
    """A command tool with the parameters that many have."""
    properties: dict[str, Any] = {
        "name": {"type": "string", "description": "Which one"},
        "limit": {"type": "integer", "description": "Most to give", "default": 50, "minimum": 1},
        "verbose": {"type": "boolean", "description": "Tell more", "default": False},
        "output": {"type": "string", "description": "How to print it", "enum": ["json", "table", "yaml"]},
    }
    hints = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": True}
    schema = {"type": "object", "properties": properties, "required": ["name"]}
    return {
        "tool": {"name": name, "description": sentence, "inputSchema": schema, "annotations": hints},
        "summary": sentence.partition(",")[0],
        "category": f"area{list(PROGRAMS).index(program) // 4}",
        "complexity": "simple",
        "tier": "core",
        "keywords": [keyword],
        "use_cases": [use_case],
        "related": [],
        "examples": [],
        "cli": program,
    }


@pytest.fixture(scope="module")
def programs() -> Catalogue:
    """Twenty programs with ten tools each; every verb, noun and detail stands in several of them."""
    random = Random(4)
    tools: dict[str, ToolEntry] = {}
    for program, noun in PROGRAMS.items():
        for verb, said in VERBS.items():
            first, second, third, fourth = random.sample(DETAILS, 4)
            tools[f"{program}_{verb}_{noun}"] = tool(
                f"{program}_{verb}_{noun}",
                program,
                f"{said} one {noun} with its {first}, by {second} or by {third}",
                use_case=f"I need the {fourth} of a {noun}",
                keyword=random.choice(DETAILS),
            )
    return {
        "server": {
            "name": "size",
            "title": "Size",
            "version": "1.0.0",
            "package": "size_server",
            "instructions": "",
            "page_size": 250,
            "lifespan": "",
        },
        "discovery": {
            "style": "search-call",
            "prefix": "",
            "pinned": [],
            "page_tokens": 1500,
            "split_calls": True,
        },
        "categories": {
            f"area{place}": {"module": f"area{place}", "summary": f"Area {place}", "tags": ["programs"]}
            for place in range(5)
        },
        "clis": {name: {"summary": f"All about each {noun}", "tags": [noun]} for name, noun in PROGRAMS.items()},
        "tools": tools,
    }


@pytest.fixture
def index(programs: Catalogue, make_index: MakeIndex) -> ToolIndex:
    return make_index(programs)


def found(index: ToolIndex, query: str = "", **filters: str) -> list[str]:
    return [hit.name for hit in index.search(query, **filters)]


def said_by(entry: ToolEntry) -> str:
    """All that a tool says of itself, as search compares it."""
    parts = [str(entry["tool"]["name"]), entry["summary"], str(entry["tool"]["description"])]
    parts += [*entry["keywords"], *entry["use_cases"]]
    for name, each in entry["tool"]["inputSchema"]["properties"].items():
        parts += [name, each["description"]]
    return "\n".join(fold(part) for part in parts)


def test_there_are_200_tools(programs: Catalogue) -> None:
    assert len(programs["tools"]) == 200


def test_every_name_typed_with_spaces_comes_first(programs: Catalogue, index: ToolIndex) -> None:
    missed = [name for name in programs["tools"] if found(index, name.replace("_", " "))[0] != name]

    assert missed == []


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("count", [2, 3])
def test_words_of_a_description_find_their_tool_in_the_first_five(
    programs: Catalogue, index: ToolIndex, count: int, seed: int
) -> None:
    random = Random(seed)
    missed = []
    for name, entry in programs["tools"].items():
        words = dict.fromkeys(re.findall(r"\w+", str(entry["tool"]["description"]).lower()))
        query = " ".join(random.sample([word for word in words if word not in STOP_WORDS], count))
        if name not in found(index, query)[:5]:
            missed.append((name, query))

    assert len(missed) <= 0.05 * len(programs["tools"]), missed


@pytest.mark.parametrize("count", [2, 3])
def test_the_first_words_of_a_description_find_their_tool_in_the_first_five(
    programs: Catalogue, index: ToolIndex, count: int
) -> None:
    missed = []
    for name, entry in programs["tools"].items():
        words = [
            each for each in re.findall(r"\w+", str(entry["tool"]["description"])) if each.lower() not in STOP_WORDS
        ]
        if name not in found(index, " ".join(words[:count]))[:5]:
            missed.append(name)

    assert len(missed) <= 0.05 * len(programs["tools"]), missed


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"limit": 200},
        {"query": "which one"},
        {"query": "list object"},
        {"query": "by", "limit": 200},
        {"query": "copy", "limit": 200},
        {"query": "bucketctl_copy_object"},
        {"query": "quota region", "limit": 50, "offset": 3},
        {"cli": "dbctl", "limit": 50},
        {"category": "area0", "limit": 200},
        {"category": "area0", "limit": 200, "offset": 17},
        pytest.param({"query": "a" * 5000}, id="a long word"),
        pytest.param({"query": "object " * 500}, id="a long query"),
    ],
    ids=str,
)
def test_a_page_costs_at_most_1500_tokens(programs: Catalogue, desk: Any, asked: dict[str, Any]) -> None:
    result = desk(programs, "search-call").call("search", asked)

    assert not result.get("isError")
    assert sum(estimate_tokens(block["text"]) for block in result["content"]) <= 1500


def test_pages_hold_every_tool_once_in_the_order_of_the_manifest(programs: Catalogue, desk: Any) -> None:
    server, seen = desk(programs, "search-call"), []
    for category in programs["categories"]:
        offset = 0
        while True:
            answer = server.ask("search", category=category, limit=200, offset=offset)
            seen += [each["tool_name"] for each in answer["results"]]
            if "next_offset" not in answer:
                break
            offset = answer["next_offset"]

    assert seen == list(programs["tools"])


@pytest.mark.parametrize("cli", PROGRAMS)
def test_browsing_a_program_keeps_the_order_of_the_manifest(programs: Catalogue, index: ToolIndex, cli: str) -> None:
    assert found(index, cli=cli) == [name for name, entry in programs["tools"].items() if entry.get("cli") == cli]


def test_a_piece_that_is_in_the_text_of_one_tool_alone_gives_that_one_first(
    programs: Catalogue, index: ToolIndex
) -> None:
    texts = {name: said_by(entry) for name, entry in programs["tools"].items()}
    random, tried = Random(11), 0
    for name, text in texts.items():
        for _ in range(12):
            start = random.randrange(len(text))
            query = " ".join(text[start : start + random.randint(3, 30)].split("\n")[0].split())
            if len(query) < 3 or [each for each in texts if query in texts[each]] != [name]:
                continue
            tried += 1
            assert found(index, query)[0] == name, query

    assert tried > 500


def test_a_piece_of_several_texts_gives_them_before_all_others(programs: Catalogue, index: ToolIndex) -> None:
    names = list(programs["tools"])
    for place in (3, 70):
        programs["tools"][names[place]]["tool"]["description"] += ". Ends with a flourish"

    assert set(found(index, "ends with a flourish")[:2]) == {names[3], names[70]}


@pytest.fixture(scope="module")
def lone(programs: Catalogue) -> Catalogue:
    """The same tools, all of one program: its name, its category, its tags and much else stand in every one of them."""
    tools: dict[str, ToolEntry] = {}
    for name, entry in programs["tools"].items():
        own = f"kube_{name}"
        said = f"Run kube: {entry['tool']['description']}, for \u6587\u4ef6\u5185\u5bb9"
        tools[own] = {
            **entry,
            "tool": {**entry["tool"], "name": own, "description": said},
            "summary": said.partition(",")[0],
            "category": "ops",
            "cli": "ctl",
        }
    return {
        **programs,
        "categories": {"ops": {"module": "ops", "summary": "Operations", "tags": ["version control"]}},
        "clis": {"ctl": {"summary": "All of it", "tags": ["version control"]}},
        "tools": tools,
    }


@pytest.mark.parametrize(
    "query", ["kube", "ctl", "ops", "run", "json", "limit", "version control", "kube run", "\u6587\u4ef6\u5185\u5bb9"]
)
def test_a_word_that_every_tool_has_finds_every_tool(lone: Catalogue, make_index: MakeIndex, query: str) -> None:
    assert sorted(found(make_index(lone), query)) == sorted(lone["tools"])


def test_a_word_that_every_tool_has_counts_less_than_one_that_few_have(lone: Catalogue, make_index: MakeIndex) -> None:
    snapshots = {name for name in lone["tools"] if name.endswith("_snapshot")}

    assert set(found(make_index(lone), "kube ctl run json snapshot")[: len(snapshots)]) == snapshots


def test_every_name_of_a_lone_program_typed_with_spaces_comes_first(lone: Catalogue, make_index: MakeIndex) -> None:
    index = make_index(lone)

    assert [name for name in lone["tools"] if found(index, name.replace("_", " "))[0] != name] == []


@pytest.mark.parametrize("query", ["?", "...", "- _ -", "{}[]()", "!!!", "\u2026", "***", "--", '"', "\\"])
def test_punctuation_finds_nothing(programs: Catalogue, index: ToolIndex, desk: Any, query: str) -> None:
    assert found(index, query) == []
    assert desk(programs, "search-call").ask("search", query=query)["results"] == []
