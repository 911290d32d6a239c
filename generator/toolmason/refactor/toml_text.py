"""Edit single keys and values of TOML text. Everything else stays: comments, blank lines, quotes and line ends."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from toolmason_runtime.shared.toml.positions import KeyOccurrence, KeyPath, scan_keys

_TOKEN: Final = re.compile(
    r'''
      \#[^\n]*+
    | """ (?:[^"\\]++ | \\. | "{1,2}(?!"))*+ (?:"{3,5} | \Z)
    | \'\'\' (?:[^']++ | '{1,2}(?!'))*+ (?:'{3,5} | \Z)
    | " (?:[^"\\\n]++ | \\.)*+ "?
    | ' [^'\n]*+ '
    | [^\s,\[\]{}\#"'=.]++
    | .
    ''',
    re.VERBOSE | re.DOTALL,
)
"""A comment, a string, another word, or one character."""
_SCALAR_END: Final = re.compile(r"[^\s,\]}#]*(?: \d[^\s,\]}#]*)?")
_ESCAPE: Final = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_QUOTED_KEY: Final = re.compile(r""""(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")

_ITEM_TAIL: Final = re.compile(r"[ \t]*(?P<comma>,?)[ \t]*(?P<comment>(?:#[^\r\n]*)?)")
"""The rest of a line after an item of an array."""

Replace = Callable[[str], Iterator[tuple[int, int, str]]]
"""Yields the parts of a text to replace: start, end and new text."""


def quoted_toml(text: str) -> str:
    """Return a TOML string."""
    return json.dumps(text, ensure_ascii=False)


class TomlText:
    """A TOML text, which must be valid, and the changes so far. Paths are those of the text without the changes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._newline = "\r\n" if "\r\n" in text else "\n"
        self._changes: list[tuple[int, int, str]] = []
        self._occurrences = scan_keys(text)
        self._by_path: dict[KeyPath, list[KeyOccurrence]] = {}
        self._statements: dict[int, list[KeyOccurrence]] = {}
        for occurrence in self._occurrences:
            self._by_path.setdefault(occurrence.path, []).append(occurrence)
            self._statements.setdefault(occurrence.statement, []).append(occurrence)

    def result(self) -> str:
        """Return the text with all changes."""
        parts, end = [], 0
        for start, stop, new in sorted(self._changes, key=lambda change: change[:2]):
            if start < end:
                continue  # It is inside another change.
            parts += [self.text[end:start], new]
            end = stop
        return "".join([*parts, self.text[end:]])

    def has(self, path: KeyPath) -> bool:
        """Return whether the text has a key, or an item of an array."""
        return path in self._by_path

    def line(self, offset: int) -> int:
        """Return the number of the line with an offset."""
        return self.text.count("\n", 0, offset) + 1

    def rename_key(self, path: KeyPath, new: str) -> None:
        """Rename a key, in each header and pair that has it."""
        for occurrence in self._by_path.get(path, ()):
            quoted = _QUOTED_KEY.match(self.text, occurrence.key)
            bare = _BARE.match(self.text, occurrence.key)
            if quoted:
                mark = quoted[0][0]
                written = quoted_toml(new) if mark == '"' or "'" in new else f"'{new}'"
                self._changes.append((quoted.start(), quoted.end(), written))
            elif bare:
                written = new if _BARE.fullmatch(new) else quoted_toml(new)
                self._changes.append((bare.start(), bare.end(), written))

    def strings(self) -> Iterator[tuple[KeyPath, int, int]]:
        """Yield the path, the start and the end of each string value, quotes included."""
        for occurrence in self._occurrences:
            start = occurrence.value
            if occurrence.is_explicit and self.text[start : start + 1] in {'"', "'"} and start >= occurrence.key:
                yield occurrence.path, start, self._end(start)

    def edit_string(self, path: KeyPath, replace: Replace) -> None:
        """Replace parts of a string value, in which escape sequences are spaces for `replace`."""
        for occurrence in self._by_path.get(path, ()):
            start = occurrence.value
            end = self._end(start)
            for first, last, new in replace(self.plain(start, end)):
                self._changes.append((start + first, start + last, new))

    def plain(self, start: int, end: int) -> str:
        r"""Return a string as it is written, with a space for each character of its quotes and escape sequences."""
        raw = self.text[start:end]
        width = 3 if raw[:3] in {'"""', "'''"} else 1
        inner = raw[width:-width]
        if raw[0] == '"':
            inner = _ESCAPE.sub(lambda match: " " * len(match[0]), inner)
        return f"{' ' * width}{inner}{' ' * width}"

    def set_string(self, path: KeyPath, new: str) -> None:
        """Replace a whole string. A single-quoted one keeps its quotes."""
        occurrence = self._by_path[path][0]
        start = occurrence.value
        end = self._end(start)
        literal = self.text[start] == "'" and not {"'", "\n"} & {*new}
        self._changes.append((start, end, f"'{new}'" if literal else quoted_toml(new)))

    def add_item(self, path: KeyPath, value: str) -> None:
        """Add an item to the end of an array; `value` is TOML."""
        start = self._by_path[path][0].value
        items = [occurrence.value for item, occurrence in self._items(path)]
        if not items:
            self._changes.append((start + 1, start + 1, value))
            return
        end = self._end(items[-1])
        before = self.text[items[-2] if len(items) > 1 else start : items[-1]]
        if "\n" not in before:
            self._changes.append((end, end, f", {value}"))
            return
        indent = before.rpartition("\n")[2]
        line = f"{self._newline}{indent}{value}"
        tail = _ITEM_TAIL.match(self.text, end)
        if tail and tail["comment"]:
            # The comment stays at its item.
            self._changes.append((end, end, "" if tail["comma"] else ","))
            self._changes.append((tail.end(), tail.end(), line + tail["comma"]))
        else:
            self._changes.append((end, end, f",{line}"))

    def remove_item(self, path: KeyPath, index: int) -> None:
        """Remove an item of an array: with its line and comment if it has a line of its own, else with its comma.

        The key is removed with its last item, unless its table has no other key.
        """
        items = [occurrence.value for _, occurrence in self._items(path)]
        if len(items) == 1:
            self._remove_array(self._by_path[path][0])
            return
        start, end = items[index], self._end(items[index])
        tail = _ITEM_TAIL.match(self.text, end)
        line = self.text.rfind("\n", 0, start) + 1
        if tail and not self.text[line:start].strip() and self._line_end(end) == tail.end():
            self._changes.append((line, self.text.index("\n", tail.end()) + 1, ""))
        elif index + 1 < len(items):
            self._changes.append((start, items[index + 1], ""))
        else:
            self._changes.append((self._end(items[index - 1]), end, ""))

    def _remove_array(self, array: KeyOccurrence) -> None:
        """Remove a key with its array; only the items if the key is the first line, or the only key of its table."""
        start, end = array.key, self._end(array.value)
        before, after = self.text[:start].rstrip(), self.text[end:].lstrip()
        line = self.text.rfind("\n", 0, self._start(array.statement))
        if self._pair_of(array.statement) is array and line >= 0:
            self._changes.append((line - self.text[:line].endswith("\r"), self._line_end(end), ""))
        elif before.endswith(","):
            self._changes.append((len(before) - 1, end, ""))
        elif before.endswith("{") and after.startswith(","):
            self._changes.append((start, len(self.text) - len(after[1:].lstrip()), ""))
        else:
            self._changes.append((array.value + 1, end - 1, ""))

    def _items(self, path: KeyPath) -> Iterator[tuple[int, KeyOccurrence]]:
        index = 0
        while (found := self._by_path.get((*path, index))) is not None:
            yield index, found[0]
            index += 1

    def add_keys(self, path: KeyPath, keys: Mapping[str, str]) -> None:
        """Add keys, whose values are TOML, to a table: to its last line, in its own style.

        A text at `path` is the name of a shared parameter, and becomes the table `{ use = "name", ... }`.
        """
        if not keys:
            return
        explicit = [occurrence for occurrence in self._by_path.get(path, ()) if occurrence.is_explicit]
        pairs = [f"{key} = {value}" for key, value in keys.items()]
        pair = next((occurrence for occurrence in explicit if occurrence.value >= occurrence.key), None)
        header = next((occurrence for occurrence in explicit if occurrence.value < occurrence.key), None)
        if pair:
            self._add_inline(pair.value, pairs)
        elif header:
            self._add_lines(self._last_statement(header.statement), pairs, prefix="")
        else:
            last = self._by_path[path][-1]
            name = _QUOTED_KEY.match(self.text, last.key) or _BARE.match(self.text, last.key)
            start = self._start(last.statement)
            prefix = self._changed(start, name.end() if name else last.key)
            if prefix.startswith("["):
                self._add_header(last.statement, prefix.lstrip("[").strip(), pairs)
            else:
                # `a.b.c = 1` is a pair of the table `a.b`: its other keys are written in the same way.
                self._add_lines(last.statement, pairs, prefix=f"{prefix}.")

    def _changed(self, start: int, end: int) -> str:
        """Return a part of the text with the changes so far."""
        text = self.text[start:end]
        for first, last, new in sorted(self._changes, reverse=True):
            if start <= first and last <= end:
                text = text[: first - start] + new + text[last - start :]
        return text

    def _add_header(self, statement: int, name: str, pairs: list[str]) -> None:
        """Write the header and the keys of a table that has none yet, before the last of its subtables."""
        place = self._with_comments(self.text.rfind("\n", 0, self._start(statement)) + 1)
        self._changes.append((place, place, self._newline.join([f"[{name}]", *pairs, "", ""])))

    def _add_inline(self, start: int, pairs: list[str]) -> None:
        end = self._end(start)
        if self.text[start] != "{":
            whole = f"{{ use = {self.text[start:end]}, {', '.join(pairs)} }}"
            self._changes.append((start, end, whole))
            return
        inner = self.text[start + 1 : end - 1]
        place = start + 1 + len(inner.rstrip())
        text = f", {', '.join(pairs)}" if inner.strip() else f" {', '.join(pairs)} "
        self._changes.append((place, place, text))

    def _add_lines(self, statement: int, pairs: list[str], *, prefix: str) -> None:
        end = self._statement_end(statement)
        place = self._line_end(end)
        start = self._start(statement)
        indent = self.text[self.text.rfind("\n", 0, start) + 1 : start]
        indent = indent if not indent.strip() else ""
        self._changes.append((place, place, "".join(f"{self._newline}{indent}{prefix}{pair}" for pair in pairs)))

    def add_after(self, path: KeyPath, line: str) -> None:
        """Add a line of the same table after the line with a pair."""
        self._add_lines(self._by_path[path][0].statement, [line], prefix="")

    def block(self, path: KeyPath) -> tuple[int, int] | None:
        """Return the start and the end of a table with all tables below it and the comments above, in whole lines.

        None if it is not written with headers of its own, one after another.
        """
        numbers = [number for number, items in self._statements.items() if items[-1].path[: len(path)] == path]
        if not numbers or numbers != list(range(numbers[0], numbers[-1] + 1)):
            return None
        if self.text[self._start(numbers[0])] != "[":
            return None
        start = self._with_comments(self.text.rfind("\n", 0, self._start(numbers[0])) + 1)
        end = self.text.find("\n", self._statement_end(numbers[-1]))
        return start, len(self.text) if end < 0 else end + 1

    def remove_lines(self, start: int, end: int) -> None:
        """Remove whole lines, with the blank lines after them, or before them at the end of the text."""
        rest = self.text[end:]
        end += len(rest) - len(rest.lstrip())
        if end == len(self.text):
            start = len(self.text[:start].rstrip())
            self._changes.append((start, end, self._newline if start else ""))
        else:
            self._changes.append((start, self.text.rfind("\n", 0, end) + 1, ""))

    def _with_comments(self, start: int) -> int:
        while start:
            before = self.text.rfind("\n", 0, start - 1) + 1
            if not self.text[before:start].lstrip().startswith("#"):
                break
            start = before
        return start

    def _start(self, statement: int) -> int:
        return min(min(item.key, item.value) for item in self._statements[statement])

    def _statement_end(self, statement: int) -> int:
        start = self._start(statement)
        if self.text[start] == "[":
            return start
        return self._end(self._pair_of(statement).value)

    def _pair_of(self, statement: int) -> KeyOccurrence:
        """Return the key of a pair, without those inside its value."""
        return next(item for item in self._statements[statement] if item.is_explicit)

    def _line_end(self, offset: int) -> int:
        """Return the end of a line, before its line break."""
        end = self.text.find("\n", offset)
        return len(self.text) if end < 0 else end - self.text[:end].endswith("\r")

    def _last_statement(self, header: int) -> int:
        """Return the last statement of the table of a header, without those of tables below it."""
        last = header
        for number in range(header + 1, max(self._statements) + 1):
            if number not in self._statements or self.text[self._start(number)] == "[":
                break
            last = number
        return last

    def _end(self, start: int) -> int:
        """Return the end of the value at `start`."""
        if self.text[start] not in "[{\"'":
            match = _SCALAR_END.match(self.text, start)
            return match.end() if match else start
        depth = 0
        for match in _TOKEN.finditer(self.text, start):
            depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
            if not depth:
                return match.end()
        return len(self.text)
