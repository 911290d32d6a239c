"""The form of command files for each client, and text that no client may run."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime import ToolError

from workbench_handlers.workflows.command_file import (
    GENERATE_COMMAND,
    GENERATE_WORKFLOW,
    SETUP,
    check_visible,
    command_file,
    command_text,
    is_ours,
    workflow_file,
)
from workbench_handlers.workflows.data import Host, custom_command, hosts, workflows

visible_lines = st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"]), min_size=1)
visible_text = st.lists(visible_lines, min_size=1).map("\n".join)
each_host = pytest.mark.parametrize("key", sorted(hosts()))


def inert(host: Host) -> Host:
    """Return a client that runs nothing."""
    return Host(host.file, host.form, host.hint_key, host.arguments, ())


def parsed(form: str, content: str) -> tuple[dict[str, Any], str]:
    """Return the fields of a command file and its prompt, as the client reads them."""
    if form == "toml":
        table = tomllib.loads(content)
        return table, table["prompt"]
    if form == "plain":
        return {}, content.partition("-->\n\n")[2]
    _, front, prompt = content.split("---\n", 2)
    return yaml.safe_load(front), prompt.removeprefix("\n")


@each_host
@given(text=visible_text, description=visible_lines, hint=visible_lines)
def test_any_text_reaches_each_client_unchanged(key: str, text: str, description: str, hint: str) -> None:
    host = inert(hosts()[key])

    content = command_file(host, text, tool=SETUP, description=description, argument_hint=hint)

    fields, prompt = parsed(host.form, content)
    assert prompt == text.replace("{arguments}", host.arguments)
    assert fields.get("description", description) == description
    assert fields.get("argument-hint", hint) == hint
    assert is_ours(content)
    assert is_ours(content.replace("\n", "\r\n"))


@each_host
@pytest.mark.parametrize("name", sorted(workflows()))
def test_packaged_commands_have_no_text_that_a_client_runs(key: str, name: str) -> None:
    workflow, host = workflows()[name], hosts()[key]
    text = command_text(workflow.command, name=f"x-{name}", description=workflow.description)

    content = command_file(host, text, tool=SETUP, description=workflow.summary, argument_hint=workflow.argument_hint)

    _, prompt = parsed(host.form, content)
    assert prompt.startswith(f"# /x-{name}\n")
    assert prompt.count(host.arguments) == 1
    assert not {"{COMMAND_NAME}", "{DESCRIPTION}", "{arguments}"} & set(prompt.split())


@pytest.mark.parametrize(
    ("key", "text", "shown"),
    [
        ("claude-code", "first !`rm -rf .`", "!`rm -rf .`"),
        ("claude-code", "first !`true\nrm -rf .`", "!`true\nrm -rf .`"),
        ("claude-code", "first\ufeff!`rm -rf .`", "!`rm -rf .`"),
        ("claude-code", "use \\\\$1", "\\\\$1"),
        ("claude-code", "read @~/.ssh/id_rsa", "@~/.ssh/id_rsa"),
        ("claude-code", "use $1", "$1"),
        ("gemini-cli", "run !{id}", "!{id}"),
        ("gemini-cli", "read @{secrets}", "@{secrets}"),
        ("gemini-cli", "use {{args}}", "{{args}}"),
        ("opencode", "run !`id`", "!`id`"),
        ("opencode", "see @src/app.py", "@src/app.py"),
        ("opencode", "$ARGUMENTS", "$ARGUMENTS"),
    ],
)
def test_text_that_a_client_would_run_is_refused_for_that_client(key: str, text: str, shown: str) -> None:
    with pytest.raises(ToolError) as caught:
        command_file(hosts()[key], text, tool=SETUP, description="d", argument_hint="")

    assert f"`{shown}`" in caught.value.message
    assert caught.value.code == "LIVE_SYNTAX"
    assert text in command_file(hosts()["cursor"], text, tool=SETUP, description="d", argument_hint="")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"---\n# Written by workbench {SETUP}\ndescription: x\n---\n", True),
        (f"# Written by workbench {GENERATE_COMMAND}\n", True),
        (workflow_file("# A", tool=SETUP), True),
        (workflow_file("# A", tool=GENERATE_WORKFLOW), False),
        (f"\n# Written by workbench {SETUP}\n", False),
        (f"---\ndescription: x\n# Written by workbench {SETUP}\n---\n", False),
        (f"# Written by workbench {SETUP} and me\n", False),
        ("", False),
    ],
)
def test_only_files_with_the_marker_at_their_start_are_recognized(text: str, *, expected: bool) -> None:
    assert is_ours(text) is expected


@given(st.text(), st.text(), st.text())
def test_values_are_inserted_once_and_never_read_as_places(name: str, description: str, steps: str) -> None:
    text = command_text("{COMMAND_NAME}|{DESCRIPTION}|{STEPS}|", name=name, description=description, steps=steps)

    assert text == f"{name}|{description}|{steps}|".strip("\n") + "\n"
    assert "{STEPS}" in custom_command()


@pytest.mark.parametrize("character", ["\0", "\x1b", "\x7f", "\u200b", "\u202e", "\u2028", "\U000e0041", "\n"])
def test_invisible_characters_are_refused_by_name(character: str) -> None:
    with pytest.raises(ToolError, match=rf"^`description` contains the invisible character U\+{ord(character):04X}"):
        check_visible("description", f"a{character}b")
