"""The tables of imported tools: names, texts, hints and schemas."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final

from toolmason_runtime.shared.placeholders import escape_texts
from toolmason_runtime.shared.specs.pins import pin_of
from toolmason_runtime.shared.suggestions import did_you_mean
from toolmason_runtime.shared.toml.problems import quoted

from toolmason.importers.design.texts import (
    MAX_DESCRIPTION,
    clean_text,
    lead_of,
    shortened_text,
    summary_from,
)
from toolmason.importers.design.tool_names import DesignedName
from toolmason.importers.design.words import is_other_script
from toolmason.importers.names import (
    MAX_DESCRIPTION_LENGTH,
    cut,
    one_line,
    strip_full_stop,
)
from toolmason.importers.notes import ImporterError
from toolmason.importers.server.arguments import designed_arguments
from toolmason.importers.server.hints import accepted_hints, hints_comment
from toolmason.importers.server.losses import Losses
from toolmason.importers.server.schemas import as_2020_12, changed_schemas

MAX_INLINE_CHARACTERS: Final = 1_500
"""Maximum length of a schema as JSON in the manifest. A longer one has its own file."""
_TEXTS: Final = ("title", "description", "$comment")
"""Keywords whose values are texts for models and people."""


def select_tools(
    tools: Sequence[Mapping[str, Any]], *, include: Sequence[str], exclude: Sequence[str]
) -> list[Mapping[str, Any]]:
    """Return the tools whose names match a pattern of `include`, or any if it is empty, and none of `exclude`.

    Raises:
        ImporterError: a pattern matches no tool, or no tool is left.
    """
    names = [tool["name"] for tool in tools]
    for pattern in (*include, *exclude):
        if not any(fnmatchcase(name, pattern) for name in names):
            hint = did_you_mean(pattern, names) or f"available: {', '.join(names[:8]) or 'none'}"
            raise ImporterError(f"no tool of the server matches {quoted(pattern)}; {hint}")
    chosen = [name for name in names if not include or _matches(name, include)]
    selected = [tool for tool in tools if tool["name"] in chosen and not _matches(tool["name"], exclude)]
    if not selected:
        raise ImporterError("no tool is left to import; change --include and --exclude")
    return selected


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


class ToolTables:
    """The tables of the tools of one upstream, by their names in the manifest."""

    def __init__(
        self,
        *,
        upstream: str,
        names: Mapping[str, DesignedName],
        prefix: str,
        labels: Sequence[str],
        max_tokens: int,
        trusts_hints: bool,
        losses: Losses,
    ) -> None:
        self.tables: dict[str, dict[str, Any]] = {}
        self.comments: dict[str, str] = {}
        """Comments for the author, by the names of tools."""
        self._names = names
        self._labels = labels
        self._max_tokens = max_tokens
        self._trusts_hints = trusts_hints
        self._upstream = upstream
        self._prefix = prefix
        self._losses = losses

    def add(self, tool: Mapping[str, Any]) -> None:
        """Add the table of a tool; its schema is inline."""
        original = tool["name"]
        designed = self._names[original]
        name = designed.name
        if not designed.is_respelled:
            self._losses.add("named", f"{original} is `{name}`")
        elif name != f"{self._prefix}{original}":
            self._losses.add("renamed", original)
        table: dict[str, Any] = {**self._texts(tool, name)}
        if designed.aliases:
            table["aliases"] = list(designed.aliases)
        table["upstream"] = self._upstream
        if name != original:
            table["upstream_tool"] = original
        table |= {"upstream_hash": pin_of(tool), **self._hints(tool, name)}
        table |= self._arguments(tool, f"{table['summary']} {table.get('description', '')}")
        self._record_losses(tool)
        self.tables[name] = table

    def _arguments(self, tool: Mapping[str, Any], words: str) -> dict[str, Any]:
        """Return `arguments`, if any, and `input_schema`."""
        schema = neutral_texts(as_2020_12(tool["inputSchema"]))
        if not isinstance(schema, dict):
            return {"input_schema": schema}
        designed = designed_arguments(schema, self._max_tokens, words)
        name = tool["name"]
        if designed.renamed:
            pairs = ", ".join(f"{wire} is `{new}`" for wire, new in designed.renamed.items())
            self._losses.add("arguments", f"{name} ({pairs})")
        if designed.hidden:
            self._losses.add("rare", f"{name} ({', '.join(designed.hidden)})")
        if designed.is_shortened:
            self._losses.add("texts", name)
        if designed.tokens > self._max_tokens:
            self._losses.add("large", f"{name} ({designed.tokens:,})")
        changes = {"arguments": designed.table} if designed.table else {}
        return {**changes, "input_schema": designed.schema}

    def _texts(self, tool: Mapping[str, Any], name: str) -> dict[str, Any]:
        title = one_line(clean_text(tool.get("title") or (tool.get("annotations") or {}).get("title") or ""))
        if not title and is_other_script(tool["name"]):
            title = one_line(clean_text(tool["name"]))
        whole = clean_text(tool.get("description") or "")
        if not whole:
            self._losses.note(tool["name"], "it has no description: write one")
        limit = MAX_DESCRIPTION if self._max_tokens else MAX_DESCRIPTION_LENGTH
        if len(whole) > limit:
            self._losses.add("long" if self._max_tokens else "too_long", tool["name"])
        description = shortened_text(whole, limit)
        summary = summary_from(lead_of(whole, *self._labels), title, name)
        texts = {"summary": summary, "title": title}
        if description and summary.casefold() != strip_full_stop(description).casefold():
            texts["description"] = description
        return {key: text for key, text in texts.items() if text}

    def _hints(self, tool: Mapping[str, Any], name: str) -> dict[str, Any]:
        """Return the keys of a tool for its hints. Untrusted ones become a comment, and each call needs approval."""
        if not self._trusts_hints:
            if text := hints_comment(tool):
                self.comments[name] = f"The server declares, untrusted: {text}"
            return {}
        if (hints := accepted_hints(tool)) is None:
            self._losses.add("no_hints", tool["name"])
            return {}
        self.comments[name] = "These hints are those that the server declares, accepted with --trust-hints."
        return {"hints": hints, "hints_source": "upstream"}

    def _record_losses(self, tool: Mapping[str, Any]) -> None:
        for key in ("outputSchema", "icons", "_meta"):
            if tool.get(key):
                self._losses.add(key, tool["name"])


def is_task_only(tool: Mapping[str, Any]) -> bool:
    """Return whether a tool can only be called as a task, which a generated server does not do."""
    return (tool.get("execution") or {}).get("taskSupport") == "required"


def schema_file(schema: Any) -> str:
    """Return the text of the file for a schema; empty if it fits into the manifest."""
    text = json.dumps(schema, ensure_ascii=False, indent=2) + "\n"
    compact = json.dumps(schema, ensure_ascii=False)
    fits = len(compact) <= MAX_INLINE_CHARACTERS and "\\r" not in compact and not _has_null(schema)
    return "" if fits else text


def _has_null(value: Any) -> bool:
    """Return whether a JSON value contains null, which TOML lacks."""
    if isinstance(value, dict):
        return any(map(_has_null, value.values()))
    if isinstance(value, list):
        return any(map(_has_null, value))
    return value is None


def neutral_texts(schema: Any) -> Any:
    """Return a copy of a JSON Schema whose titles and descriptions are neutral and bounded."""
    return escape_texts(changed_schemas(schema, _neutral_node))


def _neutral_node(node: dict[str, Any]) -> dict[str, Any]:
    return {
        key: cut(clean_text(value), MAX_DESCRIPTION_LENGTH) if key in _TEXTS and isinstance(value, str) else value
        for key, value in node.items()
    }
