"""Which operations of a document are imported: by options, and by its extension `x-mcp`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from toolmason_runtime.shared.suggestions import did_you_mean
from toolmason_runtime.shared.toml.problems import quoted

from toolmason.importers.notes import ImporterError
from toolmason.importers.openapi.document import Operation, table, text
from toolmason.importers.openapi.options import Options

KINDS: Final = ("tag", "path", "method", "id")
"""What a pattern of `--include` and `--exclude` can name: `path=/v1/*`."""
_EXTENSIONS: Final = ("x-mcp", "x-speakeasy-mcp")


@dataclass(frozen=True, slots=True)
class Extension:
    """The extension of an operation: whether it becomes a tool, the name and the description of that tool."""

    enabled: bool = True
    name: str = ""
    description: str = ""


def extension(data: Mapping[str, Any], operation: Operation) -> Extension:
    """Return `x-mcp` of an operation; `enabled` can also be in that of its path or of the document."""
    item = table(table(data.get("paths")).get(operation.path))
    enabled, own = True, Extension()
    for part in (data, item, operation.data):
        value = next((part[key] for key in _EXTENSIONS if key in part), None)
        if isinstance(value, bool):
            enabled = value
        elif isinstance(value, Mapping):
            is_on = value.get("enabled", not value["disabled"] if isinstance(value.get("disabled"), bool) else None)
            enabled = is_on if isinstance(is_on, bool) else enabled
            own = Extension(name=text(value.get("name")), description=text(value.get("description")))
        if part is not operation.data:
            own = Extension()
    return Extension(enabled, own.name, own.description)


def select(operations: Sequence[Operation], options: Options) -> list[Operation]:
    """Return the operations that the options select, those that only read first and those that delete last.

    Raises:
        ImporterError: a pattern matches nothing, or nothing is left.
    """
    known_tags = list(dict.fromkeys(tag for operation in operations for tag in operation.tags))
    known = [name for operation in operations for name in (operation.id, operation.key) if name]
    _check("--tag", options.tags, known_tags)
    if operations and operations[0].graphql:
        for kind in ("query", "mutation"):
            _check(f"--{kind}", _after(f"POST /{kind}/", options.operations), _after(f"POST /{kind}/", known))
    else:
        _check("--operation", options.operations, known)
    for option, patterns in (("--include", options.include), ("--exclude", options.exclude)):
        for pattern in patterns:
            kind, glob = _parsed(pattern)
            _check(option, [glob], list(dict.fromkeys(name for each in operations for name in _names(each, kind))))
    selected = [
        operation
        for operation in operations
        if (not options.tags or any(_matches(tag, options.tags) for tag in operation.tags))
        and (
            not options.operations or any(_matches(name, options.operations) for name in (operation.id, operation.key))
        )
        and (not options.include or _is_named(operation, options.include))
        and not _is_named(operation, options.exclude)
        and (not options.read_only or operation.only_reads)
    ]
    if not selected:
        message = "no operation is left to import; change --include, --exclude, --tag, --operation or --read-only"
        raise ImporterError(message)
    return sorted(selected, key=lambda operation: 0 if operation.only_reads else _ORDER.get(operation.method, 1))


_ORDER: Final = {"DELETE": 2}


def _after(prefix: str, names: Iterable[str]) -> list[str]:
    """Return the names that begin with `prefix`, without it: `book` for `POST /query/book`."""
    return [name.removeprefix(prefix) for name in names if name.startswith(prefix)]


def _check(option: str, patterns: Iterable[str], names: list[str]) -> None:
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            hint = did_you_mean(pattern, names) or f"available: {', '.join(names[:8]) or 'none'}"
            raise ImporterError(f"{option} {quoted(pattern)} matches nothing in the document; {hint}")


def _parsed(pattern: str) -> tuple[str, str]:
    """Return kind and glob of a pattern; the kind is empty for one that any name may match."""
    kind, mark, glob = pattern.partition("=")
    if not mark or kind not in KINDS:
        return "", pattern
    return kind, glob.upper() if kind == "method" else glob


def _names(operation: Operation, kind: str) -> list[str]:
    names = {
        "tag": list(operation.tags),
        "path": [operation.path],
        "method": [operation.method],
        "id": [operation.id] if operation.id else [],
    }
    return names[kind] if kind else [*(name for each in names.values() for name in each), operation.key]


def _is_named(operation: Operation, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, glob) for kind, glob in map(_parsed, patterns) for name in _names(operation, kind))


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
