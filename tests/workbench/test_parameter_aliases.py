"""A parameter under the name that a similar tool has narrows a call as under its own name, with a note."""

from __future__ import annotations

from typing import Any

import pytest
from workbench_room import Room


@pytest.mark.usefixtures("calm", "project")
@pytest.mark.parametrize(
    ("tool", "sent", "own"),
    [
        ("grep_content", {"pattern": ".", "path": "docs"}, {"pattern": ".", "search_path": "docs"}),
        ("git_diff", {"path": "docs"}, {"paths": ["docs"]}),
        ("git_status", {"path": "docs"}, {"paths": ["docs"]}),
        ("git_log", {"path": "docs", "ref": "HEAD"}, {"paths": ["docs"], "revision": "HEAD"}),
        ("git_show", {"revision": "topic", "path": "docs"}, {"object": "topic", "paths": ["docs"]}),
        ("get_file_info", {"file_path": "docs/guide.md"}, {"path": "docs/guide.md"}),
        ("query_json", {"path": "a.json", "query": ".a"}, {"file_path": "a.json", "jq_expression": ".a"}),
        ("query_yaml", {"path": "a.json", "filter": ".a"}, {"file_path": "a.json", "yq_expression": ".a"}),
    ],
)
def test_the_name_of_a_similar_tool_is_taken(room: Room, tool: str, sent: dict[str, Any], own: dict[str, Any]) -> None:
    room.write("a.json", '{"a": 1}')
    room.write("app.py", "changed\n")
    room.write("docs/guide.md", "changed\n")

    answer, expected = room.call(tool, **sent), room.call(tool, **own)

    assert not answer.is_error
    text = "\n".join(line for line in answer.text.splitlines() if " was taken as " not in line)
    assert text == expected.text.removesuffix("\n")
    for name in sent.keys() - own.keys():
        assert f"Note: argument '{name}' was taken as '" in answer.text


@pytest.mark.usefixtures("calm", "project")
def test_a_path_under_another_name_is_checked(room: Room) -> None:
    answer = room.call("git_diff", path="../proj-evil")

    assert answer.is_error
    assert "outside the allowed directories" in answer.text
