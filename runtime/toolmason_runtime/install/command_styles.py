"""Command files and skills for a server that runs in another discovery style than that of its manifest.

Generated files name the tools of the manifest's style, without a prefix. The texts of commands with placeholders are in
the catalogue, as prompts; in skills, the names in back-quotes become placeholders again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Final

from toolmason_runtime.install.errors import InstallError
from toolmason_runtime.shared import checksum
from toolmason_runtime.shared.built_in import BUILT_IN
from toolmason_runtime.shared.catalogue import Catalogue
from toolmason_runtime.shared.placeholders import (
    CALLING,
    DISCOVERY,
    META_TOOLS,
    TOOL,
    Placeholders,
    escape_placeholders,
    placeholders_in,
    placeholders_of,
)
from toolmason_runtime.shared.shown_names import ShownNames, meta_name
from toolmason_runtime.shared.styles import CLASSIC, STYLES

_ARGUMENTS: Final = "{arguments}"
_ALLOWED: Final = re.compile(r"^allowed-tools: .*$", re.MULTILINE)
"""The line of a command of Claude Code with the tools that run without a question."""
_CODE: Final = re.compile(r"`([^`\n]{1,100})`")
_OTHER_CALLS: Final = re.compile(
    r"(Call unlisted tools with `([^`\n]{1,200})`), but (?:(?!Call unlisted tools)[^.\n])*? with `\2`\."
)
"""The exception of `{calling:...}` in a style that calls all tools in the same way."""


def style_of(arguments: Sequence[str]) -> str:
    """Return the discovery style in the arguments of a server; empty without a valid one."""
    style = ""
    for index, argument in enumerate(arguments):
        if argument == "--classic":
            style = CLASSIC
        elif argument == "--discovery":
            style = next(iter(arguments[index + 1 : index + 2]), "")
        elif argument.startswith("--discovery="):
            style = argument.partition("=")[2]
    return style if style in STYLES else ""


def prefix_of(arguments: Sequence[str], catalogue: Catalogue) -> str:
    """Return the prefix of names that a server with these arguments has in a client that adds none."""
    prefix = catalogue["discovery"]["prefix"]
    for index, argument in enumerate(arguments):
        if argument == "--prefix":
            prefix = next(iter(arguments[index + 1 : index + 2]), prefix)
        elif argument.startswith("--prefix="):
            prefix = argument.partition("=")[2]
    return prefix


def load_catalogue_of(package: str) -> Catalogue:
    """Read the catalogue of a generated package."""
    catalogue: Catalogue = json.loads(files(package).joinpath("catalogue.json").read_text(encoding="utf-8"))
    return catalogue


def in_style(commands: Mapping[str, bytes], catalogue: Catalogue, style: str) -> dict[str, bytes]:
    """Return the content of each command file for a discovery style.

    Raises:
        InstallError: a template of the project has changed a file so that it does not contain the text of its prompt.
    """
    before, after = placeholders_of(catalogue), placeholders_of(catalogue, style)
    prompts = catalogue.get("prompts", {})
    texts = {name: entry["messages"][0]["text"] for name, entry in prompts.items() if "command" in entry}
    changed = {}
    for name, data in commands.items():
        command = name.partition(".")[0]
        text = texts.get(command, "").replace("{COMMAND_NAME}", command)
        content = _in_style(data.decode(), text, before, after)
        if content is None:
            raise InstallError(f"the command {name} cannot be written for the style {style}; leave --commands out")
        changed[name] = checksum.renewed(PurePosixPath(name), content.encode())
    return changed


def skills_with_names(skills: Mapping[str, bytes], catalogue: Catalogue, style: str, prefix: str) -> dict[str, bytes]:
    """Return the content of each skill with the names of tools in a discovery style, and with a prefix."""
    discovery = catalogue["discovery"]
    aliases = (alias for entry in catalogue["tools"].values() for alias in entry.get("aliases", ()))
    known = {*BUILT_IN, *catalogue["tools"], *aliases}
    metas = {name: meta_name(name, known, discovery["prefix"]) for name in STYLES[style or discovery["style"]].metas}
    names = ShownNames(prefix, known | {*metas.values()})
    before = placeholders_of(catalogue)
    after = placeholders_of(
        catalogue, style, meta_name=lambda name: names.shown(metas.get(name, name)), shown_name=names.shown
    )
    return {
        name: checksum.renewed(PurePosixPath(name), _renamed(data.decode(), known, before, after).encode())
        for name, data in skills.items()
    }


def _renamed(text: str, tools: Collection[str], before: Placeholders, after: Placeholders) -> str:
    text = escape_placeholders(text)
    if sentences := before.text_of(DISCOVERY):
        text = text.replace(sentences, f"{{{DISCOVERY}}}")
    tasks = {before.text_of(task): task for task in reversed(META_TOOLS)}

    def placeholder(match: re.Match[str]) -> str:
        name = match[1]
        task = tasks.get(name, f"{TOOL}{name}" if name in tools else "")
        return f"`{{{task}}}`" if task else match[0]

    return _OTHER_CALLS.sub(r"\1.", after.fill(_CODE.sub(placeholder, text)))


def _in_style(content: str, text: str, before: Placeholders, after: Placeholders) -> str | None:
    old, new = before.fill(text), after.fill(text)
    for escape in (str, _toml_text):
        parts = [re.escape(escape(part)) for part in old.split(_ARGUMENTS)]
        # The client's own placeholder is in the place of the arguments.
        if match := re.search("(.{1,100}?)".join(parts), content):
            shown = match[1] if match.lastindex else _ARGUMENTS
            filled = escape(new).replace(_ARGUMENTS, shown)
            return _with_allowed_tools(content.replace(match[0], filled, 1), text, before, after)
    return None


def _toml_text(text: str) -> str:
    """Return a text as it is in a multi-line string of TOML."""
    return text.replace("\\", "\\\\").replace('"""', '""\\"')


def _with_allowed_tools(content: str, text: str, before: Placeholders, after: Placeholders) -> str:
    """Return a file with the tools that are allowed in the other style."""
    callings = [name for name, _ in placeholders_in(text) if name.startswith(CALLING)]
    tools = callings[-1].removeprefix(CALLING).split(",") if callings else []
    names = before.needed_tools(tools)

    def replaced(match: re.Match[str]) -> str:
        # All names have the same beginning: that of the server.
        words = re.split(r"[,\s\"]+", match[0])
        start = next((word[: -len(name)] for word in words for name in names if word.endswith(f"__{name}")), "")
        return "allowed-tools: " + ", ".join(start + name for name in after.needed_tools(tools))

    return _ALLOWED.sub(replaced, content, count=1)
