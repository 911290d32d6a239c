"""Each tool from its arguments to its result, with a model that says what it is told to say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from toolmason_runtime import ToolError
from toolmason_runtime.shared.tokens import estimate_tokens

from workbench_research.analysis.result import LONG_TEXT
from workbench_research.analysis.token_budget import CUT_MARK, RESULT_TOKENS

LEAST: dict[str, dict[str, Any]] = {
    "ask_gemini": {"prompt": "why?"},
    "analyze_codebase": {"focus_description": "errors"},
    "query_codebase": {"questions": ["one?", "two?"]},
    "find_code_by_intent": {"intent": "loads"},
    "trace_feature": {"feature": "loading"},
    "list_error_patterns": {"pattern_type": "error_handling"},
    "validate_against_codebase": {"spec_content": "Add a cache."},
    "check_consistency": {"focus": "all", "new_code_or_spec": "def Load(): ..."},
}
STRUCTURED = sorted(LEAST.keys() - {"ask_gemini", "analyze_codebase"})


def warned(result: dict[str, Any]) -> str:
    return "\n".join(result["meta"]["warnings"])


@pytest.mark.parametrize("tool", LEAST)
def test_every_result_has_the_same_envelope(tool: str, tools: Any) -> None:
    tools.warnings = ("the backend fell back",)
    result = tools.run(tool, "prose", **LEAST[tool])
    assert result["tool"] == tool
    assert result["model"] == "gemini-test"
    assert result["filesAccessed"] == ["src/app.py"]
    assert result["stats"] == {"tokensUsed": 1234, "toolCalls": 1, "latencyMs": 56}
    assert result["meta"]["projectRoot"] == str(tools.root)
    assert result["meta"]["warnings"][0] == "the backend fell back"


@pytest.mark.parametrize("tool", LEAST)
def test_text_that_is_in_no_form_comes_as_it_is(tool: str, tools: Any) -> None:
    text = "I could not do that.\n\n{not json}"
    result = tools.run(tool, text, **LEAST[tool])
    assert result[LONG_TEXT[tool]] == text
    assert tool not in STRUCTURED or "not in the requested form" in warned(result)


@pytest.mark.parametrize("tool", STRUCTURED)
@pytest.mark.parametrize("value", [None, 1, "text", [], {}, [None, 1, "x", [], {}], {"q1": 1, "testing": []}])
def test_members_of_the_wrong_type_are_left_out(tool: str, value: Any, tools: Any) -> None:
    keys = ("answers", "files", "steps", "patterns", "checks", "aspects", "summary", "dependencies")
    result = tools.run(tool, dict.fromkeys(keys, value), **LEAST[tool])
    assert result.get("verdict", "undetermined") == "undetermined"


@pytest.mark.parametrize("tool", LEAST)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(text=st.text())
def test_no_answer_breaks_a_tool(tool: str, text: str, tools: Any) -> None:
    for said in (
        text,
        f'{{"answers": {{"q1": "{text}',
        json.dumps({"files": [{"path": text, "parts": [{"lines": text}]}]}),
    ):
        tools.run(tool, said, **LEAST[tool])


@pytest.mark.parametrize("tool", LEAST)
def test_an_answer_that_rests_on_nothing_is_doubted(tool: str, tools: Any) -> None:
    tools.files, tools.tool_calls = (), 0
    arguments = LEAST[tool] | ({"include_codebase_context": True} if tool == "ask_gemini" else {})
    assert "the model read no file" in warned(tools.run(tool, "{}", **arguments))


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("ask_gemini", "prompt"),
        ("analyze_codebase", "focus_description"),
        ("find_code_by_intent", "intent"),
        ("trace_feature", "feature"),
        ("validate_against_codebase", "spec_content"),
        ("check_consistency", "new_code_or_spec"),
    ],
)
def test_a_blank_text_is_refused_before_anybody_is_asked(tool: str, name: str, tools: Any) -> None:
    with pytest.raises(ToolError, match=name) as failed:
        tools.run(tool, **LEAST[tool] | {name: " \n"})
    assert failed.value.code == "INVALID_ARGUMENT"
    assert tools.asked == []


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("query_codebase", "scope"),
        ("find_code_by_intent", "scope"),
        ("list_error_patterns", "directory"),
        ("check_consistency", "scope"),
        ("analyze_codebase", "directories"),
    ],
)
def test_a_scope_outside_is_refused_and_one_with_a_slash_is_fine(tool: str, name: str, tools: Any) -> None:
    with pytest.raises(ToolError) as failed:
        tools.run(tool, **LEAST[tool], **{name: "../proj-evil"})
    assert failed.value.code == "PATH_NOT_ALLOWED"
    assert tools.asked == []
    tools.run(tool, **LEAST[tool], **{name: "src/"})
    assert '- Look only below "src"' in tools.prompt


def test_files_read_outside_of_the_scope_are_named(tools: Any) -> None:
    tools.files = ("src/app.py", "tests/test_app.py")
    result = tools.run("query_codebase", **LEAST["query_codebase"], scope="src")
    assert "outside the scope: `tests/test_app.py`" in warned(result)


# --- ask_gemini, analyze_codebase


def test_a_temperature_is_accepted_with_a_warning(tools: Any) -> None:
    assert "temperature has no effect" in warned(tools.run("ask_gemini", "42", prompt="why?", temperature=0.2))
    assert warned(tools.run("ask_gemini", "42", prompt="why?")) == ""


def test_without_the_project_the_prompt_forbids_reading(tools: Any) -> None:
    tools.files, tools.tool_calls = (), 0
    result = tools.run("ask_gemini", "Use `src/new.py`.", prompt="why?")
    assert "Do not list, search or read files" in tools.prompt
    assert result["meta"]["warnings"] == []
    assert result["includeCodebaseContext"] is False


def test_an_analysis_comes_whole_and_its_invented_paths_are_named(tools: Any) -> None:
    text = "It starts in `src/app.py:4` and ends in `src/made/up.py`.\n" * 3
    result = tools.run("analyze_codebase", text, focus_description="flow")
    assert result["analysis"] == text
    assert "files that do not exist: `src/made/up.py`" in warned(result)


def test_an_empty_answer_has_a_warning(tools: Any) -> None:
    assert "is empty" in warned(tools.run("analyze_codebase", "", focus_description="flow"))


# --- query_codebase


def answered(*texts: str) -> dict[str, Any]:
    return {"answers": {f"q{number}": {"found": True, "answer": text} for number, text in enumerate(texts, 1)}}


def test_every_question_is_answered_in_its_place_by_its_label(tools: Any) -> None:
    said = {
        "answers": {
            "q3": {"found": False, "answer": "No cache; looked for `cache`."},
            "Q1": {"found": True, "answer": "load does.", "places": ["src/store.py:5-6", "src/none.py"]},
            "q9": {"answer": "Nobody asked."},
        }
    }
    result = tools.run("query_codebase", said, questions=["Who raises?", "Who logs?", "Is there a cache?"])
    first, second, third = result["answers"]
    assert first == {
        "number": 1,
        "question": "Who raises?",
        "status": "answered",
        "answer": "load does.",
        "references": [
            {"path": "src/store.py", "startLine": 5, "endLine": 6, "exists": True},
            {"path": "src/none.py", "exists": False, "note": "no such file"},
        ],
        "truncated": False,
    }
    assert (second["status"], second["answer"]) == ("missing", "")
    assert (third["status"], third["answer"]) == ("not_found", "No cache; looked for `cache`.")
    assert "question 2 of 3 was not answered" in warned(result)
    assert "1 answers of the model to unknown questions" in warned(result)
    assert "rawAnswer" not in result


@pytest.mark.parametrize(
    "said",
    [
        {"q1": "One.", "q2": {"answer": ["Two", "lines."]}},
        {"answers": [{"label": "q2", "answer": "Two\nlines."}, {"id": "q1", "answer": "One."}]},
    ],
    ids=["without the wrapper", "a list with labels"],
)
def test_other_forms_with_labels_are_understood(said: dict[str, Any], tools: Any) -> None:
    result = tools.run("query_codebase", said, questions=["one?", "two?"])
    assert [each["answer"] for each in result["answers"]] == ["One.", "Two\nlines."]


@pytest.mark.parametrize("value", [["One.", "Two."], [{"question": "two?", "answer": "x"}], {"1": "One."}, "One. Two."])
def test_answers_without_labels_are_given_to_no_question(value: Any, tools: Any) -> None:
    result = tools.run("query_codebase", {"answers": value}, questions=["one?", "two?"])
    assert {each["status"] for each in result["answers"]} == {"missing"}
    assert json.loads(result["rawAnswer"]) == {"answers": value}
    assert "see rawAnswer" in warned(result)


def test_a_long_answer_is_cut_to_its_budget_and_marked(tools: Any) -> None:
    said = answered("It opens the file and reads it. " * 200, "Short.")
    result = tools.run("query_codebase", said, questions=["one?", "two?"], max_tokens_per_answer=50)
    long, short = result["answers"]
    assert long["answer"].endswith(f". {CUT_MARK}")
    assert estimate_tokens(long["answer"]) <= 50
    assert (long["truncated"], short["truncated"], result["meta"]["truncated"]) == (True, False, True)
    assert "at most 50 tokens (about 37 words)" in tools.prompt


def test_ten_answers_share_the_budget_of_one_result(tools: Any) -> None:
    questions = [f"{number}?" for number in range(10)]
    result = tools.run(
        "query_codebase", answered(*["word " * 9000] * 10), questions=questions, max_tokens_per_answer=4000
    )
    assert sum(estimate_tokens(each["answer"]) for each in result["answers"]) <= RESULT_TOKENS
    assert "each answer was limited to 1200 tokens" in warned(result)


def test_an_answer_that_was_being_written_when_the_text_ended_is_marked(tools: Any) -> None:
    said = json.dumps(answered("Whole.", "This one is not whole"))[:-12]
    result = tools.run("query_codebase", said, questions=["one?", "two?", "three?"])
    assert [(each["status"], each["truncated"]) for each in result["answers"]] == [
        ("answered", False),
        ("answered", True),
        ("missing", False),
    ]
    assert "is incomplete" in warned(result)


@pytest.mark.parametrize("questions", [[], ["?"] * 11])
def test_one_to_ten_questions_are_taken(questions: list[str], tools: Any) -> None:
    with pytest.raises(ValidationError):
        tools.run("query_codebase", questions=questions)


@pytest.mark.parametrize("question", ["", "  ", "x" * 4001])
def test_an_invalid_question_is_named(question: str, tools: Any) -> None:
    with pytest.raises(ToolError, match="question 2") as failed:
        tools.run("query_codebase", questions=["one?", question])
    assert failed.value.code == "INVALID_ARGUMENT"
    assert tools.asked == []


@pytest.mark.parametrize("tokens", [0, 49, 4001])
def test_a_budget_has_bounds(tokens: int, tools: Any) -> None:
    with pytest.raises(ValidationError):
        tools.run("query_codebase", questions=["one?"], max_tokens_per_answer=tokens)


# --- find_code_by_intent


FOUND = {
    "summary": "The store does it.",
    "files": [
        {
            "path": "src/store.py",
            "relevance": "HIGH",
            "reason": "It loads.",
            "parts": [
                {"symbol": "load", "lines": "5-6", "does": "loads"},
                {"symbol": "load", "lines": "1-2", "does": "raises"},
            ],
        },
        {"path": "src/made_up.py", "reason": "It sounds right.", "parts": [{"symbol": "x", "lines": "1-2"}]},
        {"reason": "no path"},
    ],
}


def test_found_files_and_lines_are_looked_up(tools: Any) -> None:
    result = tools.run("find_code_by_intent", FOUND, intent="loads")
    real, made_up = result["files"]
    assert (real["exists"], real["relevance"]) == (True, "high")
    assert real["parts"][0] == {"symbol": "load", "does": "loads", "startLine": 5, "endLine": 6}
    assert real["parts"][1]["note"] == "`load` is not in these lines, but in line 5"
    assert (made_up["exists"], made_up["note"], made_up["relevance"]) == (False, "no such file", "medium")
    assert "1 entries of the model's answer without a file" in warned(result)
    assert "files that do not exist: `src/made_up.py`" in warned(result)


def test_snippets_are_read_from_the_files(tools: Any) -> None:
    result = tools.run("find_code_by_intent", FOUND, intent="loads", return_format="detailed_with_snippets")
    assert result["files"][0]["parts"][0]["snippet"] == "def load(key):\n    raise StoreError(key)"
    assert "snippet" not in result["files"][1]["parts"][0]


def test_no_more_files_come_than_were_asked_for(tools: Any) -> None:
    result = tools.run("find_code_by_intent", FOUND, intent="loads", max_files=1)
    assert [file["path"] for file in result["files"]] == ["src/store.py"]
    assert "the model named 2 files, but the limit is 1" in warned(result)


def test_a_result_is_smaller_than_the_limit_of_clients(tools: Any) -> None:
    (tools.root / "big.py").write_text("value = compute(1, 2, 3)  # and so on\n" * 500, encoding="utf-8")
    parts = [{"symbol": "compute", "lines": f"{start}-{start + 60}", "does": "x" * 900} for start in range(1, 200, 40)]
    said = {"files": [{"path": "big.py", "reason": "y" * 900, "parts": parts}] * 50}
    result = tools.run("find_code_by_intent", said, intent="x", return_format="detailed_with_snippets", max_files=50)
    assert 0 < len(result["files"]) < 50
    assert estimate_tokens(json.dumps(result["files"])) <= RESULT_TOKENS * 1.01
    assert result["meta"]["truncated"]
    assert "of 50 files are omitted" in warned(result)


# --- trace_feature


TRACE: dict[str, Any] = {
    "summary": "main loads.",
    "steps": [
        {"level": 1, "symbol": "main", "place": "src/app.py:4-5", "does": "asks the store"},
        {"level": "2", "symbol": "load", "place": "src/store.py:5", "does": "raises"},
        {"level": 5, "symbol": "deep", "does": "lies deep"},
        {"place": "src/app.py"},
    ],
    "dependencies": ["sqlite", 3],
    "data_flow": [{"data": "key: str", "from": "main", "to": "load", "change": "none"}, {"from": "main"}],
}


def test_a_feature_is_traced_in_order_down_to_the_depth_asked_for(tools: Any) -> None:
    result = tools.run("trace_feature", TRACE, feature="loading", max_depth=3)
    assert [(step["level"], step["symbol"]) for step in result["steps"]] == [(1, "main"), (2, "load")]
    assert result["steps"][0]["reference"] == {"path": "src/app.py", "startLine": 4, "endLine": 5, "exists": True}
    assert result["dependencies"] == ["sqlite"]
    assert "dataFlow" not in result
    assert "1 steps below max_depth" in warned(result)
    assert "1 empty steps of the model's answer" in warned(result)


def test_the_flow_of_data_comes_when_it_is_asked_for(tools: Any) -> None:
    result = tools.run("trace_feature", TRACE, feature="loading", include_data_flow=True)
    assert result["dataFlow"] == [{"data": "key: str", "source": "main", "target": "load", "change": "none"}]
    assert '"data_flow"' in tools.prompt


# --- list_error_patterns


PATTERNS: dict[str, Any] = {
    "summary": "Errors are raised.",
    "patterns": [
        {"name": "own type", "description": "d", "severity": "info", "places": ["src/store.py:1", "src/app.py:5"]},
        {"name": "swallowed", "description": "d", "severity": "critical", "places": ["src/app.py:4", "src/app.py:9"]},
        {"name": "unplaced", "severity": "odd"},
        {"description": "no name"},
    ],
}


@pytest.mark.parametrize(
    ("group_by", "groups"),
    [
        ("pattern", [("own type", 2), ("swallowed", 2), ("unplaced", 0)]),
        ("file", [("(no file named)", 0), ("src/app.py", 3), ("src/store.py", 1)]),
        ("severity", [("error", 2), ("info", 2)]),
    ],
)
def test_patterns_are_grouped_here_and_none_is_lost(group_by: str, groups: list[tuple[str, int]], tools: Any) -> None:
    result = tools.run("list_error_patterns", PATTERNS, pattern_type="error_handling", group_by=group_by)
    assert [(group["name"], group["count"]) for group in result["groups"]] == groups
    names = {pattern["name"] for group in result["groups"] for pattern in group["patterns"]}
    assert names == {"own type", "swallowed", "unplaced"}
    assert "1 patterns of the model's answer without a name" in warned(result)


@pytest.mark.parametrize("group_by", ["pattern", "file", "severity"])
def test_many_patterns_are_cut_and_not_lost_whole(group_by: str, tools: Any) -> None:
    places = [f"src/f{number}.py:1" for number in range(10)]
    said = {"patterns": [{"name": f"p{n}", "description": "word " * 150, "places": places} for n in range(100)]}
    result = tools.run("list_error_patterns", said, pattern_type="logging", group_by=group_by)
    assert result["groups"]
    assert estimate_tokens(json.dumps(result["groups"])) <= RESULT_TOKENS * 1.1
    assert result["meta"]["truncated"]


# --- validate_against_codebase


def checked(**checks: list[Any]) -> dict[str, Any]:
    return {"summary": "s", "checks": {name: {"issues": issues} for name, issues in checks.items()}}


NONE: dict[str, list[Any]] = {
    "missing_files": [],
    "undefined_dependencies": [],
    "pattern_violations": [],
    "completeness": [],
}


def issue(
    severity: str = "error", subject: str = "Cache", message: str = "is not there", **more: Any
) -> dict[str, Any]:
    return {"severity": severity, "subject": subject, "message": message, **more}


@pytest.mark.parametrize(
    ("checks", "verdict"),
    [
        (NONE, "valid"),
        (NONE | {"completeness": [issue("info")]}, "valid"),
        (NONE | {"completeness": [issue("warning")]}, "valid_with_warnings"),
        (NONE | {"completeness": [issue("medium")]}, "valid_with_warnings"),
        (NONE | {"completeness": ["no migration is planned"]}, "valid_with_warnings"),
        (NONE | {"completeness": [issue("blocker")]}, "invalid"),
        (NONE | {"missing_files": [issue(subject="src/app.py")]}, "valid"),
        (NONE | {"missing_files": [issue(subject="src/cache.py")]}, "invalid"),
        (NONE | {"completeness": [{"severity": "error"}]}, "undetermined"),
        ({"completeness": []}, "undetermined"),
        ({"completeness": [issue()]}, "invalid"),
    ],
)
def test_the_verdict_follows_from_the_issues(checks: dict[str, list[Any]], verdict: str, tools: Any) -> None:
    result = tools.run("validate_against_codebase", checked(**checks), spec_content="Add a cache.")
    assert result["verdict"] == verdict


def test_a_file_reported_as_missing_that_exists_is_corrected(tools: Any) -> None:
    said = checked(**NONE | {"missing_files": [issue(subject="`src/app.py`"), issue(subject="src/cache.py")]})
    result = tools.run("validate_against_codebase", said, spec_content="x")
    assert [each.get("refuted") for each in result["issues"]] == [True, None]
    assert result["counts"] == {"error": 1, "warning": 0, "info": 0}
    assert "reported `src/app.py` as missing, but it exists" in warned(result).replace("``", "`")


def test_a_check_fails_if_its_issues_contradict_its_verdict(tools: Any) -> None:
    missing = [issue(subject="src/app.py"), issue("info", "src/cache.py")]
    result = tools.run("validate_against_codebase", checked(**NONE | {"missing_files": missing}), spec_content="x")
    assert result["verdict"] == "valid"
    assert result["counts"] == {"error": 0, "warning": 0, "info": 1}
    assert result["checks"][0] == {"check": "missing_files", "status": "passed", "issues": 1}


def test_every_check_that_was_asked_for_has_an_outcome(tools: Any) -> None:
    places = ["src/store.py:5", "src/none.py:1"]
    said = checked(completeness=[issue("info", "tests"), issue("error", "errors", expected="say so", places=places)])
    result = tools.run(
        "validate_against_codebase", said, spec_content="x", validation_checks=["completeness", "missing_files"]
    )
    assert result["checks"] == [
        {"check": "completeness", "status": "failed", "issues": 2},
        {"check": "missing_files", "status": "not_answered", "issues": 0},
    ]
    worst = result["issues"][0]
    assert (worst["severity"], worst["check"], worst["expected"]) == ("error", "completeness", "say so")
    assert [each["exists"] for each in worst["evidence"]] == [True, False]
    assert "did not answer for missing_files" in warned(result)
    assert "undefined_dependencies" not in tools.prompt


def test_an_answer_that_ends_early_proves_nothing(tools: Any) -> None:
    said = json.dumps(checked(**NONE))[:-1]
    assert tools.run("validate_against_codebase", said, spec_content="x")["verdict"] == "undetermined"


@pytest.mark.parametrize(
    ("name", "hint"), [("missing_file", "did you mean `missing_files`"), ("spelling", "use one of")]
)
def test_an_unknown_check_is_refused_with_the_valid_names(name: str, hint: str, tools: Any) -> None:
    with pytest.raises(ToolError, match=hint) as failed:
        tools.run("validate_against_codebase", spec_content="x", validation_checks=[name])
    assert failed.value.code == "INVALID_ARGUMENT"
    assert tools.asked == []


# --- check_consistency


def test_departures_are_reported_with_the_conventions_they_depart_from(tools: Any) -> None:
    said = {
        "summary": "The name differs.",
        "aspects": {
            "naming_conventions": {
                "conventions": [
                    {"convention": "functions are snake_case", "mixed": False, "places": ["src/app.py:4"]},
                    {"convention": "", "places": []},
                ],
                "issues": [issue("warning", "Load", "is in capitals", expected="load", places=["src/store.py:5"])],
            }
        },
    }
    result = tools.run("check_consistency", said, focus="naming_conventions", new_code_or_spec="def Load(): ...")
    assert result["verdict"] == "inconsistent"
    assert result["issues"][0]["expected"] == "load"
    assert [each["convention"] for each in result["conventions"]] == ["functions are snake_case"]
    assert result["notAnswered"] == []


@pytest.mark.parametrize(
    ("aspects", "verdict"),
    [
        ({"testing": {"issues": []}}, "consistent"),
        ({"testing": {"issues": [issue("info")]}}, "consistent"),
        ({"testing": {}}, "undetermined"),
        ({}, "undetermined"),
    ],
)
def test_the_verdict_on_consistency_follows_from_the_issues(aspects: dict[str, Any], verdict: str, tools: Any) -> None:
    result = tools.run("check_consistency", {"aspects": aspects}, focus="testing", new_code_or_spec="x")
    assert result["verdict"] == verdict
    assert result["notAnswered"] == ([] if verdict == "consistent" else ["testing"])
