"""Names of methods and arguments from any text: those of other scripts stay readable, and each is an identifier."""

from __future__ import annotations

import keyword

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmason.render.typed_clients.names import camel, class_name, method_name, snake
from toolmason.render.typed_clients.tools import method_names, typed_client


@pytest.mark.parametrize(
    ("text", "python", "typescript", "type_name"),
    [
        ("показать-файл", "показать_файл", "показатьФайл", "ПоказатьФайл"),
        ("Größe_ändern", "grosse_andern", "grosseAndern", "GrosseAndern"),
        ("検索", "検索", "検索", "検索"),
        ("검색/목록", "검색_목록", "검색목록", "검색목록"),
        ("βρες", "βρες", "βρες", "Βρες"),
        ("חיפוש", "חיפוש", "חיפוש", "חיפוש"),
        ("żółty.løs", "zolty_los", "zoltyLos", "ZoltyLos"),
        ("☃", "tool", "tool", "Tool"),
        ("show²", "show2", "show2", "Show2"),
    ],
)
def test_names_of_other_scripts_stay_readable(text: str, python: str, typescript: str, type_name: str) -> None:
    assert method_name(text) == python
    assert camel(text, "tool") == typescript
    assert class_name(text, "Tool") == type_name


def test_a_further_tool_changes_no_other_method() -> None:
    assert method_names(["имя", "файл"])["файл"] == method_names(["файл"])["файл"]


def test_packages_have_names_that_registries_allow() -> None:
    client = typed_client((), name="сервер", source="a test")

    assert client.distribution.isascii()


@given(st.text(max_size=12))
def test_every_text_becomes_an_identifier(text: str) -> None:
    names = [snake(text, "value"), method_name(text), camel(text, "tool"), class_name(text, "Tool")]

    assert all(map(str.isidentifier, names)), names
    assert not any(map(keyword.iskeyword, (names[0], names[1], names[3])))
