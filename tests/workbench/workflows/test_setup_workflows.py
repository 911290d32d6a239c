"""`setup_workflows` in the generated server: names, places, existing files, refusals and the person's approval."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from workbench_handlers.workflows.data import SETUP_NAMES, hosts, workflows

BOTH = {"command_prefix": "", "workflow_prefix": ""}
"""Arguments for names without prefixes."""
OUTSIDE = "proj-evil/secret.txt"


def files_of(directory: Path) -> list[str]:
    """Return the files below a directory."""
    return sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file())


def pair(name: str, command: str = "") -> list[str]:
    """Return the paths of a workflow and its command for Claude Code."""
    return [f".claude/commands/{command or name}.md", f".claude/workflows/{name}.md"]


@pytest.mark.parametrize(
    ("environment", "arguments", "names"),
    [
        ({}, {}, ("gemini-spec-only", "gemini-spec-only")),
        ({"GEMINI_COMMAND_PREFIX": "c-", "GEMINI_WORKFLOW_PREFIX": "w-"}, {}, ("w-spec-only", "c-spec-only")),
        ({"GEMINI_COMMAND_PREFIX": "", "GEMINI_WORKFLOW_PREFIX": ""}, {}, ("spec-only", "spec-only")),
        (
            {"GEMINI_COMMAND_PREFIX": "c-"},
            {"command_prefix": "x_", "workflow_prefix": ""},
            ("spec-only", "x_spec-only"),
        ),
    ],
    ids=["default", "environment", "disabled", "arguments win"],
)
def test_names_carry_the_prefixes_of_the_call_or_the_environment(
    room: Any,
    person: Any,
    monkeypatch: pytest.MonkeyPatch,
    *,
    environment: dict[str, str],
    arguments: dict[str, str],
    names: tuple[str, str],
) -> None:
    workflow, command = names
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)

    answer = room.run("setup_workflows", client=person, **arguments).data

    assert answer == {
        "success": True,
        "workflows_created": [
            {
                "name": "spec-only",
                "prefixed_name": workflow,
                "workflow_path": f".claude/workflows/{workflow}.md",
                "command_path": f".claude/commands/{command}.md",
                "status": "created",
            }
        ],
        "skipped": [],
        "message": "Successfully set up 1 workflow(s) and 1 command(s)",
    }
    assert files_of(room.project) == pair(workflow, command)
    text = (room.project / f".claude/commands/{command}.md").read_text(encoding="utf-8")
    assert f"\n# /{command}\n" in text
    assert f"\n`/{command} <feature description>`\n" in text
    assert "{COMMAND_NAME}" not in text


@pytest.mark.parametrize(
    ("names", "created"),
    [
        (["all"], SETUP_NAMES),
        (["spec-only", "all"], SETUP_NAMES),
        (["review", "spec-only", "review"], ("review", "spec-only")),
        ([], ()),
    ],
    ids=["all", "all and one of them", "twice", "none"],
)
def test_each_selected_workflow_is_written_once(
    room: Any, person: Any, names: list[str], created: tuple[str, ...]
) -> None:
    answer = room.run("setup_workflows", client=person, workflows=names, **BOTH).data

    assert [entry["name"] for entry in answer["workflows_created"]] == list(created)
    assert files_of(room.project) == sorted(path for name in created for path in pair(name))
    assert answer["success"] is bool(created)
    assert len(person.asked) == bool(created), "one question for all files"


def test_workflow_and_command_have_their_sections(room: Any, person: Any) -> None:
    room.run("setup_workflows", client=person, **BOTH)

    command, workflow = ((room.project / path).read_text(encoding="utf-8") for path in pair("spec-only"))

    for heading in ("Usage", "Description", "Task", "Steps", "Examples", "Notes"):
        assert f"\n## {heading}\n" in command
    assert "\n$ARGUMENTS\n" in command
    assert "# Specification-Only Workflow\n" in workflow
    for part in ("## Purpose", "## Steps", "### 1. Gather facts", "`query_codebase`", "`validate_against_codebase`"):
        assert part in workflow


def test_unknown_workflow_is_skipped_with_the_reason_and_the_known_names(room: Any, person: Any) -> None:
    answer = room.run("setup_workflows", client=person, workflows=["../deploy", "review"]).data

    (skipped,) = answer["skipped"]
    assert skipped.keys() == {"name", "prefixed_name", "workflow_path", "command_path", "status", "reason"}
    assert skipped["name"] == "../deploy"
    assert skipped["reason"] == (
        "Unknown workflow type: ../deploy. Available: spec-only, feature, refactor, review, all"
    )
    assert answer["success"]
    assert files_of(room.project.parent) == sorted([*(f"proj/{path}" for path in pair("gemini-review")), OUTSIDE])

    answer = room.run("setup_workflows", client=person, workflows=["deploy"]).data
    assert (answer["success"], answer["message"]) == (False, "No workflows were created, skipped 1 item(s)")


def test_without_commands_only_workflows_are_written(room: Any, person: Any) -> None:
    answer = room.run("setup_workflows", client=person, include_commands=False, **BOTH).data

    assert files_of(room.project) == [".claude/workflows/spec-only.md"]
    assert "command_path" not in answer["workflows_created"][0]
    assert answer["message"] == "Successfully set up 1 workflow(s)"


def test_existing_files_stay_unless_they_are_overwritten(room: Any, person: Any) -> None:
    command, workflow = pair("spec-only")
    room.write(command, "my command\n")
    room.write(workflow, "my workflow\n")

    kept = room.run("setup_workflows", client=person, workflows=["spec-only", "feature"], **BOTH).data

    assert [entry["name"] for entry in kept["workflows_created"]] == ["feature"]
    assert kept["message"] == "Successfully set up 1 workflow(s) and 1 command(s), skipped 1 item(s)"
    assert kept["skipped"][0]["status"] == "skipped (already exists)"
    assert (room.project / command).read_text(encoding="utf-8") == "my command\n"
    assert (room.project / workflow).read_text(encoding="utf-8") == "my workflow\n"
    again = room.run("setup_workflows", client=person, workflows=["spec-only"], **BOTH).data
    assert (again["success"], again["workflows_created"]) == (False, [])

    replaced = room.run("setup_workflows", client=person, overwrite=True, **BOTH).data

    assert replaced["success"]
    assert "Written by workbench setup_workflows" in (room.project / command).read_text(encoding="utf-8")
    assert 'Replace "' in person.asked[-1]


@pytest.mark.parametrize(
    ("existing", "status", "message"),
    [
        (
            ".claude/commands/spec-only.md",
            "workflow created, command skipped (already exists)",
            "Successfully set up 1 workflow(s) and 0 command(s)",
        ),
        (
            ".claude/workflows/spec-only.md",
            "workflow skipped (already exists), command created",
            "Successfully set up 0 workflow(s) and 1 command(s)",
        ),
        (
            ".claude/commands",
            "workflow created, command failed: `.claude/commands` is a file, not a directory",
            "Successfully set up 1 workflow(s) and 0 command(s)",
        ),
    ],
    ids=["command", "workflow", "a file in place of the directory"],
)
def test_status_reports_each_file_on_its_own(room: Any, person: Any, existing: str, status: str, message: str) -> None:
    room.write(existing, "mine\n")

    answer = room.run("setup_workflows", client=person, **BOTH).data

    assert [entry["status"] for entry in answer["workflows_created"]] == [status]
    assert answer["message"] == message
    assert (room.project / existing).read_text(encoding="utf-8") == "mine\n"


@pytest.mark.parametrize("host", ["claude-code", "gemini-cli", "opencode", "cursor"])
def test_commands_are_written_where_each_client_reads_them(room: Any, person: Any, host: str) -> None:
    answer = room.run("setup_workflows", client=person, workflows=["all"], host=host, **BOTH).data

    facts = hosts()[host]
    assert [entry["command_path"] for entry in answer["workflows_created"]] == [
        facts.file.replace("{name}", name) for name in SETUP_NAMES
    ]
    directory = facts.file.split("/")[0]
    assert [entry["workflow_path"] for entry in answer["workflows_created"]] == [
        f"{directory}/workflows/{name}.md" for name in SETUP_NAMES
    ]
    for entry in answer["workflows_created"]:
        assert facts.arguments in (room.project / entry["command_path"]).read_text(encoding="utf-8")


def test_every_client_with_command_files_can_be_selected() -> None:
    from workbench_server.catalogue import CATALOGUE

    selectable = CATALOGUE["tools"]["setup_workflows"]["tool"]["inputSchema"]["properties"]["host"]["enum"]
    # The prompt files of VS Code are deprecated.
    assert set(selectable) == hosts().keys() - {"vscode"}
    assert workflows().keys() == {*SETUP_NAMES, "debug"}


@pytest.mark.parametrize(
    ("output_dir", "written"),
    [("", ""), ("sub/../", ""), ("sub", "sub/"), ("new/deeper", "new/deeper/")],
)
def test_output_directory_is_resolved_inside_the_project(room: Any, person: Any, output_dir: str, written: str) -> None:
    (room.project / "sub").mkdir()

    answer = room.run("setup_workflows", client=person, output_dir=output_dir, include_commands=False, **BOTH).data

    assert files_of(room.project) == [f"{written}.claude/workflows/spec-only.md"]
    assert answer["workflows_created"][0]["workflow_path"] == ".claude/workflows/spec-only.md"


@pytest.mark.parametrize("output_dir", ["..", "../proj-evil", "/", "link"])
def test_output_directory_outside_of_the_project_is_refused(room: Any, person: Any, output_dir: str) -> None:
    (room.project / "link").symlink_to(room.outside)

    answer = room.run("setup_workflows", client=person, output_dir=output_dir)

    assert answer.is_error
    assert "outside the allowed directories" in answer.text
    assert files_of(room.outside) == ["secret.txt"]
    assert person.asked == []


def test_link_in_place_of_a_directory_does_not_lead_outside(room: Any, person: Any) -> None:
    (room.project / ".claude").symlink_to(room.outside)

    answer = room.run("setup_workflows", client=person).data

    assert not answer["success"]
    assert "outside the allowed directories" in answer["skipped"][0]["reason"]
    assert files_of(room.outside) == ["secret.txt"]


def test_directories_of_the_environment_are_joined_to_the_output_directory(
    room: Any, person: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEFAULT_WORKFLOW_DIR", "custom/workflows")
    monkeypatch.setenv("DEFAULT_COMMAND_DIR", "./custom/commands")
    monkeypatch.setenv("DEFAULT_SPEC_DIR", "./design/specs")

    answer = room.run("setup_workflows", client=person, output_dir="sub", **BOTH).data

    assert files_of(room.project) == ["sub/custom/commands/spec-only.md", "sub/custom/workflows/spec-only.md"]
    assert answer["workflows_created"][0]["command_path"] == "custom/commands/spec-only.md"
    for path in files_of(room.project):
        text = (room.project / path).read_text(encoding="utf-8")
        assert "`design/specs/`" in text
        assert "`specs/`" not in text


def test_a_directory_with_quotes_leaves_a_command_of_gemini_cli_valid(
    room: Any, person: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEFAULT_SPEC_DIR", 'our """specs"""')

    answer = room.run("setup_workflows", client=person, host="gemini-cli", **BOTH).data

    path = room.project / answer["workflows_created"][0]["command_path"]
    assert '`our """specs"""/`' in tomllib.loads(path.read_text(encoding="utf-8"))["prompt"]


def test_absolute_directory_of_the_environment_may_be_outside_of_the_project(
    room: Any, person: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEFAULT_COMMAND_DIR", str(tmp_path / "owner" / "commands"))

    answer = room.run("setup_workflows", client=person, **BOTH).data

    assert answer["workflows_created"][0]["command_path"] == f"{tmp_path.as_posix()}/owner/commands/spec-only.md"
    assert files_of(tmp_path / "owner") == ["commands/spec-only.md"]
    refused = room.run("setup_workflows", client=person, output_dir=str(tmp_path / "owner"))
    assert "outside the allowed directories" in refused.text, "a model cannot select it"


@pytest.mark.parametrize("prefix", ["../", "a/b-", "a\\b-", "..", "-x", ".x", "a\nb", "\u202e", "x" * 200])
@pytest.mark.parametrize("from_environment", [False, True], ids=["argument", "environment"])
@pytest.mark.parametrize("kind", ["command", "workflow"])
def test_prefix_that_is_not_part_of_a_name_is_refused(
    room: Any, person: Any, monkeypatch: pytest.MonkeyPatch, prefix: str, kind: str, *, from_environment: bool
) -> None:
    source, arguments = f"{kind}_prefix", {f"{kind}_prefix": prefix}
    if from_environment:
        source, arguments = f"GEMINI_{kind.upper()}_PREFIX", {}
        monkeypatch.setenv(source, prefix)

    answer = room.run("setup_workflows", client=person, **arguments)

    assert answer.is_error
    assert answer.text.startswith(f"{source}: the prefix")
    assert files_of(room.project) == []


@pytest.mark.parametrize(
    ("prefix", "warning"),
    [("my team-", "contains a space"), ("a:b-", "special characters"), ("x" * 40 + "-", "has 41 characters")],
)
def test_unusual_prefix_is_used_with_a_warning(room: Any, person: Any, prefix: str, warning: str) -> None:
    answer = room.run("setup_workflows", client=person, command_prefix=prefix, workflow_prefix="").data

    assert files_of(room.project) == pair("spec-only", f"{prefix}spec-only")
    (text,) = answer["warnings"]
    assert warning in text


def test_prefix_without_a_separator_is_used_without_a_warning(room: Any, person: Any) -> None:
    answer = room.run("setup_workflows", client=person, command_prefix="gemini", workflow_prefix="").data

    assert files_of(room.project) == pair("spec-only", "geminispec-only")
    assert "warnings" not in answer


@pytest.mark.parametrize("action", ["decline", "cancel", None])
def test_nothing_is_written_without_approval(room: Any, person: Any, client: Any, action: str | None) -> None:
    person.action = action

    answer = room.run("setup_workflows", client=client if action is None else person)

    assert answer.is_error
    assert answer.text.startswith("Not run:")
    assert files_of(room.project) == []


def test_person_sees_every_path_and_is_not_asked_about_nothing(room: Any, person: Any) -> None:
    room.run("setup_workflows_tool", client=person, **BOTH)
    room.run("setup_workflows_tool", client=person, **BOTH)

    (question,) = person.asked
    assert question == (
        f'Write these 2 files?\n\nCreate "{room.project}/.claude/workflows/spec-only.md"\n'
        f'Create "{room.project}/.claude/commands/spec-only.md"\n\nThe content is packaged with the server.'
    )
