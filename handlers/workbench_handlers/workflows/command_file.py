"""The text of a command or workflow file, in the form of each client.

The files belong to the user. Their first comment names the tool that wrote them, so that they can be recognized.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Final

from toolmason_runtime import ToolError

from workbench_handlers.workflows.data import Host, hosts, workflows
from workbench_handlers.workflows.settings import with_directories

SETUP: Final = "setup_workflows"
GENERATE_COMMAND: Final = "generate_slash_command"
GENERATE_WORKFLOW: Final = "generate_feature_workflow"

_OURS: Final = re.compile(rf"(?:---\n)?(?:# |<!-- )Written by workbench (?:{SETUP}|{GENERATE_COMMAND})(?: -->)?\n")
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories of characters that a person does not see."""
_PLACE: Final = re.compile(r"\{(COMMAND_NAME|DESCRIPTION|STEPS)\}")


def is_ours(text: str) -> bool:
    """Return whether one of these tools wrote a command or workflow file."""
    return _OURS.match(text.replace("\r\n", "\n")) is not None


def command_text(template: str, *, name: str, description: str, steps: str = "") -> str:
    """Return the text of a command, in which `{arguments}` stands for the user's text."""
    values = {"COMMAND_NAME": name, "DESCRIPTION": description, "STEPS": steps}
    return _PLACE.sub(lambda match: values[match[1]], template).strip("\n") + "\n"


def command_file(host: Host, text: str, *, tool: str, description: str, argument_hint: str) -> str:
    """Return the content of a command file.

    Raises:
        ToolError: the client would run, read or replace a part of `text` when the command is used.
    """
    _check_inert(host, text)
    marker = f"Written by workbench {tool}"
    text = text.replace("{arguments}", host.arguments)
    if host.form == "plain":
        return f"<!-- {marker} -->\n\n{text}"
    if host.form == "toml":
        return f'# {marker}\ndescription = {_quoted(description)}\nprompt = """\n{_multi_line(text)}"""\n'
    hint = f"{host.hint_key}: {_quoted(argument_hint)}\n" if host.hint_key and argument_hint else ""
    return f"---\n# {marker}\ndescription: {_quoted(description)}\n{hint}---\n\n{text}"


def setup_command(name: str, prefix: str, host: Host, style: str = "") -> str:
    """Return the command file of a packaged workflow for a discovery style; empty for the default one.

    Raises:
        ToolError: the client would run, read or replace a part of it.
    """
    workflow = workflows(style)[name]
    text = command_text(workflow.command, name=f"{prefix}{name}", description=workflow.description)
    return command_file(
        host,
        with_directories(text),
        tool=SETUP,
        description=workflow.summary,
        argument_hint=workflow.argument_hint,
    )


def workflow_file(text: str, *, tool: str) -> str:
    """Return the content of a workflow file."""
    body = text.strip("\n")
    return f"<!-- Written by workbench {tool} -->\n\n{body}\n"


def check_visible(parameter: str, text: str, *, allowed: str = "") -> None:
    """Refuse text with invisible characters, except those in `allowed`, and blank text: a person must see all of it.

    Raises:
        ToolError: the text is blank or has such a character.
    """
    if not text.strip():
        raise ToolError(f"`{parameter}` must not be blank", code="INVALID_ARGUMENT")
    for character in text:
        if unicodedata.category(character) in _INVISIBLE and character not in allowed:
            message = f"`{parameter}` contains the invisible character U+{ord(character):04X}: remove it"
            raise ToolError(message, code="INVALID_ARGUMENT")


def check_runs_nothing(text: str) -> None:
    """Refuse the text of a workflow that a client would run if it were saved as a command.

    Raises:
        ToolError: the text contains a command.
    """
    for host in hosts().values():
        if host.run and (match := re.search(host.run, text)):
            message = (
                f"nothing was written: the workflow contains `{match[0]}`, which some clients run in a command. "
                "Describe commands in words or in code blocks"
            )
            raise ToolError(message, code="LIVE_SYNTAX")


def _check_inert(host: Host, text: str) -> None:
    for pattern in host.live:
        if pattern and (match := re.search(pattern, text)):
            message = (
                f"the client would run, read or replace `{match[0]}` when the command is used: describe it in words; "
                "`{arguments}` stands for the text after the command"
            )
            raise ToolError(message, code="LIVE_SYNTAX")


def _quoted(text: str) -> str:
    """Return a string that is valid in YAML and in TOML. Invisible characters are refused before."""
    return json.dumps(text, ensure_ascii=False)


def _multi_line(text: str) -> str:
    return "\n".join(_quoted(line)[1:-1] for line in text.split("\n"))
