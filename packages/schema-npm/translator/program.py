"""The modules of the library: their names, signatures and types, as far as the translator needs them."""

from __future__ import annotations

import ast
import builtins
import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Final

ENUMS: Final = frozenset({"Enum", "IntEnum", "StrEnum"})
_STATEMENTS: Final = (ast.AnnAssign, ast.Assign, ast.ClassDef, ast.Expr, ast.FunctionDef, ast.Import, ast.ImportFrom)
"""The statements of a module."""
ERRORS: Final = frozenset({"Exception", "LookupError", "ValueError"})
_PRIMITIVES: Final = {"str": "str", "bool": "bool", "int": "int", "float": "number"}
_GENERICS: Final = {
    **dict.fromkeys(("list", "tuple", "Sequence"), "seq"),
    **dict.fromkeys(("dict", "Mapping"), "dict"),
    **dict.fromkeys(("set", "frozenset"), "set"),
}


class UnsupportedError(Exception):
    """The translator does not know a construct."""

    def __init__(self, module: str, node: ast.AST, message: str) -> None:
        super().__init__(f"{module}.py:{getattr(node, 'lineno', 0)}: {message}: {ast.unparse(node)[:100]}")


@dataclass(frozen=True, kw_only=True)
class Signature:
    """The parameters of a function, with `self` removed."""

    positional: tuple[str, ...]
    keyword_only: tuple[str, ...]
    rest: str = ""
    returns: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters in JavaScript, where keyword-only ones follow the others."""
        return self.positional + self.keyword_only


@dataclass(kw_only=True)
class Module:
    """One module of the library."""

    name: str
    tree: ast.Module
    live: ModuleType
    bindings: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The module and the name behind each global name; an empty name stands for the module itself."""


@dataclass(kw_only=True)
class Symbol:
    """One global name: a function, a class or a constant."""

    module: Module
    name: str
    node: ast.stmt
    js_name: str = ""


class Program:
    """All modules, in an order in which each follows its imports."""

    def __init__(self, names: Mapping[str, Path]) -> None:
        self.modules: dict[str, Module] = {}
        self.symbols: dict[tuple[str, str], Symbol] = {}
        self.methods: dict[str, list[Signature]] = {}
        """The methods of all classes by their name."""
        self.properties: set[str] = set()
        self.members: dict[str, set[str]] = {}
        """The types of the attributes of all classes by their name."""
        self.records: set[str] = set()
        """The dataclasses by their names in JavaScript."""
        self.tuple_fields: set[str] = set()
        self.table_fields: set[str] = set()
        """The fields of classes whose values come from a mapping: their names are those of keys."""
        self.enum_properties: dict[str, Symbol] = {}
        self.aliases: dict[str, str] = {}
        self._paths = names
        for name in names:
            self._load(name)
        self._name_symbols()
        for symbol in self.symbols.values():
            if isinstance(symbol.node, ast.ClassDef):
                self._add_class(symbol)

    def resolve(self, module: Module, name: str) -> Symbol | None:
        """Return the symbol that a global name of a module stands for; None for one of another library."""
        target = module.bindings.get(name, (module.name, name))
        return self.symbols.get(target)

    def type_of(self, annotation: ast.expr | None) -> str:
        """Return `str`, `bool`, `int`, `number`, `seq`, `dict`, `set`, `plain`, or "" if unknown.

        `plain` stands for a value whose truth is the same in JavaScript, such as `str | None` or an instance.
        """
        match annotation:
            case ast.Name(id=name) if name in self.aliases:
                return self.aliases[name]
            case ast.Name(id=name):
                is_class = any(key[1] == name and isinstance(it.node, ast.ClassDef) for key, it in self.symbols.items())
                return _PRIMITIVES.get(name, _GENERICS.get(name, "plain" if is_class else ""))
            case ast.Subscript(value=ast.Name(id="Literal")):
                return "str"
            case ast.Subscript(value=ast.Name(id="Final"), slice=inner):
                return self.type_of(inner)
            case ast.Subscript(value=ast.Name(id=name)):
                return _GENERICS.get(name, "")
            case ast.Subscript(value=ast.Attribute(attr="Match" | "Pattern")):
                return "plain"
            case ast.Constant(value=None):
                return "plain"
            case ast.Constant(value=str(text)):
                return self.type_of(ast.parse(text, mode="eval").body)
            case ast.BinOp(op=ast.BitOr(), left=left, right=right):
                types = {self.type_of(left), self.type_of(right)}
                return "plain" if types <= {*_PRIMITIVES.values(), "plain"} else ""
        return ""

    def fields(self, node: ast.ClassDef) -> list[ast.AnnAssign]:
        """Return the fields of a dataclass or NamedTuple."""
        return [item for item in node.body if isinstance(item, ast.AnnAssign)]

    def signature(self, node: ast.FunctionDef | ast.ClassDef, *, is_method: bool = False) -> Signature:
        """Return the parameters of a function, or of the constructor of a class."""
        if isinstance(node, ast.ClassDef):
            init = next((it for it in node.body if isinstance(it, ast.FunctionDef) and it.name == "__init__"), None)
            if init is not None:
                return self.signature(init, is_method=True)
            return Signature(positional=tuple(_target(item) for item in self.fields(node)), keyword_only=())
        arguments = node.args
        names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
        return Signature(
            positional=tuple(names[1:] if is_method else names),
            keyword_only=tuple(argument.arg for argument in arguments.kwonlyargs),
            rest=arguments.vararg.arg if arguments.vararg else "",
            returns=self.type_of(node.returns),
        )

    def is_enum(self, node: ast.stmt) -> bool:
        """Return whether a class is an enum."""
        return isinstance(node, ast.ClassDef) and any(name in ENUMS for name in base_names(node))

    def _load(self, name: str) -> None:
        if name in self.modules:
            return
        tree = ast.parse(self._paths[name].read_text(encoding="utf-8"))
        module = Module(name=name, tree=tree, live=importlib.import_module(name))
        for node in tree.body:
            if not isinstance(node, _STATEMENTS):
                raise UnsupportedError(name, node, f"`{type(node).__name__}` is not translated")
            if isinstance(node, ast.ImportFrom):
                self._bind(module, node)
        self.modules[name] = module
        for node in tree.body:
            for target in _defined(node):
                if target in self.aliases or _is_alias(node):
                    self.aliases[target] = self.type_of(_alias_value(node))
                elif target != "__all__":
                    self.symbols[name, target] = Symbol(module=module, name=target, node=node)

    def _bind(self, module: Module, node: ast.ImportFrom) -> None:
        for alias in node.names:
            source = f"{node.module}.{alias.name}"
            if source in self._paths:
                self._load(source)
                module.bindings[alias.asname or alias.name] = (source, "")
            elif node.module is not None and node.module in self._paths:
                self._load(node.module)
                inner = self.modules[node.module].bindings.get(alias.name, (node.module, alias.name))
                module.bindings[alias.asname or alias.name] = inner

    def _name_symbols(self) -> None:
        """Give every symbol a name of its own; private ones of several modules get a number."""
        used = {*dir(builtins)}
        for symbol in self.symbols.values():
            candidate, number = js_identifier(symbol.name), 2
            while candidate in used:
                candidate, number = f"{js_identifier(symbol.name)}${number}", number + 1
            used.add(candidate)
            symbol.js_name = candidate

    def _add_class(self, symbol: Symbol) -> None:
        node = symbol.node
        assert isinstance(node, ast.ClassDef)  # noqa: S101  the caller has checked it
        if "dataclass" in decorators(node):
            self.records.add(symbol.js_name)
        for item in node.body:
            if isinstance(item, ast.AnnAssign):
                self.members.setdefault(_target(item), set()).add(self.type_of(item.annotation))
                if "NamedTuple" in base_names(node):
                    self.tuple_fields.add(_target(item))
            if not isinstance(item, ast.FunctionDef):
                continue
            if decorators(item) & {"property", "cached_property"}:
                if self.is_enum(node):
                    self.enum_properties[item.name] = symbol
                else:
                    self.properties.add(item.name)
                    self.members.setdefault(item.name, set()).add(self.type_of(item.returns))
            elif item.name != "__init__":
                self.methods.setdefault(item.name, []).append(self.signature(item, is_method=True))
            for inner in ast.walk(item):
                if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Attribute):
                    self.members.setdefault(inner.target.attr, set()).add(self.type_of(inner.annotation))
                elif isinstance(inner, ast.Assign):
                    for target in inner.targets:
                        if isinstance(target, ast.Attribute) and item.name == "__init__":
                            self.members.setdefault(target.attr, set()).add(_type_of_value(inner.value))


_RESERVED: Final = frozenset(
    {"arguments", "await", "case", "catch", "const", "default", "delete", "do", "enum", "eval", "export", "extends"}
    | {"function", "implements", "instanceof", "interface", "let", "new", "null", "package", "private", "protected"}
    | {"public", "static", "super", "switch", "this", "throw", "typeof", "undefined", "var", "void"}
    | {"Array", "Map", "Number", "Object", "Set", "String", "Symbol"}
)


def js_identifier(name: str) -> str:
    """Return a name that JavaScript accepts for a variable."""
    return f"{name}$" if name in _RESERVED else name


def decorators(node: ast.FunctionDef | ast.ClassDef) -> set[str]:
    """Return the names of the decorators."""
    return {name.id for item in node.decorator_list for name in ast.walk(item) if isinstance(name, ast.Name)}


def base_names(node: ast.ClassDef) -> list[str]:
    """Return the names of the base classes."""
    return [base.id for base in node.bases if isinstance(base, ast.Name)]


def constant_value(node: ast.expr) -> Any:
    """Return the value of arithmetic on literals, such as `2**53 - 1`; None for anything else."""
    if any(not isinstance(part, ast.BinOp | ast.Constant | ast.operator) for part in ast.walk(node)):
        return None
    values = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
    if not all(type(value) is int for value in values):
        return None
    return eval(compile(ast.Expression(body=node), "", "eval"), {})  # noqa: S307  only integers and operators


def _target(node: ast.AnnAssign) -> str:
    assert isinstance(node.target, ast.Name)  # noqa: S101  fields of classes
    return node.target.id


def _defined(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id
    elif isinstance(node, ast.Assign):
        yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _is_alias(node: ast.stmt) -> bool:
    """Return whether a statement defines a type."""
    if isinstance(node, ast.AnnAssign):
        return isinstance(node.annotation, ast.Name) and node.annotation.id == "TypeAlias"
    value = _alias_value(node)
    is_generic = isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name) and value.value.id != "Final"
    is_variable = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "TypeVar"
    return isinstance(node, ast.Assign) and (is_generic or is_variable)


def _alias_value(node: ast.stmt) -> ast.expr | None:
    return node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None


def _type_of_value(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=bool()):
            return "bool"
        case ast.Constant(value=int()):
            return "int"
        case ast.Constant(value=str()):
            return "str"
    return ""
