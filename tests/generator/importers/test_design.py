"""The design pass of `import server` and `import python`: names, texts and token budget, before and after."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_regressions.file_regression import FileRegressionFixture
from toolmason_runtime.programs.access import SANDBOX

from toolmason.commands import toolmason
from toolmason.importers.design.texts import lead_of, summary_from
from toolmason.importers.design.tool_names import NamedTool, designed_names
from toolmason.importers.design.words import MAX_LENGTH
from toolmason.importers.names import is_reserved
from toolmason.importers.server.arguments import designed_arguments
from toolmason.importers.server.schemas import without_texts

FIXTURES = Path(__file__).parent / "fixtures"


def run(project: Path, *arguments: str | Path) -> Result:
    with contextlib.chdir(project):
        return CliRunner().invoke(toolmason, list(map(str, arguments)))


def listing(project: Path) -> list[str]:
    """Return the command line of a server that lists awkward tools; it has the same words in each project."""
    for name in ("listing_server.py", "awkward_tools.json"):
        shutil.copy(FIXTURES / name, project)
    return ["python3", "listing_server.py", "awkward_tools.json", "starts.log"]


OPTIONS = pytest.mark.parametrize(
    "options", [[], ["--max-tokens", "300"], ["--all-params"]], ids=["default", "small", "all"]
)


@OPTIONS
def test_a_server_gives_its_committed_manifest(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_regression: FileRegressionFixture
) -> None:
    monkeypatch.setenv(SANDBOX, "off")  # the server writes a log

    result = run(tmp_path, "import", "server", "-o", "manifest/orders.toml", *options, "--", *listing(tmp_path))

    assert result.exit_code == 0, result.output
    files = [tmp_path / "manifest" / "orders.toml", *sorted(tmp_path.glob("manifest/*/*.json"))]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    file_regression.check(f"{text}\n{comments(result.stderr)}", encoding="utf-8", extension=".toml", newline="")


@OPTIONS
def test_a_module_gives_its_committed_manifest(
    options: list[str], tmp_path: Path, file_regression: FileRegressionFixture
) -> None:
    (tmp_path / "handlers").mkdir()
    shutil.copy(FIXTURES / "modules" / "awkward.py", tmp_path / "handlers")

    result = run(tmp_path, "import", "python", "awkward", *options)

    assert result.exit_code == 0, result.output
    manifest = (tmp_path / "manifest" / "awkward.toml").read_text(encoding="utf-8")
    file_regression.check(f"{manifest}\n{comments(result.stderr)}", encoding="utf-8", extension=".toml", newline="")


def call(project: Path, tool: str, **arguments: Any) -> str:
    command = [sys.executable, "-m", "toolmason", "call", tool, json.dumps(arguments)]
    result = subprocess.run(command, cwd=project, capture_output=True, encoding="utf-8", check=False, timeout=300)
    return (result.stdout + result.stderr).strip()


def test_the_server_gets_its_own_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SANDBOX, "off")
    manifest = tmp_path / "manifest" / "orders.toml"
    assert run(tmp_path, "import", "server", "-o", manifest, "--", *listing(tmp_path)).exit_code == 0
    hints = "hints = { read_only = true, destructive = false, idempotent = true, open_world = false }"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(f"{text}\n[upstreams.orders.defaults]\n{hints}\n", encoding="utf-8")
    generated = run(tmp_path, "generate")
    assert generated.exit_code == 0, generated.output
    assert "9 tools of upstreams: no changes" in run(tmp_path, "check", "--upstreams").stdout

    assert '["get-order", {"orderId": "7"}]' in call(tmp_path, "get-order", orderId="7")
    assert '["查询库存", {"货号": "7"}]' in call(tmp_path, "query_stock", argument_value="7")
    arguments = {"DateSent<": "2026-01-01", "date_sent": "2026-01-02", "filter[state][eq]": "new", "pageSize": 3}
    sent = {"DateSent": "2026-01-02", "DateSent<": "2026-01-01", "filter[state][eq]": "new", "pageSize": 3}
    assert json.dumps(["filter_messages", sent]) in call(tmp_path, "filter_messages", **arguments)


def test_functions_get_their_own_names_and_hidden_parameters_their_defaults(tmp_path: Path) -> None:
    (tmp_path / "handlers").mkdir()
    shutil.copy(FIXTURES / "modules" / "awkward.py", tmp_path / "handlers")
    assert run(tmp_path, "import", "python", "awkward", "--max-tokens", "100").exit_code == 0
    generated = run(tmp_path, "generate")
    assert generated.exit_code == 0, generated.output

    messages = {"result": ["2026-01-01", "None", "3"]}
    assert json.loads(call(tmp_path, "list_messages", **{"from": "2026-01-01", "grosse": 3})) == messages
    assert json.dumps(messages, separators=(",", ":")) in call(tmp_path, "list_messages", from_="2026-01-01", größe=3)
    assert call(tmp_path, "getOrder", id="7").startswith("7")
    parcel = {"weight": 2, "kind": "tube"}
    assert call(tmp_path, "create_shipment", order_id="7", parcel=parcel, dispatch_note="x") == "7 2 tube x"
    assert "Argument 'parcel.kind' is invalid" in call(
        tmp_path, "create_shipment", order_id="7", parcel={"weight": 2, "kind": "bag"}, dispatch_note="x"
    )


# Names


def names(*tools: str | NamedTool, server: str = "shop", prefix: str = "") -> list[str]:
    named = [NamedTool(tool) if isinstance(tool, str) else tool for tool in tools]
    return [designed.name for designed in designed_names(named, server, prefix)]


@pytest.mark.parametrize(
    ("original", "name"),
    [
        *[
            (same, same)
            for same in ("add", "list_lists", "create_blog_post", "iso_27001_check", "browser_click", "tabs")
        ],
        *[("getSum", "get_sum"), ("get-sum", "get_sum"), ("notes.list", "notes_list"), ("Get Weather", "get_weather")],
        *[("XMLHttpRequest", "xml_http_request"), ("_private", "private"), ("größe/neu", "grosse_neu")],
        *[("search_search_books", "search_books"), ("get_weather_get_weather", "get_weather")],
        *[("search", "search_shop"), ("call", "call_shop"), ("search_search", "search_shop"), ("2nd", "tool_2nd")],
        ("read_item_items__item_id__get", "read_item"),
        ("list_orders_orders_get", "list_orders"),
        ("create_user_api_v1_users_post", "create_user"),
        ("get_user_by_user_id_get", "get_user"),
        ("print_letter_letters__letter_id__print_post", "print_letter"),
        ("retrieve_the_configuration_of_the_application_environment", "retrieve_config_of_app_env"),
        ("list_all_the_orders_of_one_customer_with_their_addresses", "list_all_orders_of_one_customer"),
        ("查询", "tool"),
    ],
)
def test_a_clear_name_stays_and_another_becomes_verb_and_object(original: str, name: str) -> None:
    assert names(original) == [name]


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        (["get-note", "getNote", "get_note"], ["get_note_2", "get_note_3", "get_note"]),
        (["API-post-search", "API-post-page", "API-get-self"], ["search_shop", "create_page", "get_self"]),
        (["api_key", "list"], ["api_key", "list"]),
        ([NamedTool("search", "Search Books")], ["search_books"]),
        (
            [NamedTool("查询", "Query stock"), NamedTool("获取", "", "Get the price of a book.")],
            ["query_stock", "get_price"],
        ),
    ],
)
def test_names_of_several_tools(tools: list[str | NamedTool], expected: list[str]) -> None:
    assert names(*tools) == expected


def test_a_prefix_frees_reserved_names_and_counts() -> None:
    assert names("search", "x" * 90, prefix="notes_") == ["notes_search", f"notes_{'x' * 34}"]


@settings(deadline=None)
@given(st.lists(st.text(alphabet="aAbzé_-.1 查", max_size=70).map(lambda text: f"{text}x"), max_size=6, unique=True))
def test_names_are_valid_unique_and_short_and_former_names_lead_to_one_tool(originals: list[str]) -> None:
    result = designed_names(list(map(NamedTool, originals)), "shop")

    callable_names = [name for designed in result for name in (designed.name, *designed.aliases)]
    assert len(set(callable_names)) == len(callable_names)
    for designed in result:
        assert re.fullmatch(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*", designed.name)
        assert len(designed.name) <= MAX_LENGTH
        assert not is_reserved(designed.name)


# Arguments

LONG = "The words of this description are many. " * 8
SCHEMAS = st.sampled_from(
    [
        {"type": "string", "description": LONG},
        {"type": "integer"},
        {"type": "object", "properties": {f"p{n}": {"type": "string", "description": LONG} for n in range(5)}},
        True,
    ]
)


@settings(deadline=None)
@given(st.dictionaries(st.text(alphabet="ab<>[]_ $é名", min_size=1, max_size=6), SCHEMAS, max_size=12), st.data())
def test_required_arguments_are_shown_and_each_argument_has_one_name(
    properties: dict[str, Any], data: st.DataObject
) -> None:
    required = [name for name in properties if data.draw(st.booleans())]
    schema = {"type": "object", "properties": properties, "required": required}

    designed = designed_arguments(schema, 300, "")

    assert without_texts(designed.schema) == without_texts(schema)
    assert not set(designed.hidden) & set(required)
    shown = [designed.renamed.get(name, name) for name in properties if name not in designed.hidden]
    assert len(set(shown)) == len(shown)
    aliases = [alias for change in designed.table.values() for alias in change.get("aliases", ())]
    assert not set(aliases) & set(shown)
    is_smallest = set(designed.hidden) == properties.keys() - set(required)
    assert designed.tokens <= 300 or is_smallest


@pytest.mark.parametrize(
    "rule", [{"oneOf": [{"required": ["a<"]}]}, {"dependentRequired": {"a<": ["b"]}}, {"minProperties": 1}]
)
def test_arguments_that_other_rules_name_stay(rule: dict[str, Any]) -> None:
    properties = {"a<": {"type": "string"}, **{f"b{n}": {"type": "string", "description": LONG} for n in range(60)}}
    designed = designed_arguments({"type": "object", "properties": properties, **rule}, 300, "")

    assert (designed.table, designed.is_shortened) == ({}, True)
    assert designed.tokens > 300


# Texts


@pytest.mark.parametrize(
    ("text", "lead"),
    [
        ("Notion | Create a page\nError Responses:\n400: Bad request", "Create a page"),
        ("[Notion] Create a page", "Create a page"),
        ("Notion: Create a page", "Create a page"),
        ("Notion pages can be created.", "Notion pages can be created."),
        ("Create a page\nin a workspace.\n\nMore.", "Create a page\nin a workspace."),
        ("Create a page\n- of text\n- of images", "Create a page"),
        ("Create a page\n1. Choose a parent", "Create a page"),
        ("# Create a page\nText.", "# Create a page"),
        ("Notion:", "Notion:"),
    ],
)
def test_the_lead_of_a_text_ends_before_lists_and_begins_after_the_server(text: str, lead: str) -> None:
    assert lead_of(text, "Notion") == lead


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        (
            "Read the most relevant in-body (full-text) passages of ONE specific paper for a question.",
            "Read the most relevant in-body passages of ONE specific paper for a question",
        ),
        (
            "Drop files or MIME-typed data onto an element, as if dragged from outside the page that is open.",
            "Drop files or MIME-typed data onto an element",
        ),
    ],
)
def test_a_long_sentence_becomes_a_summary_of_whole_parts(text: str, summary: str) -> None:
    assert summary_from(text) == summary


def comments(text: str) -> str:
    return "".join(f"# {line}\n" for line in text.splitlines())
