"""`contract.lock`: the contract of the last published version, beside the manifest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path, PurePosixPath
from typing import Any, Final, NotRequired, Required

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict  # that of typing is enough for pydantic from Python 3.12

from toolmason.diagnostics import Diagnostic, Diagnostics, Location
from toolmason.diagnostics import Severity as Level
from toolmason.diff.compare import compare
from toolmason.diff.contract import AccessContract, Contract, ToolContract
from toolmason.diff.manifest_side import manifest_contract
from toolmason.diff.report import Comparison
from toolmason.pipeline import LoadedManifest
from toolmason.project import Project

CHANGED: Final = "TM618"
"""Code of a contract that differs from the published one of the same or a too low version."""
UNREADABLE: Final = "TM619"
"""Code of a `contract.lock` that cannot be read."""
FORMAT: Final = "toolmason-contract-1"
MAX_BYTES: Final = 64 * 1024 * 1024
_TOOL_KEYS: Final = tuple(field.name for field in fields(ToolContract) if field.name not in {"name", "locate"})
_SERVER_KEYS: Final = ("prefix", "instructions", "style", "pinned", "prompts", "resources", "workflows")


class LockError(Exception):
    """The file is damaged, too large, or of another version of Toolmason."""


def dump(contract: Contract) -> str:
    """Return the text of the file, one tool per line: a change shows as few lines as possible in a review."""
    lines = [
        f'  "format": {json.dumps(FORMAT)}',
        f'  "name": {_line(contract.name)}',
        f'  "version": {_line(contract.version)}',
        *(f'  "{key}": {_line(getattr(contract, key))}' for key in _SERVER_KEYS),
    ]
    if contract.access is not None:
        access = {"rights": contract.access.rights, "hosts": contract.access.hosts}
        lines.append(f'  "access": {_line(access)}')
    tools = ",\n".join(f"    {_line(name)}: {_line(_tool(tool))}" for name, tool in sorted(contract.tools.items()))
    lines.append(f'  "tools": {{\n{tools}\n  }}' if tools else '  "tools": {}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _tool(tool: ToolContract) -> dict[str, Any]:
    """Return what differs from the defaults. The order of properties does not count, so `sort_keys` loses nothing."""
    empty = ToolContract(name="", arguments=None, listed=None)
    return {key: getattr(tool, key) for key in _TOOL_KEYS if getattr(tool, key) != getattr(empty, key)}


def parse(data: bytes, source: str) -> Contract:
    """Return the contract in the bytes of the file.

    Raises:
        LockError: the bytes are not such a contract.
    """
    try:
        table = json.loads(data)
        if table["format"] != FORMAT:
            raise LockError(f"its format is {table['format']!r}, not {FORMAT!r}")
        _check_types(table)
        access = table.get("access")
        return Contract(
            source=source,
            name=table["name"],
            version=str(table["version"]),
            tools={str(name): _parse_tool(str(name), tool) for name, tool in table["tools"].items()},
            access=access and AccessContract(rights=_rights(access["rights"]), hosts=dict(access["hosts"])),
            is_exact=True,
            **{key: _frozen(table[key]) for key in _SERVER_KEYS},
        )
    except KeyError as error:
        raise LockError(f"the key {error} is missing") from error
    except ValueError as error:
        raise LockError(f"it is no JSON: {error}") from error
    except (TypeError, AttributeError, RecursionError) as error:
        raise LockError("it is no contract of Toolmason") from error


class _Tool(TypedDict, total=False):
    """A tool in the file; `_parse_tool` refuses other keys."""

    arguments: Required[dict[str, Any] | bool]
    listed: Required[dict[str, Any] | bool | None]
    result: dict[str, Any] | bool | None
    title: str
    summary: str
    description: str
    category: str
    tier: str
    hints: dict[str, bool]
    aliases: list[str]
    argument_aliases: dict[str, str]
    deprecated: bool
    scopes: list[str] | None
    needs_tasks: bool | None


class _Access(TypedDict):
    rights: dict[str, dict[str, list[str] | None]]
    hosts: dict[str, str]


class _File(TypedDict):
    """The types of the file. Keys of a later version are ignored."""

    name: str | None
    version: str
    prefix: str | None
    instructions: str | None
    style: str | None
    pinned: list[str] | None
    prompts: dict[str, dict[str, Any]] | None
    resources: dict[str, dict[str, Any]] | None
    workflows: dict[str, str] | None
    access: NotRequired[_Access | None]
    tools: dict[str, _Tool]


def _check_types(table: Any) -> None:
    """Check the types of the values in the file.

    Raises:
        LockError: a value has another type, or a schema is invalid.
        KeyError: a key is missing.
    """
    try:
        TypeAdapter(_File).validate_python(table, strict=True)
    except ValidationError as error:
        (first, *_) = error.errors(include_url=False, include_input=False)
        place = ".".join(map(str, first["loc"]))
        if first["type"] == "missing" and len(first["loc"]) == 1:
            raise KeyError(place) from error
        raise LockError(f"`{place}`: {first['msg'].lower()}") from error


def _check_schemas(released: Contract, current: Contract) -> None:
    """Check the schemas that are not those of the manifest, which are valid.

    Raises:
        LockError: one is invalid.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    for name, tool in released.tools.items():
        same = current.tools.get(name)
        for key in ("arguments", "listed", "result"):
            schema = getattr(tool, key)
            if schema is None or (same is not None and schema == getattr(same, key)):
                continue
            try:
                Draft202012Validator.check_schema(schema)
            except SchemaError as error:
                place = ".".join(map(str, error.absolute_path))
                raise LockError(f"`tools.{name}.{key}` is no JSON Schema: `{place}`: {error.message}") from error


def _parse_tool(name: str, table: Mapping[str, Any]) -> ToolContract:
    if unknown := table.keys() - set(_TOOL_KEYS):
        raise LockError(f"the tool {name!r} has the unknown key {min(unknown)!r}")
    return ToolContract(
        name=name, **{"arguments": None, "listed": None} | {key: _frozen(value) for key, value in table.items()}
    )


def _frozen(value: Any) -> Any:
    """Return a list of names as a tuple, as contracts have it; schemas are objects and stay."""
    return tuple(value) if isinstance(value, list) else value


def _rights(rights: Mapping[str, Any]) -> dict[str, dict[str, tuple[str, ...] | None]]:
    return {table: {key: _frozen(value) for key, value in keys.items()} for table, keys in rights.items()}


def read_lock(path: Path, source: str = "") -> Contract:
    """Return the contract in a file. `source` is its name in messages, by default that of the file.

    Raises:
        LockError: the file is damaged, too large, or of another version of Toolmason.
        OSError: it cannot be read.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise LockError("it is no file")
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise LockError(f"it is larger than {MAX_BYTES // 1024 // 1024} MiB")
    return parse(data, source or path.name)


def compare_released(released: Contract, current: Contract) -> Comparison:
    """Return the comparison of a contract with the published one.

    Raises:
        LockError: a schema of the published one is invalid.
    """
    _check_schemas(released, current)
    return Comparison(old=released, new=current, changes=compare(released, current))


def version_problem(comparison: Comparison) -> str:
    """Return why the new contract cannot have its version; the empty string if it can."""
    own, published = comparison.new.version, comparison.old.version
    if not comparison.changes:
        return ""
    if own == published:
        return f"version {own} is published, and its contract has changed ({comparison.counted})"
    if comparison.has_low_version:
        return f"version {own} is too low for the changes since {published} ({comparison.counted})"
    return ""


def check_released(project: Project, manifest: LoadedManifest, diagnostics: Diagnostics, *, level: Level) -> None:
    """Add a finding if the contract of a published version has changed or cannot be read, or the version is too low.

    `level` is the severity of the first two; the last is a warning.
    """
    try:
        released = read_lock(project.contract_lock)
        current = manifest_contract(manifest, project.root, source=project.shown_manifest)
        comparison = compare_released(released, current)
    except (LockError, OSError) as error:
        diagnostics.add(_unreadable(project, error, level))
        return
    if problem := version_problem(comparison):
        required = comparison.required_version
        fix = f'set `version = "{required}"`' if required else "set another version"
        manifest.document.report(
            diagnostics,
            CHANGED,
            problem,
            ("server", "version"),
            hint=f"{fix}, or undo the changes; to see them, run: toolmason diff {project.shown_contract_lock}",
            severity=level if current.version == released.version else Level.WARNING,
        )


def _unreadable(project: Project, error: Exception, level: Level) -> Diagnostic:
    return Diagnostic(
        code=UNREADABLE,
        message=f"cannot read the published contract: {error}",
        location=Location(PurePosixPath(project.shown_contract_lock)),
        hint="restore the file from version control, or write it again: toolmason release --force",
        severity=level,
    )
