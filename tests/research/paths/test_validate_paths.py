"""Whether paths may be read is answered one by one as the specification has it; which directory a question is about."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime import ToolCall

from workbench_handlers.state import workspace
from workbench_research.paths import project_root, validate_paths


@dataclass
class Params:
    paths: list[str] = field(default_factory=list)


def call_over(client: Any, *roots: Path) -> ToolCall:
    return ToolCall("validate_paths", client, (workspace([str(root) for root in roots]),))


def check(room: Any, client: Any, *paths: str) -> list[dict[str, Any]]:
    answer = asyncio.run(validate_paths(Params(list(paths)), call_over(client, room.project)))
    assert answer["tool"] == "validate_paths"
    results: list[dict[str, Any]] = answer["results"]
    assert [result["input"] for result in results] == list(paths)
    return results


def test_the_answer_is_that_of_the_specification(room: Any, client: Any) -> None:
    room.write("src/auth.ts", "")
    inside, outside = check(room, client, "src/auth.ts", "../../../../../../../../../../etc/passwd")
    assert inside == {
        "input": "src/auth.ts",
        "resolved": str(room.project / "src" / "auth.ts"),
        "exists": True,
        "allowed": True,
    }
    assert outside == {
        "input": "../../../../../../../../../../etc/passwd",
        "resolved": "/etc/passwd",
        "exists": True,
        "allowed": False,
        "reason": "Path is outside project root",
    }


def test_of_what_is_outside_nothing_but_its_existence_is_told(room: Any, client: Any) -> None:
    there, missing = check(room, client, "../proj-evil/secret.txt", "../proj-evil/secret.tx")
    assert (there["exists"], missing["exists"]) == (True, False)
    assert not there["allowed"]
    assert not missing["allowed"]
    assert there["reason"] == missing["reason"]
    assert there.keys() == {"input", "resolved", "exists", "allowed", "reason"}


@pytest.mark.parametrize("path", ["", " ", "\t\n", "@", "@ ", '""', "a\0b", "\ud800"])
def test_an_invalid_path_is_missing_and_not_allowed(room: Any, client: Any, path: str) -> None:
    (result,) = check(room, client, path)
    if path == '""':  # a name like any other, and nothing is called so
        assert (result["exists"], result["allowed"]) == (False, True)
        return
    assert (result["exists"], result["allowed"]) == (False, False)
    assert result["reason"]


@pytest.mark.parametrize(
    "written",
    [
        "a b.txt",
        "@a b.txt",
        '@"a b.txt"',
        "@'a b.txt'",
        r"@a\ b.txt",
        " @a b.txt ",
        "./a b.txt",
        "@./a b.txt",
        '"a b.txt"',
    ],
)
def test_a_path_may_be_written_as_a_prompt_refers_to_it(room: Any, client: Any, written: str) -> None:
    room.write("a b.txt", "")
    (result,) = check(room, client, written)
    assert (result["exists"], result["allowed"]) == (True, True)
    assert result["resolved"] == str(room.project / "a b.txt")


def test_a_name_that_begins_with_an_at_sign_is_found_as_it_is(room: Any, client: Any) -> None:
    room.write("@types/x.d.ts", "")
    (result,) = check(room, client, "@types/x.d.ts")
    assert result["resolved"] == str(room.project / "@types" / "x.d.ts")
    assert result["exists"]


@pytest.mark.parametrize(
    "written", ["link.txt", "@link.txt", "directory/secret.txt", '@"../proj-evil/secret.txt"', "@~/x"]
)
def test_a_path_that_leaves_the_root_by_a_link_or_reference_is_not_allowed(
    room: Any, client: Any, written: str
) -> None:
    (room.project / "link.txt").symlink_to(room.outside / "secret.txt")
    (room.project / "directory").symlink_to(room.outside)
    (result,) = check(room, client, written)
    assert not result["allowed"]
    assert result["reason"] == "Path is outside project root"


def test_a_missing_path_gets_the_names_that_are_near(room: Any, client: Any) -> None:
    room.write("src/auth.ts", "")
    (result,) = check(room, client, "@src/auht.ts")
    assert (result["exists"], result["allowed"]) == (False, True)
    assert "did you mean `src/auth.ts`?" in result["reason"]


def test_links_in_a_circle_or_without_end_are_not_allowed(room: Any, client: Any) -> None:
    (room.project / "loop").symlink_to("loop")
    previous = "a.txt"
    for number in range(1500):
        (room.project / f"{number}").symlink_to(previous)
        previous = f"{number}"
    circle, chain = check(room, client, "@loop", "@1499")
    assert (circle["allowed"], circle["reason"]) == (False, "Path is a loop of symbolic links")
    assert (chain["allowed"], chain["reason"]) == (False, "the path is a chain of too many links")


def test_similar_names_are_looked_for_only_a_few_times(room: Any, client: Any) -> None:
    room.write("name.txt", "")
    results = check(room, client, *(f"nam{number}.txt" for number in range(7)))
    assert ["did you mean" in result["reason"] for result in results] == [True] * 5 + [False] * 2


def test_a_path_in_another_root_is_allowed_but_no_prompt_can_refer_to_it(room: Any, client: Any) -> None:
    call = call_over(client, room.project, room.outside)
    answer = asyncio.run(validate_paths(Params([str(room.outside / "secret.txt")]), call))
    (result,) = answer["results"]
    assert (result["exists"], result["allowed"]) == (True, True)
    assert "prompts cannot refer to it" in result["reason"]


@given(paths=st.lists(st.text(st.sampled_from("@\"'\\ ./~ab\n\0"), max_size=8), max_size=4))
def test_whatever_is_asked_what_is_allowed_leads_into_the_root(
    paths: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.getbasetemp() / "any"
    root.mkdir(exist_ok=True)
    (root / "a").touch()
    answer = asyncio.run(validate_paths(Params(paths), call_over(None, root)))
    for path, result in zip(paths, answer["results"], strict=True):
        assert result["input"] == path
        assert not result["allowed"] or Path(result["resolved"]).is_relative_to(root.resolve())
        assert result["allowed"] or result["reason"]
        assert path.replace("@", "", 1).strip() or not result["allowed"]


def test_a_question_is_about_the_root_that_holds_its_path_or_else_about_the_first(room: Any, client: Any) -> None:
    inner = room.project / "inner"
    inner.mkdir()
    call = call_over(client, room.project, room.outside, inner)

    def about(path: str) -> Path:
        return asyncio.run(project_root(call, path)).path

    assert about("") == room.project
    assert about("missing.py") == room.project
    assert about("in\0valid") == room.project
    assert about(str(room.outside / "secret.txt")) == room.outside
    assert about("secret.txt") == room.outside
    assert about(str(inner / "x.py")) == inner
    assert about("/etc/passwd") == room.project
