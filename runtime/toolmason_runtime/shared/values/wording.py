"""Texts about invalid arguments, the same for tools and meta-tools."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from toolmason_runtime.shared.catalogue import DeprecationEntry
from toolmason_runtime.shared.suggestions import closest_match
from toolmason_runtime.shared.values.schema_text import describe_schema, shown, without_null

Path = tuple[str | int, ...]
"""Path of a value inside the arguments: `("files", 0, "path")`."""
GEMINI_EXTRA_ARGUMENT = "wait_for_previous"
"""An argument that Gemini CLI adds to every call and forwards to the server: dropped silently where undeclared."""


def required(path: Path, schema: Mapping[str, Any]) -> str:
    """Return the error for a missing argument, with its expected value."""
    schema = without_null(schema)
    expected = describe_schema(schema) + (" or null" if schema.get("nullable") else "")
    return f"{named(path)} is required{f': {expected}' if expected else ''}"


def mismatch(path: Path, schema: Mapping[str, Any], value: Any) -> str:
    """Return the error for an invalid argument, with the expected and the actual value; empty if any is valid."""
    expected = describe_schema(schema)
    return f"{named(path)} must be {expected}; got {shown(value)}" if expected else ""


def unknown(
    path: Path, valid_names: Sequence[str], *, right_name: str = "", used: Collection[str] = (), container: str = ""
) -> str:
    """Return the note on an ignored argument, with `right_name` or the closest of `valid_names`.

    Args:
        path: path of the argument.
        valid_names: names of the arguments beside it.
        right_name: the name that the model meant, if that is certain.
        used: names that are in the same call and are not suggested.
        container: the argument of a meta-tool that contains the arguments of a tool.
    """
    suggestion = right_name or closest_match(str(path[-1]), [name for name in valid_names if name not in used])
    hint = f"did you mean '{suggestion}'?" if suggestion else f"known are: {', '.join(valid_names) or 'none'}"
    if container and not suggestion:
        hint = f"arguments of the tool go into '{container}'"
    return f"Note: unknown argument '{_format_path(path)}' was ignored; {hint}"


def other_name(alias: str, name: str, *, is_used: bool) -> str:
    """Return the note on an argument that was sent under another of its names; it is ignored unless `is_used`."""
    if is_used:
        return f"Note: argument '{alias}' was taken as '{name}'"
    return f"Note: argument '{alias}' was ignored: it is another name of '{name}', which was sent too"


def too_long(path: Path, length: int) -> str:
    """Return the note on a text of which only the beginning was read."""
    return f"Note: only the first {length} characters of argument '{_format_path(path)}' were used"


def disabled(name: str) -> str:
    """Return the error for a call of a disabled tool."""
    return f"Tool {name} is disabled on this server"


def ended(name: str, deprecation: DeprecationEntry) -> str:
    """Return the error for a call of a deprecated tool after its last day."""
    return f"Tool {name} {_removal(deprecation)}"


def ended_argument(name: str, deprecation: DeprecationEntry) -> str:
    """Return the error for a deprecated argument after its last day."""
    return f"{named((name,))} {_removal(deprecation)}"


def deprecated_argument(name: str, deprecation: DeprecationEntry) -> str:
    """Return the note on a deprecated argument."""
    return f"Note: argument '{name}' is deprecated: {deprecation_text(deprecation)}"


def deprecation_text(deprecation: DeprecationEntry) -> str:
    """Return the version of the deprecation, the last day, the replacement and the author's message."""
    since = f"since {deprecation['since']}" if deprecation["since"] else "deprecated"
    until = f"works until {deprecation['until']}" if "until" in deprecation else ""
    instead = f"use `{deprecation['replaced_by']}`" if deprecation["replaced_by"] else ""
    return "; ".join(part for part in (since, until, instead, deprecation["message"]) if part)


def _removal(deprecation: DeprecationEntry) -> str:
    instead = f": use `{deprecation['replaced_by']}`" if deprecation["replaced_by"] else ""
    message = f". {deprecation['message']}" if deprecation["message"] else ""
    return f"was removed after {deprecation['until']}{instead}{message}"


def call_text(name: str, arguments: Mapping[str, Any]) -> str:
    """Return a call as text: `fetch_chunk(cacheKey="cache_1", chunkIndex=2)`."""
    texts = (f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in arguments.items())
    return f"{name}({', '.join(texts)})"


def call_json(name: str, arguments: Mapping[str, Any]) -> str:
    """Return a call as name and JSON: `fetch_chunk {"cacheKey": "cache_1", "chunkIndex": 2}`."""
    return f"{name} {json.dumps(arguments, ensure_ascii=False)}"


def named(path: Path) -> str:
    """Return the subject of a sentence about the argument at `path`: `Argument 'files[0].path'`."""
    return f"Argument '{_format_path(path)}'" if path else "The arguments"


def _format_path(path: Path) -> str:
    """Return a path as text: `files[0].path`."""
    steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return steps.removeprefix(".")
