"""Mistakes that are certain before a program starts: names, arguments, missing `await`, tools that write.

The program is parsed here, for calls by category and for exact places. The type checker of the interpreter then reads
it against the stubs of the functions that it uses.
"""

from __future__ import annotations

import ast
import builtins
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import accumulate
from typing import Any, Final

from toolmason_runtime.code_mode import limits
from toolmason_runtime.code_mode.source import Source
from toolmason_runtime.discovery.annotations import is_read_only
from toolmason_runtime.discovery.functions import Functions
from toolmason_runtime.discovery.python_types import parameters_of, stubs
from toolmason_runtime.shared.catalogue import ToolEntry
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.suggestions import closest_matches

PROGRAM_ERROR: Final = "PROGRAM_ERROR"
"""Code of the error for a mistake in a program."""

_CERTAIN: Final = frozenset(
    {
        *("unresolved-reference", "missing-argument", "unknown-argument", "invalid-key"),
        *("too-many-positional-arguments", "parameter-already-assigned", "unresolved-attribute", "not-subscriptable"),
        *("call-non-callable", "not-iterable", "invalid-await"),
    }
)
"""Rules of the type checker that report certain mistakes; the others guess the form of a value."""
_NAME: Final = re.compile(r"Name `(\w+)` used when not defined")
_UNUSABLE: Final = (
    (re.compile(r"\0"), "NUL characters"),
    (re.compile(r"[\ud800-\udfff]"), "unpaired surrogates"),
)
_MAX_MESSAGE: Final = 1_000
"""Characters of a message."""
_COROUTINE: Final = "CoroutineType"


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake in a program, and its place. `advice` returns the end of the text, and is called where it is shown."""

    line: int
    column: int
    length: int
    message: str
    advice: Callable[[], str] = field(default=str, compare=False)


@dataclass(frozen=True, slots=True)
class Program:
    """A program without a mistake that parsing can find.

    `code` names functions of categories as the interpreter knows them: `git.log` is `git_log`, of the same length, so
    places in both are equal. `used` are the functions by these names.
    """

    source: Source
    code: str
    used: Mapping[str, ToolEntry]

    @property
    def stubs(self) -> str:
        """The declarations of its functions, for the type checker."""
        return stubs(self.used)


def parse(
    code: str,
    functions: Functions,
    *,
    only_reads: str = "",
    check: Callable[[ToolEntry, Mapping[str, Any]], str] = lambda _entry, _arguments: "",
) -> Program:
    """Parse a program.

    Args:
        code: the text.
        functions: the functions that it may call.
        only_reads: name of the meta-tool to use instead, if tools that write are refused; else empty.
        check: returns the problem of a call with constant arguments; empty if they are valid.

    Raises:
        ToolError: it has mistakes (PROGRAM_ERROR).
    """
    # Python has one line break; with others, the places of the parser would differ.
    code = code.replace("\r\n", "\n").replace("\r", "\n").replace("\f", " ")
    source = Source(code)
    for unusable, name in _UNUSABLE:
        if found := unusable.search(code):
            line = code.count("\n", 0, found.start()) + 1
            column = found.start() - (code.rfind("\n", 0, found.start()) + 1) + 1
            raise refusal(source, [Mistake(line, column, 1, f"a program cannot contain {name}")])
    try:
        tree = ast.parse(code)
        nodes = list(ast.walk(tree))
    except SyntaxError as error:
        line = min(error.lineno or 1, len(source.lines))
        length = (error.end_offset or 0) - (error.offset or 0) if error.end_lineno == error.lineno else 1
        raise refusal(source, [Mistake(line, max(1, error.offset or 1), length, f"syntax: {error.msg}")]) from None
    except (ValueError, MemoryError, RecursionError):
        raise refusal(
            source, [Mistake(1, 1, 1, "the program cannot be parsed: its expressions are too deep")]
        ) from None
    reader = _Reader(source, functions, nodes, only_reads, check)
    mistakes = list(reader.mistakes())
    if mistakes:
        raise refusal(source, mistakes)
    return Program(source, reader.rewritten(), reader.used)


def refusal(source: Source, mistakes: Sequence[Mistake]) -> ToolError:
    """Return the error for mistakes that were found before the first call."""
    listed = sorted(set(mistakes), key=lambda each: (each.line, each.column, each.length, each.message))
    texts = [
        source.shown(each.line, each.column, each.length, _shortened(each.message + each.advice()))
        for each in listed[: limits.PROBLEMS]
    ]
    if len(listed) > limits.PROBLEMS:
        texts.append(f"{len(listed) - limits.PROBLEMS} more mistakes.")
    return ToolError("\n".join([*texts, "Nothing was run."]), code=PROGRAM_ERROR)


def _shortened(message: str) -> str:
    """Return a message with the middle left out if it is long: a name of a program has any length."""
    return (
        message if len(message) <= _MAX_MESSAGE else f"{message[: _MAX_MESSAGE // 2]}...{message[-_MAX_MESSAGE // 2 :]}"
    )


class _Reader:
    """Finds the functions that a program uses, and mistakes in their use."""

    def __init__(
        self,
        source: Source,
        functions: Functions,
        nodes: Sequence[ast.AST],
        only_reads: str,
        check: Callable[[ToolEntry, Mapping[str, Any]], str],
    ) -> None:
        self._source = source
        self._functions = functions
        self._nodes = nodes
        self._only_reads = only_reads
        self._check = check
        self._bound = frozenset(_bound(nodes))
        self._dots: dict[ast.Attribute, str] = {}
        """Attributes of categories, and the function of each."""
        self.used: dict[str, ToolEntry] = {}

    def mistakes(self) -> Iterator[Mistake]:
        """Yield the mistakes, and collect the functions that are used."""
        yield from self._categories()
        names: dict[ast.expr, str] = {
            node: node.id
            for node in self._nodes
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and self._is_function(node.id)
        }
        self.used.update((name, self._functions.by_name[name]) for name in names.values())
        uses: dict[ast.expr, str] = names | dict(self._dots.items())
        if self._only_reads:
            yield from self._writers(uses)
        for node in self._nodes:
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and node.value.func in uses:
                yield self._at(
                    node.value, f"the call of `{uses[node.value.func]}` is not awaited: write `await` before it"
                )
            if isinstance(node, ast.Call) and node.func in uses:
                yield from self._arguments(node, self.used[uses[node.func]])

    def rewritten(self) -> str:
        """Return the code with each function of a category under one name of the same length."""
        data = bytearray(self._source.data)
        for node in self._dots:
            dot = self._dot(node)
            data[dot : dot + 1] = b"_"
        return data.decode("utf-8", "surrogatepass")

    @cached_property
    def _starts(self) -> list[int]:
        """The offset of each line in UTF-8 bytes."""
        lengths = (len(line.encode("utf-8", "surrogatepass")) + 1 for line in self._source.lines)
        return list(accumulate(lengths, initial=0))

    def _dot(self, node: ast.Attribute) -> int:
        """Return the offset after the value of an attribute, in UTF-8 bytes."""
        return self._starts[(node.value.end_lineno or 1) - 1] + (node.value.end_col_offset or 0)

    def _is_function(self, name: str) -> bool:
        return name in self._functions.by_name and name not in self._bound

    def _categories(self) -> Iterator[Mistake]:
        for node in self._nodes:
            if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)):
                continue
            category, attribute = node.value.id, node.attr
            attributes = self._functions.by_category.get(category)
            if attributes is None or category in self._bound:
                continue
            if attribute not in attributes:
                message = f"`{category}` has no function `{attribute}`"
                yield self._at(node, message, partial(_nearest_attributes, category, attribute, attributes))
                continue
            function, joined = attributes[attribute], f"{category}_{attribute}"
            entry = self._functions.by_name[function]
            is_adjacent = node.end_lineno == node.value.end_lineno and (
                (node.end_col_offset or 0) - (node.value.end_col_offset or 0) == len(attribute.encode()) + 1
            )
            is_adjacent = is_adjacent and self._source.data[self._dot(node) :].startswith(b".")
            other = self._functions.by_name.get(joined, entry)
            if not is_adjacent or other is not entry or joined in self._bound:
                yield self._at(node, f"write `{function}` for `{category}.{attribute}`")
                continue
            self._dots[node] = joined
            self.used[joined] = entry

    def _writers(self, uses: Mapping[ast.expr, str]) -> Iterator[Mistake]:
        for node, name in uses.items():
            if not is_read_only(self.used[name]):
                tool = self.used[name]["tool"]["name"]
                yield self._at(node, f"`{tool}` is not read-only: run the program with `{self._only_reads}`")

    def _arguments(self, node: ast.Call, entry: ToolEntry) -> Iterator[Mistake]:
        """Check the names of the arguments of a call, and their values if all are constants."""
        if wrong := list(self._unknown_arguments(node, entry)):
            yield from wrong
            return
        if any(isinstance(argument, ast.Starred) for argument in node.args) or "claims" in entry:
            return
        names = [name for name, _, _ in parameters_of(entry)]
        pairs = [*zip(names, node.args, strict=False), *((keyword.arg, keyword.value) for keyword in node.keywords)]
        if len(node.args) > len(names) or any(name is None for name, _ in pairs):
            return
        try:
            arguments = {str(name): ast.literal_eval(value) for name, value in pairs}
            json.dumps(arguments)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return
        if problem := self._check(entry, arguments):
            yield self._at(node, problem)

    def _unknown_arguments(self, node: ast.Call, entry: ToolEntry) -> Iterator[Mistake]:
        names = [*(name for name, _, _ in parameters_of(entry)), *entry.get("argument_aliases", ())]
        # The server takes them in another spelling too.
        known = {name.replace("_", "").casefold() for name in names}
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg.replace("_", "").casefold() in known:
                continue
            column = self._source.column_of(keyword.lineno, keyword.col_offset)
            message = f"`{entry['tool']['name']}` has no argument `{keyword.arg}`"
            yield Mistake(
                keyword.lineno, column, len(keyword.arg), message, partial(_nearest_arguments, keyword.arg, names)
            )

    def _at(self, node: ast.expr, message: str, advice: Callable[[], str] = str) -> Mistake:
        column = self._source.column_of(node.lineno, node.col_offset)
        is_one_line = node.end_lineno == node.lineno
        end = self._source.column_of(node.lineno, node.end_col_offset or 0) if is_one_line else column + 1
        return Mistake(node.lineno, column, end - column, message, advice)


def _nearest_attributes(category: str, attribute: str, attributes: Mapping[str, str]) -> str:
    nearest = closest_matches(attribute, attributes) or list(attributes)
    # A function has two names: with its category, and without.
    named = {attributes[name]: name for name in reversed(nearest)}
    return f"; nearest: {', '.join(f'`{category}.{name}`' for name in list(reversed(named.values()))[:3])}"


def _nearest_arguments(name: str, names: Sequence[str]) -> str:
    nearest = closest_matches(name, names)
    return f"; nearest: {', '.join(f'`{each}`' for each in nearest)}" if nearest else f"; known: {', '.join(names)}"


def _bound(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield the names that a program gives a value anywhere: they are its own."""
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name):
                yield name
            case ast.alias(name=name, asname=other):
                yield other or name.partition(".")[0]
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.MatchMapping(rest=str(name)):
                yield name


def typing_mistakes(report: str, program: Program, functions: Functions) -> list[Mistake]:
    """Return the certain mistakes in the report of the type checker (JSON)."""
    try:
        found = json.loads(report)
    except ValueError:
        return []
    return [
        mistake
        for each in found
        if isinstance(each, dict) and (mistake := _typing_mistake(each, program, functions)) is not None
    ]


def _typing_mistake(found: Mapping[str, Any], program: Program, functions: Functions) -> Mistake | None:
    message, code = str(found.get("message", "")), found.get("code")
    advice: Callable[[], str] = str
    # A value that may be None is often known not to be.
    if code not in _CERTAIN or "`None`" in message or "None" in message.split():
        return None
    if code == "unresolved-attribute" and _COROUTINE not in message and "TypedDict" not in message:
        message = f'{message.rstrip(".")}; a dict has keys: `value["key"]`' if "Result" in message else message
    if _COROUTINE in message:
        message = "the result of a function that is not awaited: write `await` before the call"
    elif name := _NAME.search(message):
        message, advice = f"`{name[1]}` ", partial(_unknown_name, name[1], program, functions)
    start, end = found.get("location", {}), found.get("end_location", {})
    line, column = int(start.get("row", 1)), int(start.get("column", 1))
    length = int(end.get("column", column + 1)) - column if end.get("row") == line else 1
    return Mistake(line, column, length, message, advice)


def unknown_name(name: str, program: Program, functions: Functions) -> str:
    """Return the message for a name that is neither a function nor defined, with the nearest ones."""
    return f"`{name}` {_unknown_name(name, program, functions)}"


def _unknown_name(name: str, program: Program, functions: Functions) -> str:
    if name in functions.by_category:
        examples = ", ".join(f"`{name}.{each}`" for each in list(functions.by_category[name])[:3])
        return f"is a category, not a value: call its functions, such as {examples}"
    if hasattr(builtins, name):
        return "is not available: a program has no files, network or input, only the functions of this server"
    own = {node.id for node in ast.walk(ast.parse(program.source.code)) if isinstance(node, ast.Name)} - {name}
    nearest = closest_matches(name, [*functions.by_name, *own, *dir(builtins)])
    shown = f"; nearest: {', '.join(f'`{each}`' for each in nearest)}" if nearest else "; search for functions first"
    return f"is not defined{shown}"
