"""Merge a newer import with an edited manifest: a three-way comparison of each key with the import before.

The previous import is recorded beside the manifest. A key that the author has not changed gets the value of the newer
document; an edit always stays, and is reported if the document has changed the same key.
"""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import tomlkit
from tomlkit.items import InlineTable
from toolmason_runtime.shared.toml.positions import dotted, scan_keys

from toolmason.importers.inline_toml import inline_key
from toolmason.importers.notes import ImporterError
from toolmason.importers.openapi.known_names import known_parameter_names
from toolmason.importers.openapi.layout import table_lines
from toolmason.importers.openapi.manifest import Imported
from toolmason.importers.openapi.options import Options

_MISSING: Final = object()
_BLOCKS: Final = ("categories", "apis", "types", "tools")
"""Tables whose entries are sections of the text."""
_GROUPS: Final = frozenset((name,) for name in _BLOCKS)

Path_ = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The previous import: its source, options, tables, and the names of its tools by operation."""

    source: str
    version: str
    options: Options
    tools: dict[str, str]
    data: dict[str, Any]
    remote: dict[str, str] = field(default_factory=dict)
    """SHA-256 of the remote files of the document by their URL."""

    def text(self) -> str:
        """Return the content of the file of the record."""
        content = {"format": 1, "source": self.source, "version": self.version, "options": asdict(self.options)}
        content |= {"remote": self.remote} if self.remote else {}
        return json.dumps({**content, "tools": self.tools, "data": self.data}, ensure_ascii=False, indent=1) + "\n"


def record_path(manifest: Path) -> Path:
    """Return the path of the record of a manifest: `github.openapi.json` beside `github.toml`."""
    return manifest.with_suffix(".openapi.json")


def read_record(path: Path) -> Record | None:
    """Return a record, None if the file does not exist.

    Raises:
        ImporterError: the file is damaged.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not (isinstance(content["data"]["tools"], dict) and content["data"]["server"]["name"]):
            raise ValueError("it has no tools")  # noqa: TRY301  reported below
        # Earlier versions had no limit: an update must not remove what they imported.
        options: dict[str, Any] = {"max_tokens": 0} | {key: _frozen(value) for key, value in content["options"].items()}
        return Record(
            source=content["source"],
            version=content["version"],
            options=Options(**options),
            tools=dict(content["tools"]),
            data=dict(content["data"]),
            remote=dict(content.get("remote", {})),
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ImporterError(f"{path}: not the record of an import: {error}; restore it from version control") from error


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def read_tables(path: Path) -> tuple[str, dict[str, Any]]:
    """Return the text and the tables of an edited manifest.

    Raises:
        ImporterError: it cannot be read or is not TOML.
    """
    try:
        text = path.read_text(encoding="utf-8")
        return text, tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise ImporterError(f"{path}: cannot read the manifest: {error}") from error


def follow_renames(record: Record, current: Mapping[str, Any]) -> Record:
    """Return the record with the author's names: a tool with the same request, and a parameter with the same place."""
    known, edited = record.data["tools"], current.get("tools", {})
    added = {_request(table): name for name, table in edited.items() if name not in known and isinstance(table, dict)}
    renamed = {
        name: added[request]
        for name, table in known.items()
        if name not in edited and (request := _request(table)) in added
    }
    tools = {renamed.get(name, name): table for name, table in known.items()}
    tools = {name: _with_renamed_params(table, edited.get(name)) for name, table in tools.items()}
    return Record(
        source=record.source,
        version=record.version,
        options=record.options,
        tools={key: renamed.get(name, name) for key, name in record.tools.items()},
        data={**record.data, "tools": tools},
        remote=record.remote,
    )


def _request(table: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the request of a tool without the names of the placeholders in its path, as an identifier."""
    path = re.sub(r"\{\+?[^{}]*\}", "{}", str(table.get("http")))
    return table.get("api"), path, table.get("graphql")


def _with_renamed_params(table: dict[str, Any], edited: Any) -> dict[str, Any]:
    """Return the table of a tool with the author's names of its parameters."""
    params, mine = table.get("params"), edited.get("params") if isinstance(edited, Mapping) else None
    if not isinstance(params, dict) or not isinstance(mine, dict) or params.keys() <= mine.keys():
        return table
    path = table["http"].partition(" ")[2]
    chosen = known_parameter_names(path, edited)
    known = {name: at for at, name in known_parameter_names(path, table).items()}
    renamed: dict[str, Any] = {}
    http = table["http"]
    for name, entry in params.items():
        place, wire = known.get(name, ("", ""))
        new_name = str(chosen.get((place, wire), name)) if name not in mine else name
        is_moved = new_name != name and place in ("query", "body") and place not in entry
        renamed[new_name] = {**entry, place: wire} if is_moved else entry
        if place == "path":
            http = http.replace(f"{{{name}}}", f"{{{new_name}}}").replace(f"{{+{name}}}", f"{{+{new_name}}}")
    return {**table, "http": http, "params": renamed}


def with_unselected(imported: Imported, record: Record) -> dict[str, Any]:
    """Return the tables of an import with the tools of the record that its filters do not select.

    They stay as long as the document has their operations.
    """
    data = copy.deepcopy(imported.data)
    kept = {
        name
        for key, name in record.tools.items()
        if name and key in imported.document_operations and key not in imported.tools
    }
    for name in sorted(kept & record.data["tools"].keys()):
        data["tools"][name] = record.data["tools"][name]
    if kept:
        for kind in ("categories", "apis", "types"):
            data[kind] = {**record.data.get(kind, {}), **data.get(kind, {})}
    return data


@dataclass(slots=True)
class Merge:
    """The merged tables, the changes of the text, and the report."""

    commented: frozenset[Path_] = frozenset()
    """Sections and keys with comments of the author, which count as edited."""
    sets: list[tuple[Path_, Any]] = field(default_factory=list)
    removals: list[Path_] = field(default_factory=list)
    report: list[str] = field(default_factory=list)
    conflicts: int = 0

    def merge(self, base: Any, current: Mapping[str, Any], new: Mapping[str, Any], at: Path_ = ()) -> dict[str, Any]:
        """Return the merged table: changes of the document, except where the author has edited."""
        base = base if isinstance(base, Mapping) else {}
        if at[:1] == ("tools",) and len(at) == 2:
            new = self._with_edited_arguments(base, current, new, at)
        merged: dict[str, Any] = {}
        for key in [*current, *(key for key in new if key not in current)]:
            path = (*at, key)
            value = self._value(base.get(key, _MISSING), current.get(key, _MISSING), new.get(key, _MISSING), path)
            if value is not _MISSING:
                merged[key] = value
        return merged

    def _with_edited_arguments(
        self, base: Mapping[str, Any], current: Mapping[str, Any], new: Mapping[str, Any], at: Path_
    ) -> Mapping[str, Any]:
        """Return the new table of a tool with the arguments in the form that the author has edited.

        A tool has either `params` or `input_schema`.
        """
        for mine, theirs in (("params", "input_schema"), ("input_schema", "params")):
            is_edited = mine in current and current[mine] != base.get(mine)
            if is_edited and mine not in new and theirs in new:
                self.conflicts += 1
                self._report_change(
                    (*at, mine),
                    f"your edit is kept; the document now needs `{theirs}`; to compare, import it to another file",
                )
                new = {key: value for key, value in new.items() if key != theirs}
                new |= {mine: base[mine]} if mine in base else {}
        return new

    def _value(self, base: Any, current: Any, new: Any, path: Path_) -> Any:
        if path in _GROUPS:
            before, mine, theirs = ({} if table is _MISSING else table for table in (base, current, new))
            return self.merge(before, mine, theirs, path) or _MISSING
        if isinstance(current, dict) and isinstance(new, dict):
            return self.merge(base, current, new, path)
        if new in (current, base):
            return current
        if current is _MISSING and base is _MISSING:
            self.sets.append((path, new))
            self._report_change(path, "added")
            return new
        is_commented = new is _MISSING and any(each[: len(path)] == path for each in self.commented)
        if is_commented and isinstance(current, dict) and len(path) > 2 and path not in self.commented:
            return self.merge(base, current, {}, path) or _MISSING
        if current == base and not is_commented:
            if new is _MISSING:
                self.removals.append(path)
                self._report_change(path, "removed, since the document no longer contains it")
                return _MISSING
            self.sets.append((path, new))
            self._report_change(path, f"changed from {_shown(base)} to {_shown(new)}")
            return new
        self._keep(base, current, new, path)
        return current

    def _keep(self, base: Any, current: Any, new: Any, path: Path_) -> None:
        if base is _MISSING and new is _MISSING:
            return
        self.conflicts += 1
        if current is _MISSING:
            self._report_change(path, f"you removed it; the document now has {_shown(new)}")
        elif new is _MISSING:
            self._report_change(path, "your edit is kept, but the document no longer contains it")
        else:
            self._report_change(path, f"your edit is kept; the document now has {_shown(new)}")

    def _report_change(self, path: Path_, message: str) -> None:
        self.report.append(f"{dotted(path)}: {message}")


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else f"{text[:99]}…"


def merged_text(text: str, merge: Merge, merged: Mapping[str, Any]) -> str:
    """Return the text of an edited manifest with the changes of a merge. Comments and layout stay.

    Raises:
        ImporterError: the text cannot express the changes, which an unusual layout may cause.
    """
    added = [(path, value) for path, value in merge.sets if _is_section(path)]
    inner = [(path, value) for path, value in merge.sets if not _is_section(path)]
    blocks = [path for path in merge.removals if _is_section(path)]
    removals = [path for path in merge.removals if not _is_section(path)]
    if inner or removals:
        text = _edited(text, inner, removals)
    for path in blocks:
        text = _without_block(text, path)
    lines = [line for path, value in added for line in table_lines(f"{path[0]}.{inline_key(path[1])}", value)]
    if lines:
        text = text.rstrip("\n") + "\n" + "\n".join(lines) + "\n"
    try:
        is_same = tomllib.loads(text) == merged
    except tomllib.TOMLDecodeError:
        is_same = False
    if not is_same:
        raise ImporterError(
            "the changes cannot be written into this layout of the manifest; write its tables as `[tools.NAME]`"
        )
    return text


def _is_section(path: Path_) -> bool:
    return len(path) == 2 and path[0] in _BLOCKS


def _edited(text: str, sets: list[tuple[Path_, Any]], removals: list[Path_]) -> str:
    """Return the text with single keys changed."""
    document = tomlkit.parse(text)
    for path, value in sets:
        table: Any = document
        for key in path[:-1]:
            if key not in table:
                table[key] = tomlkit.table()
            table = table[key]
        table[path[-1]] = _item(value)
    for path in removals:
        table = document
        for key in path[:-1]:
            table = table[key]
        del table[path[-1]]
    return document.as_string()


def _item(value: Any) -> Any:
    """Return a value for tomlkit; a table is inline."""
    if not isinstance(value, dict):
        return value
    table = tomlkit.inline_table()
    table.update({key: _item(inner) for key, inner in value.items()})
    return table


def sections(text: str) -> dict[Path_, tuple[int, int]]:
    """Return start and end of each section such as `[tools.NAME]` with its inner sections.

    Comments before the next section belong to that one.
    """
    headers = [
        (occurrence.value, occurrence.path[:2])
        for occurrence in scan_keys(text)
        if occurrence.is_explicit and text[occurrence.value] == "[" and occurrence.value < occurrence.key
    ]
    found: dict[Path_, tuple[int, int]] = {}
    for index, (start, path) in enumerate(headers):
        end = headers[index + 1][0] if index + 1 < len(headers) else len(text)
        tail = _comment_lines_at_end(text[start:end])
        end -= len(tail) if "#" in tail else 0
        name = tuple(map(str, path))
        found[name] = (found[name][0] if name in found else start, end)
    return found


def _comment_lines_at_end(text: str) -> str:
    """Return the comments and empty lines at the end of a section, without its first line."""
    position = len(text)
    while text.endswith("\n", 0, position) and (start := text.rfind("\n", 0, position - 1) + 1):
        line = text[start:position].strip(" \t\n")
        if line and not line.startswith("#"):
            break
        position = start
    return text[position:]


def commented_sections(text: str) -> frozenset[Path_]:
    """Return the sections that contain a comment."""
    return frozenset(
        path for path, (start, end) in sections(text).items() if re.search(r"(?m)^[ \t]*#", text[start:end])
    )


def commented_keys(text: str) -> frozenset[Path_]:
    """Return the keys that have a comment at the end of their line: `params.limit = { ... }  # at most 20`."""
    return frozenset(_commented(tomlkit.parse(text), ()))


def _commented(table: Any, at: Path_) -> Iterator[Path_]:
    for key, item in table.items():
        if isinstance(item, Mapping) and not isinstance(item, InlineTable):
            yield from _commented(item, (*at, key))
        elif getattr(getattr(item, "trivia", None), "comment", ""):
            yield (*at, key)


def _without_block(text: str, path: Path_) -> str:
    """Return the text without a section. Comments before the next section stay."""
    if path not in (found := sections(text)):
        raise ImporterError(f"the section [{dotted(path)}] is not in the manifest")
    start, end = found[path]
    return text[:start] + text[end:].lstrip("\n")
