"""Definitions and references in source files, by tree-sitter and the queries `tags.scm` of its grammars."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib import import_module
from threading import Lock
from time import thread_time
from typing import Any, Final

from workbench_handlers.workspace.packages import require

MAX_CACHED: Final = 5_000
"""Files whose tags are kept, a few kilobytes each."""
MAX_PARSED_CHARS: Final = 1_000_000
"""Maximum characters of a file that is parsed."""
MAX_PARSE_S: Final = 0.25
"""Maximum processor time for parsing a file."""
MAX_ERROR_COST: Final = 25_000_000
"""Maximum sum of the squared numbers of children of the `ERROR` nodes of a file: a query takes 4 ns for each."""
MAX_VISITED: Final = 50_000
"""Maximum nodes that are visited for that sum."""
_CHUNK: Final = 65_536

_GRAMMARS: Final = {
    "python": ("tree_sitter_python", "language", (".py", ".pyi", ".pyw")),
    "javascript": ("tree_sitter_javascript", "language", (".js", ".jsx", ".mjs", ".cjs")),
    "typescript": ("tree_sitter_typescript", "language_typescript", (".ts", ".mts", ".cts")),
    "tsx": ("tree_sitter_typescript", "language_tsx", (".tsx",)),
    "go": ("tree_sitter_go", "language", (".go",)),
    "rust": ("tree_sitter_rust", "language", (".rs",)),
    "java": ("tree_sitter_java", "language", (".java",)),
    "c": ("tree_sitter_c", "language", (".c", ".h")),
    "cpp": ("tree_sitter_cpp", "language", (".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx")),
    "c_sharp": ("tree_sitter_c_sharp", "language", (".cs",)),
    "ruby": ("tree_sitter_ruby", "language", (".rb",)),
    "php": ("tree_sitter_php", "language_php", (".php",)),
}
"""Name -> module of the grammar, function in it, suffixes."""
_LANGUAGES: Final = {suffix: name for name, (_, _, suffixes) in _GRAMMARS.items() for suffix in suffixes}
_EXTRA: Final = {
    "python": "(import_from_statement name: (dotted_name (identifier) @name)) @reference.import\n",
    "c_sharp": """
        (class_declaration name: (identifier) @name) @definition.class
        (interface_declaration name: (identifier) @name) @definition.interface
        (struct_declaration name: (identifier) @name) @definition.class
        (method_declaration name: (identifier) @name) @definition.method
        (invocation_expression function: (identifier) @name) @reference.call
        (invocation_expression function: (member_access_expression name: (identifier) @name)) @reference.call
        (object_creation_expression type: (identifier) @name) @reference.class
    """,
}
"""Patterns that the queries of the grammars do not have, or that their packages cannot load."""
_BASE: Final = {"typescript": "tree_sitter_javascript", "tsx": "tree_sitter_javascript", "cpp": "tree_sitter_c"}
"""Languages whose query only has what they add to another language."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A named class, function or constant: its 1-based lines, both included."""

    name: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Tags:
    """The definitions of a file in order, and the number of references to each name."""

    definitions: tuple[Definition, ...] = ()
    references: tuple[tuple[str, int], ...] = ()


def is_supported(path: str) -> bool:
    """Return whether there is a grammar for a file."""
    return _suffix(path) in _LANGUAGES


def parse_tags(path: str, text: str) -> Tags:
    """Return the tags of a file; none for other languages, very large files, and syntax that cannot be parsed soon.

    Raises:
        NotInstalledError: tree-sitter is missing.
    """
    language = _LANGUAGES.get(_suffix(path))
    if language is None or len(text) > MAX_PARSED_CHARS:
        return Tags()
    grammar, query = _grammar(language)
    if query is None:
        return Tags()
    data = text.encode("utf-8", "replace")
    root = _parse(grammar, data)
    if root is None or not _is_cheap(root):
        return Tags()
    definitions: dict[tuple[str, int], Definition] = {}
    references: dict[str, int] = {}
    for name, kind, node in _matches(query, root, data):
        if kind.startswith("definition"):
            first = node.start_point[0] + 1
            last = node.end_point[0] + (1 if node.end_point[1] else 0)
            known = definitions.get((name, first))
            if known is None or known.last < last:
                definitions[name, first] = Definition(name, first, max(first, last))
        elif kind.startswith("reference"):
            references[name] = references.get(name, 0) + 1
    ordered = sorted(definitions.values(), key=lambda definition: (definition.first, -definition.last))
    return Tags(tuple(ordered), tuple(references.items()))


def _parse(grammar: Any, data: bytes) -> Any:
    """Return the root node of a file; None if parsing takes longer than `MAX_PARSE_S`."""
    from tree_sitter import Parser

    end = thread_time() + MAX_PARSE_S
    try:
        tree = Parser(grammar).parse(
            lambda offset, _point: data[offset : offset + _CHUNK],
            progress_callback=lambda _offset, _has_error: thread_time() > end,
        )
    except ValueError:  # it was stopped
        return None
    return tree.root_node


def _is_cheap(root: Any) -> bool:
    """Return whether a query of a tree takes time in proportion to its size.

    The query cannot be stopped: its `progress_callback` ends the process in tree-sitter 0.26. It takes quadratic time
    for the children of an `ERROR` node, such as the brackets of a file that only consists of these.
    """
    cost = visited = 0
    nodes = [root]
    while nodes:
        node = nodes.pop()
        visited += node.child_count
        if node.type == "ERROR":
            cost += node.child_count**2
        if cost > MAX_ERROR_COST or visited > MAX_VISITED:
            return not root.has_error
        if node.has_error:
            nodes.extend(node.children)
    return True


def _matches(query: Any, root: Any, data: bytes) -> Iterable[tuple[str, str, Any]]:
    """Yield the name, the kind and the node of each match."""
    from tree_sitter import QueryCursor

    for _, captures in QueryCursor(query).matches(root):
        if not (names := captures.get("name")):
            continue
        name = data[names[0].start_byte : names[0].end_byte].decode("utf-8", "replace")
        for kind, nodes in captures.items():
            if kind not in {"name", "doc"}:
                yield name, kind, nodes[0]


class TagCache:
    """The tags of files that were parsed before, by their content: a second question about the same files is fast."""

    def __init__(self, max_files: int = MAX_CACHED) -> None:
        self._max_files = max_files
        self._tags: OrderedDict[tuple[str, str], Tags] = OrderedDict()
        self._lock = Lock()

    def parse(self, path: str, text: str) -> Tags:
        """Return the tags of a file; see `parse_tags`."""
        key = (_suffix(path), blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest())
        with self._lock:
            if key in self._tags:
                self._tags.move_to_end(key)
                return self._tags[key]
        tags = parse_tags(path, text)
        with self._lock:
            self._tags[key] = tags
            while len(self._tags) > self._max_files:
                self._tags.popitem(last=False)
        return tags


@cache
def _grammar(language: str) -> tuple[Any, Any]:
    """Return the grammar and the query of a language; no query if its grammar is not installed or does not fit."""
    for package in ("tree_sitter", "tree_sitter_python"):
        require(package, extra="research")
    from tree_sitter import Language, Query, QueryError

    module_name, function, _ = _GRAMMARS[language]
    try:
        module = import_module(module_name)
        grammar = Language(getattr(module, function)())
        query = getattr(module, "TAGS_QUERY", None) or ""
        if base := _BASE.get(language):
            query += getattr(import_module(base), "TAGS_QUERY", None) or ""
    except (ImportError, ValueError):  # ValueError: a grammar for another version of tree-sitter
        return None, None
    query += _EXTRA.get(language, "")
    for text in (query, getattr(module, "TAGS_QUERY", None) or ""):
        try:
            return grammar, Query(grammar, text)
        except QueryError:
            continue
    return None, None


def _suffix(path: str) -> str:
    name = path.rpartition("/")[2]
    return name[name.rfind(".") :].casefold() if "." in name else ""
