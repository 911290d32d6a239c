from __future__ import annotations

from dataclasses import fields

import pytest
from toolmason_runtime.protocol.catalogue import Catalogue
from toolmason_runtime.protocol.registry import (
    ParameterSpec,
    ToolExample,
    ToolMetadata,
    get_tool_metadata,
    list_all_tools,
    type_text,
)


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (
            ToolMetadata,
            "name summary category description parameters examples related_tools enabled deprecated deprecated_message",
        ),
        (ParameterSpec, "type description required default enum"),
        (ToolExample, "description invocation expected_output"),
    ],
)
def test_req_015_3_dataclasses_have_the_fields_listed(kind: type[ToolMetadata], names: str) -> None:
    assert [field.name for field in fields(kind)] == names.split()


def test_req_015_3_all_tools_have_complete_metadata(catalogue: Catalogue) -> None:
    tools = list_all_tools(catalogue)

    assert [tool.name for tool in tools] == list(catalogue["tools"])
    assert all(tool.summary and tool.category and tool.description for tool in tools)


def test_req_015_3_summaries_have_at_most_80_characters(catalogue: Catalogue) -> None:
    assert max(len(tool.summary) for tool in list_all_tools(catalogue)) <= 80


def test_req_015_3_examples_are_syntactically_valid(catalogue: Catalogue) -> None:
    for tool in list_all_tools(catalogue):
        for example in tool.examples:
            compile(example.invocation, tool.name, "eval")


def test_tools_are_listed_by_category(catalogue: Catalogue) -> None:
    assert [tool.name for tool in list_all_tools(catalogue, category="messages")] == [
        "send_email",
        "purge_mailbox",
        "fax",
    ]
    assert list_all_tools(catalogue, category="nonexistent") == []


def test_parameters_come_from_the_schema(catalogue: Catalogue) -> None:
    tool = get_tool_metadata(catalogue, "create_issue")

    assert tool is not None
    assert tool.parameters["title"] == ParameterSpec("string", "One line", required=True)
    assert tool.parameters["labels"].type == "array"
    assert tool.parameters["priority"].enum == ["low", "normal", "high"]
    log = get_tool_metadata(catalogue, "git_log")
    assert log is not None
    assert log.parameters["limit"].default == 20
    assert not log.parameters["limit"].required


def test_an_unknown_tool_has_no_metadata_and_an_alias_has_its_tools(catalogue: Catalogue) -> None:
    assert get_tool_metadata(catalogue, "nonexistent") is None
    tool = get_tool_metadata(catalogue, "findFiles")
    assert tool is not None
    assert tool.name == "search_files"


def test_metadata_contains_deprecation_and_availability(catalogue: Catalogue) -> None:
    old, off = get_tool_metadata(catalogue, "find_issue"), get_tool_metadata(catalogue, "fax")

    assert old is not None
    assert off is not None
    assert old.deprecated
    assert old.deprecated_message == "since 2.0; use `list_issues`; Goes in 3.0."
    assert old.enabled
    assert not off.enabled
    assert off.deprecated_message is None


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, "string"),
        ({"type": ["string", "null"]}, "string | null"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "string | integer"),
        ({}, "any"),
        (True, "any"),
    ],
)
def test_types_are_named_for_any_schema(schema: object, expected: str) -> None:
    assert type_text(schema) == expected
