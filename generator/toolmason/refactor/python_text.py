"""Edit names in Python source by its syntax tree. Everything else stays as it is."""

from __future__ import annotations

import ast
import io
import keyword
import re
import tokenize
import warnings
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Final

from toolmason.refactor.mentions import Mentions

_STRING_PREFIX: Final = re.compile(r"[A-Za-z]*")
_BRACES: Final = re.compile(r"\{\{|\}\}|\{[^{}]*\}")
"""A doubled brace or an expression in an f-string."""
_DICT_ARGUMENTS: Final = frozenset({"arguments", "args"})
"""Keys of a call's arguments, beside the name of the tool."""


class PythonText:
    """A valid Python module, with the changes so far and the lines that a person must check.

    Raises:
        SyntaxError: it is not valid.
        ValueError: it contains a null byte, or is nested too deeply.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.uncertain: list[tuple[int, str]] = []
        self._changes: dict[tuple[int, int], str] = {}
        # Python counts a byte order mark as no column, and ends lines at `\r` as well.
        self._mark = len(source) - len(source.removeprefix("\ufeff"))
        body = source[self._mark :]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self.tree = ast.parse(body)
            except RecursionError as error:
                raise ValueError("it is nested too deeply") from error
        lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", body)
        self._lines = lines
        self._starts = [self._mark]
        for line in lines:
            self._starts.append(self._starts[-1] + len(line))
        self._parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def result(self) -> str:
        """Return the source with all changes."""
        text = self.source
        for (start, end), new in sorted(self._changes.items(), reverse=True):
            text = text[:start] + new + text[end:]
        return text

    # Places

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a place of the syntax tree: the line from 1, the column in bytes of UTF-8."""
        text = self._lines[line - 1] if line <= len(self._lines) else ""
        width = column if text.isascii() else len(text.encode()[:column].decode(errors="ignore"))
        return self._starts[line - 1] + width

    def line_of(self, offset: int) -> int:
        """Return the number of the line with an offset."""
        return bisect_right(self._starts, offset)

    def _span(self, node: ast.AST) -> tuple[int, int]:
        place = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        return self.offset(*place[:2]), self.offset(*place[2:])

    def _change(self, start: int, old: str, new: str) -> None:
        if self.source[start : start + len(old)] == old:
            self._changes[start, start + len(old)] = new

    def _doubt(self, node: ast.AST, reason: str) -> None:
        self.uncertain.append((node.lineno, reason))  # type: ignore[attr-defined]

    # Names of generated code

    def rename_globals(self, names: Mapping[str, str], *, package: str) -> None:
        """Rename names that the generated package defines and this module imports, with their uses."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom):
                is_generated = not node.level and _is_below(node.module or "", package)
                for alias in node.names:
                    # The name of a parameter class is unique, so it is also renamed where another module re-exports it.
                    if alias.name in names and (is_generated or alias.name.endswith("Params")):
                        self._rename_import(alias, names[alias.name])
            elif isinstance(node, ast.Attribute) and node.attr in names and node.attr.endswith("Params"):
                self._change(self._span(node)[1] - len(node.attr), node.attr, names[node.attr])
            elif isinstance(node, ast.Constant) and str(node.value) in names and not self._is_joined(node):
                self._rename_quoted_annotation(node, names)

    def _rename_quoted_annotation(self, node: ast.Constant, names: Mapping[str, str]) -> None:
        name = str(node.value)
        if name.endswith("Params"):
            self._replace_in_string(node, name, names[name])

    def _rename_import(self, alias: ast.alias, new: str) -> None:
        old = alias.name
        self._change(self._span(alias)[0], old, new)
        if alias.asname is None:
            self.rename_name(old, new)

    def rename_name(self, old: str, new: str) -> None:
        """Rename all uses of a name of the module's global scope; places with a local of that name stay."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and node.id == old and not self._is_local(node, old):
                self._change(self._span(node)[0], old, new)

    def _is_local(self, node: ast.AST, name: str) -> bool:
        """Return whether a function around a node binds a name itself."""
        scope: ast.AST | None = node
        while (scope := self._parents.get(scope) if scope else None) is not None:
            if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and name in _bound(scope):
                return True
        return False

    # Functions

    def rename_function(self, old: str, new: str) -> bool:
        """Rename a function of the module and its uses; return False, without a change, if it cannot be done."""
        body = [node for node in self.tree.body if getattr(node, "name", None) == old]
        names = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)}
        if (
            len(body) != 1
            or not isinstance(body[0], ast.FunctionDef | ast.AsyncFunctionDef)
            or new in names | {getattr(node, "name", None) for node in ast.walk(self.tree)}
            or keyword.iskeyword(new)
        ):
            return False
        function = body[0]
        start = self._span(function)[0]
        match = re.compile(rf"(?:async\s+)?def\s+(?={re.escape(old)}\b)").match(self.source, start)
        if match is None:
            return False
        self._change(match.end(), old, new)
        self.rename_name(old, new)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Constant) and node.value == old and self._is_in_all(node):
                self._replace_in_string(node, old, new)
        return True

    def _is_in_all(self, node: ast.AST) -> bool:
        parent = self._parents.get(self._parents.get(node, node))
        targets = parent.targets if isinstance(parent, ast.Assign) else []
        return any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets)

    def rename_imported_function(self, module: str, old: str, new: str) -> None:
        """Rename the uses of a function of another module: imports, attributes, and its path in strings."""
        package, _, last = module.rpartition(".")
        names = {module} if "." in module else set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and not node.level:
                if node.module == module:
                    for alias in node.names:
                        if alias.name == old:
                            self._rename_import(alias, new)
                elif node.module == package:
                    names |= {alias.asname or alias.name for alias in node.names if alias.name == last}
            elif isinstance(node, ast.Import):
                names |= {alias.asname or alias.name for alias in node.names if alias.name == module}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute) and node.attr == old and ast.unparse(node.value) in names:
                self._change(self._span(node)[1] - len(old), old, new)
            elif isinstance(node, ast.Constant) and node.value in {f"{module}.{old}", f"{module}:{old}"}:
                self._replace_in_string(node, old, new, last=True)

    # Parameters

    def rename_params(
        self, models: frozenset[str], tool: str, old: str, new: str, *, old_key: str, new_key: str
    ) -> None:
        """Rename a field of the parameter models, and the argument in calls of the tool.

        Args:
            models: names of the class of the tool's parameters, as this module imports it.
            tool: name of the tool in calls.
            old: name of the field; `new` is the new one.
            new: see `old`.
            old_key: name of the argument; `new_key` is the new one.
            new_key: see `old_key`.
        """
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self._rename_attributes(node, models, old, new)
            elif isinstance(node, ast.Call) and _last_name(node.func) in models:
                self._rename_keywords(node, old, new)
            elif isinstance(node, ast.MatchClass) and _last_name(node.cls) in models and old in node.kwd_attrs:
                self._doubt(node, f"a pattern has `{old}`")
            if isinstance(node, ast.Call | ast.Dict):
                self._rename_arguments(node, tool, old_key, new_key)

    def _rename_attributes(
        self, function: ast.FunctionDef | ast.AsyncFunctionDef, models: frozenset[str], old: str, new: str
    ) -> None:
        arguments = function.args
        own: dict[str, bool] = {}
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            names = {_last_name(part) for part in _annotations(argument.annotation)}
            if names & models:
                own[argument.arg] = names <= models | {"None"}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and len(node.targets) == 1:
                target = node.targets[0]
                if isinstance(target, ast.Name) and _last_name(node.value.func) in models:
                    own[target.id] = True
        if not own:
            return
        self._rename_in_docstring(function, own, old, new)
        for node in ast.walk(function):
            if isinstance(node, ast.Attribute) and node.attr == old and isinstance(node.value, ast.Name):
                name = node.value.id
                if name not in own:
                    continue
                if own[name]:
                    self._change(self._span(node)[1] - len(old), old, new)
                else:
                    self._doubt(node, f"`{name}.{old}` may be another type")
            elif isinstance(node, ast.Constant) and node.value == old:
                self._doubt(node, f'"{old}" in a function with these parameters')

    def _rename_in_docstring(
        self, function: ast.FunctionDef | ast.AsyncFunctionDef, own: Mapping[str, bool], old: str, new: str
    ) -> None:
        """Rename `params.old` in the docstring of a function."""
        if ast.get_docstring(function, clean=False) is None:
            return
        start, end = self._span(function.body[0])
        for name in own:
            for match in re.finditer(rf"(?<![\w.]){re.escape(name)}\.{re.escape(old)}(?!\w)", self.source[start:end]):
                self._change(start + match.end() - len(old), old, new)

    def _rename_keywords(self, call: ast.Call, old: str, new: str) -> None:
        for item in call.keywords:
            if item.arg == old:
                self._change(self._span(item)[0], old, new)

    def _rename_arguments(self, node: ast.Call | ast.Dict, tool: str, old: str, new: str) -> None:
        """Rename a key of the arguments that are beside the tool's name, in a call or in a dictionary."""
        values: list[ast.expr] = []
        if isinstance(node, ast.Call):
            values = [*node.args, *(item.value for item in node.keywords)]
        else:
            values = [value for key, value in zip(node.keys, node.values, strict=True) if key is not None]
        if not any(isinstance(value, ast.Constant) and value.value == tool for value in values):
            return
        for item in node.keywords if isinstance(node, ast.Call) else ():
            if item.arg == old:
                self.uncertain.append((item.value.lineno, f"`{old}=` beside the name of the tool"))
        for value in values:
            for table in self._argument_tables(value):
                for key in table.keys:
                    if isinstance(key, ast.Constant) and key.value == old:
                        self._replace_in_string(key, old, new)

    def _argument_tables(self, value: ast.expr) -> Iterator[ast.Dict]:
        if not isinstance(value, ast.Dict):
            return
        nested = [
            item
            for key, item in zip(value.keys, value.values, strict=True)
            if isinstance(key, ast.Constant) and key.value in _DICT_ARGUMENTS and isinstance(item, ast.Dict)
        ]
        yield from nested or [value]

    # Text

    def rename_strings(self, name: str, new: str, mentions: Mentions, *, is_certain: bool) -> None:
        """Replace strings that are the name of a tool, and its certain mentions in other strings and comments.

        A string that is the whole name changes if `is_certain`, or if it is an argument of a function with `call` in
        its name, or beside the key `name` or `tool_name`.
        """
        for node in ast.walk(self.tree):
            if isinstance(node, ast.JoinedStr):
                self._replace_mentions(*self._span(node), name, new, mentions, is_joined=True)
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or name not in node.value:
                continue
            if self._is_joined(node):
                continue
            if node.value == name:
                if is_certain or self._is_call_argument(node):
                    self._replace_in_string(node, name, new)
                else:
                    self._doubt(node, f'"{name}" may be something else')
            elif any(True for _ in (*mentions.replace(node.value, new), *mentions.listed(node.value))):
                self._replace_mentions(*self._span(node), name, new, mentions)
        reader = io.StringIO(self.source[self._mark :], newline="")
        try:
            for token in tokenize.generate_tokens(reader.readline):
                if token.type == tokenize.COMMENT and name in token.string:
                    start = self._starts[token.start[0] - 1] + token.start[1]
                    self._replace_mentions(start, start + len(token.string), name, new, mentions)
        except (tokenize.TokenError, IndentationError):
            return

    def _replace_mentions(
        self, start: int, end: int, name: str, new: str, mentions: Mentions, *, is_joined: bool = False
    ) -> None:
        text = self.source[start:end]
        plain = text
        if text[:1] != "#":
            prefix = _STRING_PREFIX.match(text)
            is_raw = bool(prefix) and "r" in prefix[0].lower() if prefix else False
            plain = text if is_raw else re.sub(r"\\.", lambda match: " " * len(match[0]), text, flags=re.DOTALL)
        if is_joined:
            # The expressions in braces are code.
            plain = _BRACES.sub(lambda match: " " * len(match[0]), plain)
        for first, _, _ in mentions.replace(plain, new):
            self._change(start + first, name, new)
        for first in mentions.listed(plain):
            self.uncertain.append((self.line_of(start + first), f"`{name}` in a text"))

    def _replace_in_string(self, node: ast.Constant, old: str, new: str, *, last: bool = False) -> None:
        start, end = self._span(node)
        text = self.source[start:end]
        place = text.rfind(old) if last else text.find(old)
        if place >= 0:
            self._change(start + place, old, new)
        else:
            self._doubt(node, f'"{old}" is written in parts')

    def _is_joined(self, node: ast.AST) -> bool:
        # The parts of an f-string have no places of their own before Python 3.12.
        return isinstance(self._parents.get(node), ast.JoinedStr)

    def _is_call_argument(self, node: ast.Constant) -> bool:
        parent = self._parents.get(node)
        if isinstance(parent, ast.keyword):
            return parent.arg in {"tool_name", "tool"}
        if isinstance(parent, ast.Call):
            return "call" in _last_name(parent.func) and parent.args[:1] == [node]
        if isinstance(parent, ast.Dict):
            keys = [key for key, value in zip(parent.keys, parent.values, strict=True) if value is node]
            return any(isinstance(key, ast.Constant) and key.value in {"name", "tool_name"} for key in keys)
        return False

    # Imports

    def imports_of(self, package: str) -> Iterator[ast.ImportFrom]:
        """Yield the imports from modules of the generated package."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and not node.level and _is_below(node.module or "", package):
                yield node

    def move_import(self, node: ast.ImportFrom, modules: Mapping[str, str]) -> None:
        """Import each name in `modules` from its module there; the other names stay where they are."""
        start, end = self._span(node)
        indent = self.source[self.source.rfind("\n", 0, start) + 1 : start]
        groups: dict[str, list[ast.alias]] = {}
        for alias in node.names:
            groups.setdefault(modules.get(alias.name, node.module or ""), []).append(alias)
        if len(groups) == 1:
            place = self.source.index(node.module or "", start)
            self._changes[place, place + len(node.module or "")] = next(iter(groups))
            return
        newline = "\r\n" if "\r\n" in self.source else "\n"
        statements = [_import(module, aliases, newline, indent) for module, aliases in sorted(groups.items())]
        self._changes[start, end] = f"{newline}{indent}".join(statements)


def _import(module: str, aliases: list[ast.alias], newline: str, indent: str) -> str:
    names = [f"{alias.name} as {alias.asname}" if alias.asname else alias.name for alias in aliases]
    line = f"from {module} import {', '.join(names)}"
    if len(line) + len(indent) <= 120:
        return line
    return newline.join([f"from {module} import (", *(f"{indent}    {name}," for name in names), f"{indent})"])


def _is_below(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def _last_name(node: ast.AST | None) -> str:
    """Return the last part of a dotted name: `models.CountWordsParams` is `CountWordsParams`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Constant):
        return str(node.value).rpartition(".")[2]
    return node.id if isinstance(node, ast.Name) else ""


def _annotations(node: ast.AST | None) -> Iterator[ast.AST]:
    """Yield the parts of a union."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        yield from _annotations(node.left)
        yield from _annotations(node.right)
    elif node is not None:
        yield node


def _bound(function: ast.AST) -> set[str]:
    """Return the names that a function binds: its parameters and the targets of assignments, unless `global`."""
    arguments = function.args  # type: ignore[attr-defined]
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
    names = {argument.arg for argument in every if argument}
    shared: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            shared |= set(node.names)
        elif isinstance(node, ast.ImportFrom | ast.Import):
            continue
        elif node is not function and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
    return names - shared
