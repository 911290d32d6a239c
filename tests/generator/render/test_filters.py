"""Free text comes out of each filter as it went in: parsed back by the reader of the place it stands in."""

from __future__ import annotations

import ast
import inspect
import json
import re
import tomllib
from xml.etree import ElementTree as ET

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from toolmason.clients import clients
from toolmason.model.json_text import to_json
from toolmason.model.python_text import docstring, escape_unprintable
from toolmason.pictures.labels import xml
from toolmason.render import filters

HOSTILE = [
    'ends with a quote"',
    'ends with three """',
    "a backslash \\",
    'backslash and quote \\"',
    "{{ name }} {% raw %}",
    "`code` and ``` fence",
    "two\nlines",
    "right\u202eto left",
    "emoji 🦉 and é",
    "a | pipe and <b>html</b>",
    "# heading",
    "--- \n---",
    "yes",
    "key: value",
    "# comment",
    "\x00\x07\x1b[31m",
    "\u2028\u2029\x85",
    "'single' and \"double\"",
    "${input:x} $ARGUMENTS !{rm}",
    "-->",
]
CODE = re.compile(r"(?<![`\\])(`+)(?!`).*?(?<!`)\1(?!`)")
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
no_surrogates = st.text(st.characters(codec="utf-8"))


@given(json_values)
def test_literal_reads_back_as_the_value(value: object) -> None:
    assert ast.literal_eval(filters.literal(value)) == value


@pytest.mark.parametrize("text", HOSTILE)
def test_docstring_of_hostile_text_reads_back(text: str) -> None:
    assert ast.literal_eval(docstring(text)) == text


@given(no_surrogates)
def test_docstring_reads_back_and_documents_a_function(text: str) -> None:
    source = f"def f():\n    {docstring(text)}\n"
    scope: dict[str, object] = {}
    exec(compile(source, "generated", "exec"), scope)
    assert ast.literal_eval(docstring(text)) == text
    assert inspect.isfunction(scope["f"])
    assert scope["f"].__doc__ == text


@given(no_surrogates)
def test_docstring_holds_no_character_that_cannot_be_seen(text: str) -> None:
    assert all(each.isprintable() or each == "\n" for each in docstring(text))


@given(no_surrogates)
def test_comment_stays_on_its_line(text: str) -> None:
    shown = filters.comment(text)
    assert shown.isprintable()
    assert ast.parse(f"# {shown}\nx = 1\n").body


@given(no_surrogates)
def test_xml_reads_back_as_the_visible_text(text: str) -> None:
    element = ET.fromstring(f'<a b="{xml(text)}">{xml(text)}</a>')
    assert (element.text or "") == escape_unprintable(text)
    assert element.get("b") == (element.text or "")


@pytest.mark.parametrize("text", HOSTILE)
def test_yaml_of_hostile_text_reads_back(text: str) -> None:
    assert yaml.safe_load(f"key: {filters.yaml(text)}\n") == {"key": text}


@given(st.text(st.characters(codec="utf-8")))
def test_yaml_reads_back_as_text(text: str) -> None:
    assert yaml.safe_load(f"key: {filters.yaml(text)}\n") == {"key": text}


@given(st.dictionaries(no_surrogates, no_surrogates, max_size=4))
def test_toml_reads_back_as_the_table(table: dict[str, str]) -> None:
    assert tomllib.loads(filters.toml(table)) == {key: text.replace("\r\n", "\n") for key, text in table.items()}


@given(json_values)
def test_json_reads_back_as_the_value_on_one_line(value: object) -> None:
    text = to_json(value)
    assert json.loads(text) == value
    assert len(text.splitlines()) == 1 or any(each in text for each in "\x85\x1c\x1d\x1e\x0b\x0c")
    assert "\n" not in text


@given(no_surrogates)
def test_cell_escapes_newlines_pipes_and_angle_brackets(text: str) -> None:
    shown = filters.cell(text)
    assert "\n" not in shown
    assert "|" not in shown.replace("\\|", "")
    assert "<" not in CODE.sub("", shown)


@given(no_surrogates)
def test_markdown_starts_no_heading_html_or_fence(text: str) -> None:
    for line in filters.markdown(text).splitlines():
        assert not line.lstrip().startswith(("# ", "## ", "```", "~~~", "---"))
        assert "<" not in CODE.sub("", line)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a <b> `c <d>` e", "a &lt;b> `c <d>` e"),
        ("`` a ` <b> ``<c>", "`` a ` <b> ``&lt;c>"),
        ("\\`<a>`", "\\`&lt;a>`"),
        ("`<a>", "`&lt;a>"),
        ("`<a>\n`", "`&lt;a>\n`"),
        ("``<a>`", "``&lt;a>`"),
    ],
)
def test_tags_are_escaped_outside_of_inline_code_and_shown_inside(text: str, shown: str) -> None:
    assert filters.markdown(text) == shown
    # A cell is one line, so that code which ends on the next line of a page ends within it.
    assert filters.cell(text) == (filters.one_line(text) if "\n" in text else shown)


@given(no_surrogates)
def test_code_is_fenced_by_more_backticks_than_it_holds(text: str) -> None:
    shown = filters.code(text)
    fence = len(shown) - len(shown.lstrip("`"))
    inner = shown[fence:-fence]
    assert "`" * fence not in inner.strip("`") or fence == 0
    assert shown.endswith("`" * fence)


LIVE = ["!", "`", "```", "@a.md", "$1", "$ARGUMENTS", " ", "\n", "\\", "a", "<", "# ", "~~~", "|"]


@given(text=st.lists(st.sampled_from(LIVE), max_size=9).map("".join))
def test_text_in_a_claude_code_skill_is_not_interpreted(text: str) -> None:
    skill = filters.markdown(filters.inert(text))
    live = clients()["claude-code"].live
    assert live is not None
    assert [*live.texts("run", skill), *live.texts("read", skill), *live.texts("replace", skill)] == []
    assert re.sub(r"\\", "", filters.inert(text)) == re.sub(r"\\", "", text)


def test_fenced_text_cannot_close_its_fence() -> None:
    assert filters.fenced("```\nx\n````", "md") == "`````md\n```\nx\n````\n`````"


def test_prompt_replaces_arguments_with_the_placeholder_of_the_host() -> None:
    assert filters.prompt("Find {arguments} {other}.", "$ARGUMENTS") == "Find $ARGUMENTS {other}."
