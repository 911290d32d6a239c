"""`generate_slash_command` in the generated server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

CUSTOM = {"workflow_type": "custom", "description": "Deploy it", "steps": ["Build", "Test\nall of it", "Deploy"]}
TOOL = "generate_slash_command"


def test_custom_command_has_its_steps_and_the_prefix_everywhere(room: Any, person: Any) -> None:
    answer = room.run(TOOL, client=person, command_name="deploy", prefix="prod-", **CUSTOM).data

    content = (room.project / ".claude/commands/prod-deploy.md").read_text(encoding="utf-8")
    assert answer == {
        "command_path": ".claude/commands/prod-deploy.md",
        "command_content": content,
        "usage_example": "/prod-deploy <arguments>",
        "prefixed_name": "prod-deploy",
        "base_name": "deploy",
    }
    assert content == (
        "---\n# Written by workbench generate_slash_command\n"
        'description: "Deploy it"\nargument-hint: "<arguments>"\n---\n\n'
        "# /prod-deploy\n\n## Usage\n\n`/prod-deploy <arguments>`\n\n## Description\n\nDeploy it\n\n"
        "## Task\n\n$ARGUMENTS\n\n## Steps\n\n1. Build\n2. Test\n   all of it\n3. Deploy\n"
    )
    assert content in person.asked[0], "the person sees the whole text"


@pytest.mark.parametrize("kind", ["feature", "refactor", "debug", "review"])
@pytest.mark.parametrize("prefix", ["gemini-", "", "team_"])
def test_packaged_steps_carry_the_callers_description(room: Any, person: Any, kind: str, prefix: str) -> None:
    arguments = {} if prefix == "gemini-" else {"prefix": prefix}

    answer = room.run(
        TOOL, client=person, command_name="work", workflow_type=kind, description="Do *it*: {STEPS}", **arguments
    ).data

    content = answer["command_content"]
    assert answer["prefixed_name"] == f"{prefix}work"
    assert answer["usage_example"].startswith(f"/{prefix}work ")
    assert f"# /{prefix}work\n" in content
    assert "## Description\n\nDo *it*: {STEPS}\n" in content
    assert "1. **" in content


def test_text_after_the_command_is_available_in_steps(room: Any, person: Any) -> None:
    steps = ["Write the changelog of {arguments}"]

    answer = room.run(TOOL, client=person, command_name="release", host="gemini-cli", **{**CUSTOM, "steps": steps}).data

    assert answer["command_path"] == ".gemini/commands/gemini-release.toml"
    assert "1. Write the changelog of {{args}}\n" in answer["command_content"]


def test_file_is_saved_where_the_caller_wants_it(room: Any, person: Any) -> None:
    path = str(room.project / "made" / "deploy.md")

    answer = room.run(TOOL, client=person, command_name="deploy", save_to=path, **CUSTOM).data

    assert answer["command_path"] == path
    assert Path(path).read_text(encoding="utf-8") == answer["command_content"]


def test_absolute_directory_of_the_owner_receives_commands(
    room: Any, person: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEFAULT_COMMAND_DIR", str(tmp_path / "owner" / "commands"))

    answer = room.run(TOOL, client=person, command_name="build", prefix="mcp-", **CUSTOM).data

    assert answer["command_path"].endswith("owner/commands/mcp-build.md")
    assert Path(answer["command_path"]).is_file()


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        ({"steps": None}, "`steps` is required for workflow_type `custom`: send the steps in order"),
        ({"steps": ["ok", " "]}, "`steps[1]` must not be blank"),
        ({"steps": ["a\x1b[2J"]}, "`steps[0]` contains the invisible character U+001B"),
        ({"steps": ["x" * 2001]}, "split it"),
        ({"steps": ["show !`id`"]}, "describe it in words; `{arguments}` stands for the text after the command"),
        ({"workflow_type": "debug"}, "`steps` belongs to workflow_type `custom`"),
        ({"workflow_type": "deploy"}, "workflow_type"),
        ({"description": "two\nlines"}, "invisible character U+000A"),
        ({"command_name": "../up"}, "command_name"),
        ({"command_name": "a b"}, "command_name"),
        ({"prefix": "a/"}, "prefix: the prefix `a/` contains `/`"),
        ({"save_to": "Makefile"}, "`save_to` must end with `.md`"),
        ({"save_to": "../proj-evil/x.md"}, "outside the allowed directories"),
        ({"save_to": ".git/hooks/x.md"}, "internal files of a git repository"),
        ({"save_to": "mine.md"}, "exists; nothing was written: choose another name, or set overwrite"),
    ],
)
def test_refused_command_writes_nothing_and_reports_a_fix(
    room: Any, person: Any, arguments: dict[str, Any], advice: str
) -> None:
    mine = room.write("mine.md", "mine\n")

    sent = {"command_name": "deploy", **CUSTOM, **arguments}
    answer = room.run(TOOL, client=person, **{key: value for key, value in sent.items() if value is not None})

    assert answer.is_error
    assert advice in answer.text
    assert list(room.project.rglob("*")) == [mine]
    assert mine.read_text(encoding="utf-8") == "mine\n"
    assert person.asked == []


def test_existing_command_is_replaced_on_request(room: Any, person: Any) -> None:
    room.write(".claude/commands/gemini-deploy.md", "mine\n")

    answer = room.run("generate_slash_command_tool", client=person, command_name="deploy", overwrite=True, **CUSTOM)

    assert not answer.is_error
    assert "Deploy it" in (room.project / ".claude/commands/gemini-deploy.md").read_text(encoding="utf-8")


def test_declined_command_is_not_written(room: Any, person: Any) -> None:
    person.action = "decline"

    assert room.run(TOOL, client=person, command_name="deploy", **CUSTOM).text.startswith("Not run: the user declined")
    assert list(room.project.iterdir()) == []
