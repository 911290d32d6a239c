from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workbench_handlers.query.run import LARGE_BYTES, query
from workbench_handlers.workspace import worker_main
from workbench_handlers.workspace.open import existing


def jq(room: Any, text: str, expression: str, **more: Any) -> Any:
    room.write("a.json", text)
    return room.call("query_json", file_path="a.json", jq_expression=expression, **more)


def yq(room: Any, text: str, expression: str = ".", **more: Any) -> Any:
    room.write("a.yml", text)
    return room.call("query_yaml", file_path="a.yml", yq_expression=expression, **more)


@pytest.mark.parametrize(
    ("text", "expression", "expected"),
    [
        ('{"a": {"b": [1, 2]}}', ".a.b[]", "1\n2"),
        ('{"a": 1}', " ", '{"a":1}'),
        ('{"b": "é", "a": 1}', ". # with a comment", '{"b":"é","a":1}'),
        ('{"n": 100000000000000000000}', ".n", "100000000000000000000"),
        ('{"a": 1}\n{"a": 2}\n', ".a", "1\n2"),
        ("\ufeff[1]", ".[0]", "1"),
        ("{}", ".a", "null"),
        ("[]", ".[]", "[no results]"),
        ("", ".", "[no results]"),
        ("{}", "def f: 1; f, 2", "1\n2"),
        ('{"a": 1}', '.a | "is \\(.)"', '"is 1"'),
    ],
)
def test_results_come_as_json_one_a_line(room: Any, text: str, expression: str, expected: str) -> None:
    assert jq(room, text, expression).text == expected


@pytest.mark.parametrize(
    ("text", "expression", "message"),
    [
        ("{}", ".a b", "failed: jq: error: syntax error"),
        ("[1]", ".a", 'failed: Cannot index array with string ("a")'),
        ("{", ".", "`a.json` is not valid JSON"),
        ("{}", "input", "always empty"),
        ("{}", 'error("mine")', "failed: mine"),
        ("{}", ".\0", "NUL"),
    ],
)
def test_errors_of_a_query_are_reported(room: Any, text: str, expression: str, message: str) -> None:
    answer = jq(room, text, expression)
    assert answer.is_error
    assert message in answer.text


def test_the_environment_is_not_there(room: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "hunter2")
    assert jq(room, "{}", "env, $ENV").text == "{}\n{}"
    assert "hunter2" not in jq(room, "{}", "env.SECRET_KEY, $ENV.SECRET_KEY, (env | tostring)").text


@pytest.mark.parametrize(
    "expression",
    [
        'import "secret" as $d {search: "SEARCH"}; $d',
        'include "module" {search: "SEARCH"}; f',
        ' import "module" as m {search: "SEARCH"}; m::f',
        '# comment\nimport "secret" as $d {search: "SEARCH"}; $d',
        'module {}; import "secret" as $d {search: "SEARCH"}; $d',
        '.) | . ; import "secret" as $d {search: "SEARCH"}; ($d',
        '"SEARCH/module" | modulemeta',
        '"secret" | modulemeta',
        "input_filename // error",
        "get_search_list[]? // error",
        "$__prog_args",
    ],
)
def test_no_expression_reads_another_file(room: Any, expression: str) -> None:
    (room.outside / "secret.json").write_text('"the secret outside"', encoding="utf-8")
    (room.outside / "module.jq").write_text('def f: "the secret outside";', encoding="utf-8")
    answer = jq(room, "{}", expression.replace("SEARCH", str(room.outside)))
    assert answer.is_error
    assert "the secret outside" not in answer.text


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limits")
def test_the_child_that_runs_expressions_cannot_open_a_file(room: Any) -> None:
    text = f"""
import sys
sys.path.append({str(Path(worker_main.__file__).parent)!r})
import worker_main
worker_main.apply_sandbox(5)
open({str(room.outside / "secret.txt")!r})
"""
    ran = subprocess.run([sys.executable, "-I", "-c", text], capture_output=True, text=True, check=False)
    assert "Too many open files" in ran.stderr


def test_a_query_without_end_is_ended(room: Any) -> None:
    answer = jq(room, "{}", "last(repeat(1))", timeout=1)
    assert answer.is_error
    assert "timed out after 1 seconds" in answer.text


def test_results_without_end_are_cut(room: Any) -> None:
    lines = jq(room, "{}", "repeat(123456789)").text.splitlines()
    assert lines[0].startswith(f"[the first {len(lines) - 1} results, more exist; narrow the expression")
    assert set(lines[1:]) == {"123456789"}
    assert len(lines) > 1_000


def test_a_result_that_is_too_long_is_cut(room: Any) -> None:
    answer = jq(room, "{}", '"x" * 100000')
    first, _, shown = answer.text.partition("\n")
    assert first.startswith(f"[cut: the first {len(shown):,} characters of the first result; narrow the expression")
    assert 30_000 < len(shown) < 36_000


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux grants a limit of memory")
def test_a_query_that_wants_all_memory_is_ended(room: Any) -> None:
    answer = jq(room, "{}", '[range(40) | ("x" * 100000000) + tostring] | length')
    assert answer.is_error
    assert "memory or time limit" in answer.text


def test_a_query_refuses_binary_files_and_files_outside_the_roots(room: Any) -> None:
    room.write("a.bin", b"\0")
    assert "is a binary file" in room.call("query_json", file_path="a.bin", jq_expression=".").text
    (room.project / "out.json").symlink_to(room.outside / "secret.txt")
    assert "outside the allowed" in room.call("query_json", file_path="out.json", jq_expression=".").text


RECORDS = 120_000


@pytest.fixture(scope="module")
def large() -> str:
    """Return JSON larger than jq parses whole: a list of users, and something before and after it."""
    users = [{"id": number, "name": f"user {number}", "groups": [{"a": 1}], "é": "x" * 40} for number in range(RECORDS)]
    text = json.dumps({"before": {"b": 1}, "users": users, "after": [1, 2]}, ensure_ascii=False)
    assert len(text) > LARGE_BYTES
    return text


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("keys", '["after","before","users"]'),
        ("length", "3"),
        (".users | length", str(RECORDS)),
        (".users[100000].name", '"user 100000"'),
        (".users[5:7] | map(.id)", "[5,6]"),
        (".users[] | select(.id == 119999) | .groups[0].a", "1"),
        (".before, .after[0]", '{"b":1}\n1'),
        (".nothing", "null"),
        ('.users[3]["é"] | length', "40"),
    ],
)
def test_a_large_file_gives_the_same_results(room: Any, large: str, expression: str, expected: str) -> None:
    assert jq(room, large, expression, timeout=120).text == expected


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16"])
def test_a_large_file_may_have_another_encoding(room: Any, large: str, codec: str) -> None:
    room.write("b.json", large.encode(codec))
    answer = room.call("query_json", file_path="b.json", jq_expression='.users[7]["é"] | length', timeout=120)
    assert answer.text == "40"


def test_a_large_file_of_many_documents_is_read_one_by_one(room: Any) -> None:
    lines = "".join(f'{{"id": {number}, "text": "{"y" * 80}"}}\n' for number in range(100_000))
    assert jq(room, lines, "select(.id >= 99998) | .id", timeout=120).text == "99998\n99999"


@pytest.mark.parametrize(
    ("cut", "expression", "message"),
    [
        (0, ".users.a", 'failed: Cannot index array with string ("a")'),
        (0, ".after |", "syntax error"),
        (-2, ".after", "is not valid JSON: parse error"),
    ],
)
def test_mistakes_in_a_query_of_a_large_file_are_reported(
    room: Any, large: str, cut: int, expression: str, message: str
) -> None:
    answer = jq(room, large[: len(large) + cut], expression, timeout=120)
    assert answer.is_error
    assert message in answer.text


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux grants a limit of memory")
def test_a_large_value_that_needs_too_much_memory_is_refused_with_a_way_out(room: Any) -> None:
    with room.write("a.json", "[").open("a", encoding="utf-8") as stream:
        for _ in range(60):
            stream.write("[0,1,2,3]," * 200_000)
        stream.write("0]")
    answer = room.call("query_json", file_path="a.json", jq_expression="map(.[0]?)", timeout=120)
    assert answer.is_error
    assert "exceeded its memory or time limit" in answer.text
    assert "begin the expression with a path to smaller values, such as `keys`" in answer.text
    assert (
        room.call("query_json", file_path="a.json", jq_expression=".[0:2]", timeout=120).text == "[[0,1,2,3],[0,1,2,3]]"
    )


def test_a_cancelled_query_leaves_no_process_behind(room: Any, children: Any) -> None:
    async def cancel() -> None:
        running = asyncio.ensure_future(query(existing("a.json", room.roots), "last(repeat(1))", "json", 60))
        await children.some()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert not children.now()

    room.write("a.json", "{}")
    asyncio.run(cancel())


@pytest.mark.parametrize(
    ("text", "expression", "expected"),
    [
        ("on: push\nyes: no\n", ".on, .yes", '"push"\n"no"'),
        ("a: 2024-01-31\nb: 12:30:45\n", ".a, .b", '"2024-01-31"\n"12:30:45"'),
        ("a: 010\nb: 0o10\nc: 0x1F\nd: 1_000\n", "[.a, .b, .c, .d] | tojson", '"[10,8,31,\\"1_000\\"]"'),
        ("a: ~\nb:\nc: null\n", "[.[]]", "[null,null,null]"),
        ("a: .inf\nb: .nan\nc: 1e3\n", "[.b, .c, (.a > 1e308)]", "[null,1000,true]"),
        ("--- {a: 1}\n--- {a: 2}\n", ".a", "1\n2"),
        ("1: a\nfalse: b\n~: c\n", ".", '{"1":"a","false":"b","null":"c"}'),
        ("a: &x {b: 1}\nc: {<<: *x, d: 2}\n", ".c", '{"b":1,"d":2}'),
        ("a: !Ref b\nc: !Sub [d]\ne: !Map {f: 1}\n", ".", '{"a":"b","c":["d"],"e":{"f":1}}'),
        ("a: é\n", ".a", '"é"'),
        ("a: !!set {x, y}\n", ".a | length", "2"),
        ("a: !!timestamp 2024-01-31\n", ".a", '"2024-01-31"'),
        ("", ".", "[no results]"),
    ],
)
def test_yaml_is_read_as_version_1_2_has_it(room: Any, text: str, expression: str, expected: str) -> None:
    assert yq(room, text, expression).text == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "invalid YAML"),
        ("a: !!python/object/apply:os.system [echo]", "invalid YAML"),
        ("a: &a [*a]", "aliases expand to"),
        (
            "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)),
            "aliases expand to",
        ),
        ("[" * 3000, "nested deeper|invalid YAML"),
    ],
    ids=["broken", "python tag", "itself", "billion laughs", "deep"],
)
def test_yaml_that_is_wrong_or_harmful_is_refused(room: Any, text: str, message: str) -> None:
    answer = yq(room, text)
    assert answer.is_error
    assert any(part in answer.text for part in message.split("|"))


TEXT = st.text(alphabet="aé\n\t\"'{}[]:#- \U0001f600", max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=JSON)
def test_any_value_comes_back_as_it_was_through_both(room: Any, value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assert json.loads(jq(room, text, ".").text) == value
    assert json.loads(yq(room, text, ".").text) == value


def test_a_set_is_in_the_order_of_its_file(room: Any) -> None:
    assert yq(room, "!!set {zeta, alpha, 10, 9, mid: , null}").text == '["zeta","alpha",10,9,"mid",null]'
    refused = yq(room, "!!set [a, b]")
    assert refused.is_error
    assert "invalid YAML" in refused.text


@pytest.mark.parametrize(
    ("text", "expression", "expected"),
    [
        ('{\n  // one\n  "a": 1, /* two */\n}\n', ".a", "1"),
        ('{"a": [1, 2,], "b": {"c": 3,},}', ".a, .b", '[1,2]\n{"c":3}'),
        ('// head\n{"url": "https://example.org/*x*/", "t": ",]"}', ".url, .t", '"https://example.org/*x*/"\n",]"'),
        ('{"a": "\\"//", "b": 2} // "end', ".b", "2"),
        ('\ufeff/* a */ [1, // "x\r\n 2 , /* c */ ]', ".[]", "1\n2"),
        ('{"a": 1} // one\n{"a": 2} // two\n', ".a", "1\n2"),
        ('/* **/ {"a": 1}', ".a", "1"),
    ],
)
def test_json_with_comments_and_trailing_commas_is_read(room: Any, text: str, expression: str, expected: str) -> None:
    answer = jq(room, text, expression)

    assert (answer.text, answer.is_error) == (expected, False)


@pytest.mark.parametrize("text", ['{"a": 1,,}', "{a: 1} // x", "[1 2] // x", '{"a": 1} /* open', "[,]", '{"a" /**/ 1}'])
def test_other_mistakes_of_json_are_errors(room: Any, text: str) -> None:
    assert "is not valid JSON" in jq(room, text, ".").text


LARGE = 2**53 + 1


@pytest.mark.parametrize(
    ("text", "expression", "expected"),
    [
        (f'{{"id": {LARGE}}}', ".id", str(LARGE)),
        (f'{{"id": -{LARGE}}}', "{x: .id}", f'{{"x":-{LARGE}}}'),
        (f'[{{"id": {LARGE}}}, {{"id": {LARGE - 1}}}]', f".[] | select(.id == {LARGE}) | .id", str(LARGE)),
        (f"[{LARGE}, {LARGE - 1}]", "sort", f"[{LARGE - 1},{LARGE}]"),
        (f'[{{"id": {LARGE},}}] // comment', ".[0].id", str(LARGE)),
        (f'{{"id": "{LARGE}"}}', ".id | tonumber", str(LARGE)),
        ("1", f"{LARGE}", str(LARGE)),
        ('{"id": 123456789012345678901234567890}', ".id | tostring", '"123456789012345678901234567890"'),
        (f'{{"a": 1, "s": "{LARGE}1"}}', ".a + 1", "2"),
        (f"[{2**52}, {2**52}]", "add", str(2**53)),
        (f'[{{"id": {LARGE}, "n": 1}}]', ".[] | select(.n + 1 == 2) | .id", str(LARGE)),
        (f'[{LARGE}, "{LARGE}.0"]', ".[1], .[0]", f'"{LARGE}.0"\n{LARGE}'),
        (f"[{LARGE}]", '.[] | select(tostring | test("^[0-9]+$"))', str(LARGE)),
    ],
)
def test_integers_beyond_2_to_53_stay_exact(room: Any, text: str, expression: str, expected: str) -> None:
    assert jq(room, text, expression).text == expected


@pytest.mark.parametrize(
    "expression", [".id + 1", "[.id * 3]", "{x: (.id | floor)}", ".id - 2", "-.id - 10", "1, (.id + 0)"]
)
def test_integers_that_jq_cannot_calculate_exactly_are_refused(room: Any, expression: str) -> None:
    answer = jq(room, f'{{"id": {LARGE * 1000}}}', expression)

    assert answer.is_error
    assert "exact up to 2^53" in answer.text


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        (".a |", "    .a |"),
        (".[", "    .["),
        (".a )", "    .a )"),
        (".a ||b", "line 1, column 5:\n    .a ||b\n        ^"),
        (".a\n| foo(1)", "line 2, column 3:\n    | foo(1)"),
        ("if . then 1", "    if . then 1"),
        ('import "x" as y; .', "line 1, column 1:\n    import"),
        (".import | (", "    .import | ("),
        ("{a", "    {a"),
    ],
)
def test_a_syntax_error_shows_the_expression_as_it_was_sent(room: Any, expression: str, shown: str) -> None:
    answer = jq(room, "{}", expression)

    assert answer.is_error
    assert shown in answer.text
    assert "tojson" not in answer.text


@pytest.mark.parametrize(
    ("text", "expression", "expected"),
    [
        ('[project]\nname = "x"\ndependencies = ["a", "b"]\n', ".project.dependencies[]", '"a"\n"b"'),
        ("a = 1979-05-27T07:32:00Z\nb = 07:32:00\nc = 1979-05-27\n", "[.a, .b, .c]",
         '["1979-05-27T07:32:00+00:00","07:32:00","1979-05-27"]'),
        (f"id = {LARGE}\n", ".id", str(LARGE)),
        ("a = inf\nb = nan\nc = 1.5\n", "[.b, .c]", "[null,1.5]"),
        ("[[x]]\nn = 1\n[[x]]\nn = 2\r\n", "[.x[].n]", "[1,2]"),
        ("\ufeffa = 1\n", "keys", '["a"]'),
        ("", ".", "{}"),
    ],
)  # fmt: skip
def test_toml_is_queried_with_jq(room: Any, text: str, expression: str, expected: str) -> None:
    room.write("a.toml", text)

    assert room.call("query_toml", file_path="a.toml", jq_expression=expression).text == expected


def test_toml_errors_have_their_position(room: Any) -> None:
    room.write("a.toml", "a = 1\nb = \n")

    answer = room.call("query_toml", file_path="a.toml", jq_expression=".")

    assert answer.is_error
    assert "invalid TOML" in answer.text
    assert "line 2" in answer.text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((word, json.dumps(word)) for word in ("no", "NO", "on", "off", "yes", "y", "12:30:45", "1_000", "0b11")),
        *(("010", "10"), ("0o10", "8"), ("+1", "1"), ("1e3", "1000"), ("~", "null"), ("True", "true")),
        ("2001-01-01", '"2001-01-01"'),
    ],
)
def test_yaml_scalars_are_those_of_version_1_2(room: Any, value: str, expected: str) -> None:
    assert yq(room, f"a: {value}\n", ".a").text == expected


@pytest.mark.parametrize(("is_written", "count"), [(True, 1), (False, 0)])
def test_the_child_writes_byte_code_where_this_process_does(
    room: Any, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory, is_written: bool, count: int
) -> None:
    prefix = tmp_path_factory.mktemp("byte code")
    monkeypatch.setattr(sys, "pycache_prefix", str(prefix))
    monkeypatch.setattr(sys, "dont_write_bytecode", not is_written)

    assert jq(room, "{}", ".").text == "{}"
    assert len([*prefix.rglob("worker_main.*.pyc")]) == count
