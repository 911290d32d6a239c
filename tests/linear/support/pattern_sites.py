"""The patterns of a package, found without a list of them.

Every module is imported while `re` and `regex` report what they compile, and from where. The syntax trees add the
patterns that only a call of a function compiles, and the operations for which each is used. A pattern that a function
builds from parts is known once the function was called: see `calls.py`.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import regex

COMPILING = {"compile", "findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn", "template"}
AS_OPERATION = {"findall": "finditer", "subn": "sub", "scanner": "finditer"}
UNKNOWN = frozenset({"finditer"})
"""What is tried for a pattern whose use is not visible: an element of a list, an argument."""


@dataclass
class Site:
    """A place that compiles patterns: `path:line`, what it compiled so far, and the operations that use them."""

    path: Path
    line: int
    expression: str
    name: str = ""
    """The name that gets the compiled pattern."""
    operations: frozenset[str] = UNKNOWN
    patterns: dict[tuple[Any, int], re.Pattern[Any]] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


class Recorder:
    """What `re` and `regex` compile for the modules below `roots`, by file and line."""

    def __init__(self, roots: tuple[Path, ...]) -> None:
        self._roots = tuple(f"{root}/" for root in roots)
        self.compiled: dict[tuple[str, int], dict[tuple[Any, int], re.Pattern[Any]]] = {}

    def start(self) -> None:
        """Report from now on. There is no way back: use a process of its own."""
        original = re._compile  # type: ignore[attr-defined]

        def recording(pattern: Any, flags: int) -> re.Pattern[Any]:
            compiled: re.Pattern[Any] = original(pattern, flags)
            self._record(sys._getframe(2), compiled)
            return compiled

        re._compile = recording  # type: ignore[attr-defined]
        compile_regex = regex.compile

        def recording_regex(pattern: Any, *args: Any, **kwargs: Any) -> Any:
            compiled = compile_regex(pattern, *args, **kwargs)
            self._record(sys._getframe(1), compiled)
            return compiled

        regex.compile = recording_regex

    def _record(self, frame: FrameType | None, compiled: Any) -> None:
        name = frame.f_code.co_filename if frame else ""
        if frame and name.startswith(self._roots):
            self.compiled.setdefault((name, frame.f_lineno), {})[compiled.pattern, compiled.flags] = compiled


def import_all(packages: tuple[str, ...]) -> list[ModuleType]:
    """Import `packages` with all modules. A module whose optional dependency is not installed counts as a file only."""
    modules = []
    for package in map(importlib.import_module, packages):
        names = (module.name for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."))
        modules.append(package)
        for name in names:
            if not name.endswith("__main__"):  # these run
                try:
                    modules.append(importlib.import_module(name))
                except ModuleNotFoundError as error:
                    if (error.name or "").startswith(packages):
                        raise
    return modules


def sites(package_roots: tuple[Path, ...], recorder: Recorder) -> list[Site]:
    """Return each place below `package_roots` that compiles patterns, with those that are known so far."""
    files = {path: ast.parse(path.read_bytes()) for root in package_roots for path in sorted(root.rglob("*.py"))}
    uses = _uses(files)
    loaded = {module.__file__: module for module in list(sys.modules.values()) if getattr(module, "__file__", None)}
    found: dict[tuple[str, int], Site] = {}
    for path, tree in files.items():
        module = loaded.get(str(path))
        for call, name in _calls(tree):
            place = (str(path), call.lineno)
            site = found.setdefault(place, Site(path, call.lineno, ast.unparse(call), name))
            site.operations = _operations(path, call, name, uses)
            if module and (compiled := _evaluated(call, vars(module))):
                site.patterns[compiled.pattern, compiled.flags] = compiled
    for place, patterns in recorder.compiled.items():
        site = found.setdefault(place, Site(Path(place[0]), place[1], "compiled here"))
        site.patterns |= patterns
    return list(found.values())


def _calls(tree: ast.Module) -> Iterator[tuple[ast.Call, str]]:
    """Return each call of `re.X` or `regex.X`, and what becomes of a compiled pattern: a name, `.match`, or nothing."""
    chained = {
        id(node.func.value): f".{node.func.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in COMPILING
    }
    names = chained | {
        id(node.value): target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re" | "regex"), attr=attribute), args=[_, *_]):
                if attribute in COMPILING:
                    yield node, names.get(id(node), "")


def _uses(files: dict[Path, ast.Module]) -> dict[tuple[Path, str], set[str]]:
    """Return the operations on each name of each file: `{(path, "_NAME"): {"fullmatch"}}`; "" for any other use."""
    uses: dict[tuple[Path, str], set[str]] = {}
    for path, tree in files.items():
        operated: set[int] = set()
        for node in ast.walk(tree):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name() | ast.Attribute() as owner, attr=attribute) as function
                ):
                    if attribute in COMPILING - {"compile"}:
                        operated |= {id(owner), id(function)}
                        has_place = attribute == "match" and len(node.args) > 1
                        operation = "tokens" if has_place else AS_OPERATION.get(attribute, attribute)
                        uses.setdefault((path, _name(owner)), set()).add(operation)
                case ast.Attribute(value=ast.Name() | ast.Attribute() as owner, attr=attribute):
                    if attribute in COMPILING - {"compile"} and id(node) not in operated:  # `map(_X.match, lines)`
                        operated.add(id(owner))
                        uses.setdefault((path, _name(owner)), set()).add(AS_OPERATION.get(attribute, attribute))
                    elif attribute in ("pattern", "flags", "groupindex"):
                        operated.add(id(owner))
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Name | ast.Attribute)
                and isinstance(node.ctx, ast.Load)
                and id(node) not in operated
            ):
                uses.setdefault((path, _name(node)), set()).add("")
    return uses


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _operations(path: Path, call: ast.Call, name: str, uses: dict[tuple[Path, str], set[str]]) -> frozenset[str]:
    function = call.func
    assert isinstance(function, ast.Attribute)
    if function.attr != "compile":
        return frozenset({AS_OPERATION.get(function.attr, function.attr)})
    if name.startswith("."):
        return frozenset({AS_OPERATION.get(name[1:], name[1:])})
    # A private name is used in its module alone.
    places = [path] if name.startswith("_") else {place for place, used in uses if used == name}
    known = set().union(*(uses.get((place, name), set()) for place in places)) if name else {""}
    return frozenset(known - {""}) | (UNKNOWN if "" in known or not known else frozenset())


def _evaluated(call: ast.Call, names: dict[str, Any]) -> re.Pattern[Any] | None:
    """Return the pattern of `call` if it only depends on `names`, those of the module."""
    function = call.func
    assert isinstance(function, ast.Attribute)
    place = {"compile": 1, "sub": 4, "subn": 4, "split": 3}.get(function.attr, 2)
    flags = next((keyword.value for keyword in call.keywords if keyword.arg == "flags"), None)
    if flags is None and len(call.args) > place:
        flags = call.args[place]
    library: Callable[..., Any] = {"re": re, "regex": regex}[_name(function.value)].compile
    try:
        pattern, value = (eval(ast.unparse(node), dict(names)) if node else 0 for node in (call.args[0], flags))
    except Exception:  # noqa: BLE001 - the expression needs what only the function knows
        return None
    return library(pattern, value) if isinstance(pattern, str | bytes) else None
