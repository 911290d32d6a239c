"""Translate expressions."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from translator.program import (
    ERRORS,
    Module,
    Program,
    Signature,
    Symbol,
    UnsupportedError,
    constant_value,
    js_identifier,
)
from translator.regexes import js_flags, to_js_pattern

MAX_SAFE_INTEGER: Final = 2**53 - 1
_COMPARISONS: Final = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_SET_COMPARISONS: Final = {ast.Lt: "$lt", ast.LtE: "$le", ast.Gt: "$gt", ast.GtE: "$ge"}
_OPERATORS: Final = {
    ast.Add: "$add",
    ast.Sub: "$sub",
    ast.Mult: "$mul",
    ast.Mod: "$mod",
    ast.Div: "$div",
    ast.FloorDiv: "$fdiv",
    ast.BitOr: "$or",
    ast.BitAnd: "$and",
    ast.Pow: "$pow",
}
_NATIVE: Final = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
_BUILTINS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("any", "all", "isinstance", "bool", "callable"), "bool"),
    **dict.fromkeys(("str", "chr"), "str"),
    **dict.fromkeys(("len", "ord", "id"), "int"),
    **dict.fromkeys(("list", "tuple", "sorted"), "seq"),
    **dict.fromkeys(("set", "frozenset"), "set"),
    **dict.fromkeys(("abs", "enumerate", "float", "int", "iter", "map", "max", "min", "next", "range"), ""),
    **dict.fromkeys(("reversed", "round", "sum", "zip", "filter", "type"), ""),
    "dict": "dict",
}
"""Builtin functions that `runtime.js` has, and the types of their results."""
_LIBRARY: Final = frozenset(
    {"Fraction", "MappingProxyType", "TopologicalSorter", "accumulate", "ceil", "combinations", "floor", "islice"}
    | {"lcm", "reduce", "unquote", "urljoin"}
)
"""Names that modules import from the standard library and `runtime.js` has."""
_METHODS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("startswith", "endswith", "isdecimal", "isdigit", "isidentifier", "isprintable"), "bool"),
    **dict.fromkeys(("isascii", "isalnum", "isupper", "isdisjoint", "issuperset", "is_integer"), "bool"),
    **dict.fromkeys(("join", "lower", "upper", "strip", "rstrip", "lstrip", "removeprefix", "removesuffix"), "str"),
    **dict.fromkeys(("replace", "format"), "str"),
    **dict.fromkeys(("split", "partition", "rpartition"), "seq"),
    **dict.fromkeys(("keys", "intersection", "union"), "set"),
    **dict.fromkeys(
        ("append", "extend", "add", "discard", "remove", "update", "clear", "pop", "get", "setdefault"), ""
    ),
    **dict.fromkeys(("items", "values", "find", "index", "encode", "difference_update"), ""),
    **dict.fromkeys(("fullmatch", "search"), "plain"),
    **dict.fromkeys(("finditer", "findall", "sub"), ""),
}
"""Methods of builtin types that `runtime.js` has as functions, and the types of their results."""
_CONSUMERS: Final = frozenset({"reversed", "sum"})
"""Functions that consume all of a generator, beside those with a translation of their own."""
_FUNCTIONS: Final = {"add": "$append", "encode": "$encode_text", "format": "$format_text", "sub": "$resub"}
"""Methods whose functions in `runtime.js` have another name."""
_MAX_ARGUMENTS: Final = 2
"""Maximum arguments of these methods."""
_TRUE_TYPES: Final = frozenset({"str", "bool", "int", "number", "plain"})
"""Types whose truth is the same in JavaScript."""
_REPLACED_TEXTS: Final = {"a Python `": "a JavaScript `"}


class Expressions:
    """Translates the expressions of one module; `types` has the local variables of the current function."""

    def __init__(self, program: Program, module: Module, used: set[tuple[str, str]], attributes: set[str]) -> None:
        self.program = program
        self.module = module
        self.used = used
        """The symbols that the translated code needs."""
        self.attributes = attributes
        """Names of attributes that the translated code needs."""
        self.types: dict[str, str] = {}
        self.temporaries = 0

    def fail(self, node: ast.AST, message: str) -> UnsupportedError:
        """Return the error for a construct without translation."""
        return UnsupportedError(self.module.name, node, message)

    def expression(self, node: ast.expr) -> str:
        """Return an expression in JavaScript."""
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise self.fail(node, f"`{type(node).__name__}` is not translated")
        text: str = method(node)
        return text

    def condition(self, node: ast.expr) -> str:
        """Return an expression with the truth of a Python expression."""
        if isinstance(node, ast.BoolOp):
            operator = " && " if isinstance(node.op, ast.And) else " || "
            return f"({operator.join(map(self.condition, node.values))})"
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return f"!{self.condition(node.operand)}"
        text = self.expression(node)
        type_ = self.type_of(node)
        if type_ in _TRUE_TYPES:
            return text
        if type_ in {"dict", "set"}:
            return f"{text}.size"
        return f"{text}.length" if type_ == "seq" and isinstance(node, ast.Name | ast.Attribute) else f"$t({text})"

    def type_of(self, node: ast.expr) -> str:
        """Return the type of an expression as `Program.type_of`."""
        match node:
            case ast.Compare() | ast.UnaryOp(op=ast.Not()):
                return "bool"
            case ast.BoolOp(values=values):
                return _common_type({self.type_of(value) for value in values})
            case ast.IfExp(body=body, orelse=orelse):
                return _common_type({self.type_of(body), self.type_of(orelse)})
            case ast.Constant(value=value):
                return {bool: "bool", str: "str", int: "int", float: "number", type(None): "plain"}[type(value)]
            case ast.JoinedStr():
                return "str"
            case ast.List() | ast.Tuple() | ast.ListComp():
                return "seq"
            case ast.Dict() | ast.DictComp():
                return "dict"
            case ast.Set() | ast.SetComp():
                return "set"
            case ast.Name(id=name) if name in self.types:
                return self.types[name]
            case ast.Name(id=name):
                return self._type_of_constant(name)
            case ast.Attribute(attr=attr):
                types = self.program.members.get(attr, {""})
                return next(iter(types)) if len(types) == 1 and attr not in self.program.methods else ""
            case ast.NamedExpr(value=value):
                return self.type_of(value)
            case ast.BinOp(op=ast.Add(), left=left, right=right):
                return left_type if (left_type := self.type_of(left)) == self.type_of(right) else ""
            case ast.BinOp(op=ast.Sub() | ast.Mult(), left=left, right=right):
                return "int" if self.type_of(left) == self.type_of(right) == "int" else ""
            case ast.Subscript(value=value, slice=ast.Slice()):
                return self.type_of(value) if self.type_of(value) in {"str", "seq"} else ""
            case ast.Call():
                return self._type_of_call(node)
        return ""

    def _type_of_constant(self, name: str) -> str:
        symbol = self.program.resolve(self.module, name)
        if symbol is None or not isinstance(symbol.node, ast.AnnAssign | ast.Assign):
            return ""
        value = getattr(symbol.module.live, symbol.name)
        if isinstance(value, int) and not isinstance(value, bool):
            return "int" if abs(value) <= MAX_SAFE_INTEGER else ""
        types = ((bool, "bool"), (str, "str"), (dict, "dict"), (set | frozenset, "set"), (list | tuple, "seq"))
        return next((name for type_, name in types if isinstance(value, type_)), "")

    def _type_of_call(self, node: ast.Call) -> str:
        match node.func:
            case ast.Name(id=name) if name not in self.types:
                symbol = self.program.resolve(self.module, name)
                if symbol is None:
                    return _BUILTINS.get(name, "")
                if isinstance(symbol.node, ast.ClassDef):
                    return "str" if self.program.is_enum(symbol.node) else "plain"
                if isinstance(symbol.node, ast.FunctionDef):
                    return self.program.type_of(symbol.node.returns)
            case ast.Attribute(attr=attr, value=value):
                own = {signature.returns for signature in self.program.methods.get(attr, ())}
                if self._is_library(value):
                    return {
                        "dumps": "str",
                        "isfinite": "bool",
                        "escape": "str",
                        "search": "plain",
                        "fullmatch": "plain",
                    }.get(attr, "")
                if attr in self.program.methods:
                    return next(iter(own)) if len(own) == 1 and attr not in _METHODS else ""
                return _METHODS.get(attr, "")
        return ""

    # Literals and names

    def _constant(self, node: ast.Constant) -> str:
        value = node.value
        if value is None or isinstance(value, bool):
            return {None: "null", True: "true", False: "false"}[value]
        if isinstance(value, str):
            return js_string(self._text(node))
        return js_number(value)

    def _joinedstr(self, node: ast.JoinedStr) -> str:
        parts, is_text = [], True
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                parts.append(f"${{{self._formatted(part)}}}")
                is_text &= part.format_spec is not None or self.type_of(part.value) in {"str", "int"}
            else:
                parts.append(re.sub(r"[`\\]|\$\{", lambda match: f"\\{match[0]}", self._text(part)))
        return ("" if is_text else "$f") + f"`{''.join(parts)}`"

    def _text(self, node: ast.expr) -> str:
        """Return the text of a constant."""
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            raise self.fail(node, "not a text")
        text = node.value
        for old, new in _REPLACED_TEXTS.items():
            text = text.replace(old, new)
        return text

    def _formatted(self, node: ast.FormattedValue) -> str:
        text = self.expression(node.value)
        if node.format_spec is None and node.conversion == -1:
            return text
        match node.format_spec:
            case ast.JoinedStr(values=[ast.Constant(value="," | "04x" as spec)]) if node.conversion == -1:
                return f"$spec({text}, {js_string(spec)})"
        raise self.fail(node, "the format is not translated")

    def _name(self, node: ast.Name) -> str:
        if node.id in self.types:
            return js_identifier(node.id)
        return self.global_name(node, node.id)

    def global_name(self, node: ast.AST, name: str) -> str:
        """Return the global variable of a name."""
        symbol = self.program.resolve(self.module, name)
        if symbol is not None:
            return self.use(symbol)
        if name == "inf":
            return "Infinity"
        if name in _BUILTINS or name in _LIBRARY:
            return f"${name}"
        if name in ERRORS:
            return f"${name}"
        raise self.fail(node, f"the global name `{name}` is not translated")

    def use(self, symbol: Symbol) -> str:
        """Return the JavaScript name of a symbol, and keep the symbol in the result."""
        self.used.add((symbol.module.name, symbol.name))
        return symbol.js_name

    def _tuple(self, node: ast.Tuple | ast.List) -> str:
        return f"[{', '.join(map(self._element, node.elts))}]"

    _list = _tuple

    def _element(self, node: ast.expr) -> str:
        return f"...{self.iterable(node.value)}" if isinstance(node, ast.Starred) else self.expression(node)

    def _set(self, node: ast.Set) -> str:
        return f"$set([{', '.join(map(self._element, node.elts))}])"

    def _dict(self, node: ast.Dict) -> str:
        parts: list[str] = []
        members: list[str] = []
        for key, value in zip(node.keys, node.values, strict=True):
            text = self.expression(value)
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and not key.value.isdigit():
                members.append(f"{js_string(key.value)}: {text}")
                continue
            if members:
                parts.append(f"{{{', '.join(members)}}}")
                members = []
            parts.append(text if key is None else f"[[{self.expression(key)}, {text}]]")
        parts += [f"{{{', '.join(members)}}}"] if members else []
        return f"$o({', '.join(parts)})" if parts else "new Map()"

    def iterable(self, node: ast.expr) -> str:
        """Return an expression for `for ... of`, in which a Map stands for its keys."""
        text = self.expression(node)
        is_iterable = self.type_of(node) in {"seq", "str", "set"} or isinstance(node, ast.GeneratorExp)
        names = {"enumerate", "zip", "range", "map", "reversed", "sorted", "filter", "accumulate", "combinations"}
        match node:
            case ast.Call(func=ast.Attribute(attr="items" | "values", value=value)) if not self._is_library(value):
                is_iterable = True
            case ast.Call(func=ast.Name(id=name)) if name in names:
                is_iterable = True
            case ast.Subscript(slice=ast.Slice()):
                is_iterable = True
        return text if is_iterable else f"$it({text})"

    # Operators

    def _boolop(self, node: ast.BoolOp) -> str:
        *first, last = node.values
        text = self.expression(last)
        for value in reversed(first):
            text = self._and_or(value, text, is_and=isinstance(node.op, ast.And))
        return text

    def _and_or(self, value: ast.expr, rest: str, *, is_and: bool) -> str:
        if self.type_of(value) in _TRUE_TYPES:
            return f"({self.expression(value)} {'&&' if is_and else '||'} {rest})"
        return f"{'$and_' if is_and else '$or_'}({self.expression(value)}, () => {rest})"

    def _unaryop(self, node: ast.UnaryOp) -> str:
        if isinstance(node.op, ast.Not):
            return f"!{self.condition(node.operand)}"
        if isinstance(node.op, ast.USub):
            return f"(-{self.expression(node.operand)})"
        raise self.fail(node, "the operator is not translated")

    def _binop(self, node: ast.BinOp) -> str:
        if (value := constant_value(node)) is not None:
            return js_number(value)
        operator = type(node.op)
        left, right = self.expression(node.left), self.expression(node.right)
        types = {self.type_of(node.left), self.type_of(node.right)}
        if operator in _NATIVE and types in ({"int"}, {"str"}, {"int", "bool"}):
            return f"({left} {_NATIVE[operator]} {right})"
        if operator not in _OPERATORS:
            raise self.fail(node, "the operator is not translated")
        return f"{_OPERATORS[operator]}({left}, {right})"

    def _compare(self, node: ast.Compare) -> str:
        parts, left = [], node.left
        for operator, right in zip(node.ops, node.comparators, strict=True):
            parts.append(self._comparison(operator, left, right))
            left = right
        return parts[0] if len(parts) == 1 else f"({' && '.join(parts)})"

    def _comparison(self, operator: ast.cmpop, left: ast.expr, right: ast.expr) -> str:
        is_negated = isinstance(operator, ast.NotEq | ast.IsNot | ast.NotIn)
        if isinstance(operator, ast.Is | ast.IsNot):
            return f"({self.expression(left)} {'!==' if is_negated else '==='} {self.expression(right)})"
        if isinstance(operator, ast.In | ast.NotIn):
            return ("!" if is_negated else "") + self._contains(left, right)
        texts = self.expression(left), self.expression(right)
        types = {self.type_of(left), self.type_of(right)}
        if isinstance(operator, ast.Eq | ast.NotEq):
            if "str" in types or types == {"int"}:
                return f"({texts[0]} {'!==' if is_negated else '==='} {texts[1]})"
            return f"{'!' if is_negated else ''}$eq({texts[0]}, {texts[1]})"
        if types & {"int", "number"}:
            return f"({texts[0]} {_COMPARISONS[type(operator)]} {texts[1]})"
        return f"{_SET_COMPARISONS[type(operator)]}({texts[0]}, {texts[1]})"

    def _contains(self, member: ast.expr, container: ast.expr) -> str:
        if isinstance(container, ast.Tuple | ast.Set | ast.List) and all(
            (isinstance(item, ast.Constant) and isinstance(item.value, str | None)) for item in container.elts
        ):
            return f"[{', '.join(map(self.expression, container.elts))}].includes({self.expression(member)})"
        if self.type_of(container) in {"dict", "set"} and self.type_of(member) == "str":
            return f"{self.expression(container)}.has({self.expression(member)})"
        if isinstance(container, ast.Set):
            container = ast.copy_location(ast.List(elts=container.elts, ctx=ast.Load()), container)
        return f"$in({self.expression(member)}, {self.expression(container)})"

    def _ifexp(self, node: ast.IfExp) -> str:
        return f"({self.condition(node.test)} ? {self.expression(node.body)} : {self.expression(node.orelse)})"

    def _namedexpr(self, node: ast.NamedExpr) -> str:
        return f"({js_identifier(node.target.id)} = {self.expression(node.value)})"

    def _lambda(self, node: ast.Lambda) -> str:
        names = [argument.arg for argument in node.args.args]
        with_types = self.types
        self.types = {**self.types, **dict.fromkeys(names, "")}
        text = f"({', '.join(map(js_identifier, names))}) => {self._arrow_body(node.body)}"
        self.types = with_types
        return text

    def _arrow_body(self, node: ast.expr) -> str:
        text = self.expression(node)
        return f"({text})" if text.startswith("{") else text

    # Attributes and subscripts

    def _attribute(self, node: ast.Attribute) -> str:
        if self._is_library(node.value):
            assert isinstance(node.value, ast.Name)  # noqa: S101  checked by `_is_library`
            if (node.value.id, node.attr) == ("math", "inf"):
                return "Infinity"
            raise self.fail(node, "the attribute is not translated")
        symbol = self._module_symbol(node)
        if symbol is not None:
            return self.use(symbol)
        if (node.attr == "__name__") and isinstance(node.value, ast.Call):
            return f"$typename({self.expression(node.value.args[0])})"
        self.attributes.add(node.attr)
        owner = self.expression(node.value)
        if node.attr in self.program.enum_properties and node.attr not in self.program.members:
            enum = self.program.enum_properties[node.attr]
            return f"{self.use(enum)}.{node.attr}({owner})"
        name = f"{owner}.{node.attr}"
        if node.attr in self.program.methods and node.attr not in self.program.properties:
            return f"$bind({owner}, {name})"
        return name

    def _module_symbol(self, node: ast.Attribute) -> Symbol | None:
        """Return the symbol behind `keywords.NAME` if `keywords` is a module of the library."""
        if isinstance(node.value, ast.Name) and node.value.id not in self.types:
            source = self.module.bindings.get(node.value.id)
            if source is not None and not source[1]:
                module = self.program.modules[source[0]]
                return self.program.resolve(module, node.attr)
        return None

    def _is_library(self, node: ast.expr) -> bool:
        """Return whether an expression is a module of the standard library."""
        if not isinstance(node, ast.Name) or node.id in self.types:
            return False
        return node.id in {"copy", "json", "math", "re", "tomllib", "warnings"} and node.id not in self.module.bindings

    def _subscript(self, node: ast.Subscript) -> str:
        owner = self.expression(node.value)
        if isinstance(node.slice, ast.Slice):
            parts = (node.slice.lower, node.slice.upper, node.slice.step)
            texts = ["null" if part is None else self.expression(part) for part in parts]
            while texts and texts[-1] == "null":
                texts.pop()
            return f"$slice({', '.join([owner, *texts])})"
        return f"$at({owner}, {self.expression(node.slice)})"

    # Comprehensions

    def _generatorexp(self, node: ast.GeneratorExp) -> str:
        return self._comprehension(node.elt, node.generators, "$gen")

    def _listcomp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> str:
        if len(node.generators) > 1:
            return f"[...{self._comprehension(node.elt, node.generators, '$gen')}]"
        return self._comprehension(node.elt, node.generators, "$list_of")

    def _setcomp(self, node: ast.SetComp) -> str:
        return f"$set({self._listcomp(node)})"

    def _dictcomp(self, node: ast.DictComp) -> str:
        pair = ast.copy_location(ast.Tuple(elts=[node.key, node.value], ctx=ast.Load()), node)
        return f"$dict({self._listcomp(ast.ListComp(elt=pair, generators=node.generators))})"

    def _comprehension(
        self, element: ast.expr, generators: Sequence[ast.comprehension], function: str, *, as_condition: bool = False
    ) -> str:
        generator, *others = generators
        iterable = self.expression(generator.iter)
        with_types = self.types
        names = [name.id for name in ast.walk(generator.target) if isinstance(name, ast.Name)]
        self.types = {**self.types, **dict.fromkeys(names, "")}
        arguments = f"({self.target(generator.target)})"
        if others:
            body, function = self._comprehension(element, others, "$gen", as_condition=as_condition), "$flat"
        else:
            body = self.condition(element) if as_condition else self._arrow_body(element)
        parts = [iterable, f"{arguments} => {body}"]
        if generator.ifs:
            parts.append(f"{arguments} => {' && '.join(map(self.condition, generator.ifs))}")
        self.types = with_types
        if f"({body})" == arguments and generator.ifs and function in {"$gen", "$list_of"}:
            del parts[1]
            function = "$where" if function == "$gen" else "$list_where"
        return f"{function}({', '.join(parts)})"

    def target(self, node: ast.expr) -> str:
        """Return the target of an assignment or of `for`."""
        match node:
            case ast.Name(id=name):
                return js_identifier(name)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                # Python allows `_` several times.
                names = ["" if isinstance(it, ast.Name) and it.id == "_" else self.target(it) for it in elements]
                return f"[{', '.join(names)}]"
            case ast.Starred(value=value):
                return f"...{self.target(value)}"
            case ast.Attribute(attr=attr, value=value):
                return f"{self.expression(value)}.{attr}"
        raise self.fail(node, "the target is not translated")

    # Calls

    def _call(self, node: ast.Call) -> str:
        match node.func:
            case ast.Name(id=name) if name not in self.types:
                return self._call_of_name(node, name)
            case ast.Name(id=name):
                return self._call_of_value(node, js_identifier(name))
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=attr):
                return self._call_of_super(node, attr)
            case ast.Attribute(value=value, attr=attr) if self._is_library(value):
                assert isinstance(value, ast.Name)  # noqa: S101  checked by `_is_library`
                return self._call_of_library(node, value.id, attr)
            case ast.Attribute(value=ast.Name(id="dict"), attr="fromkeys"):
                return f"$fromkeys({', '.join(map(self._argument, node.args))})"
            case ast.Attribute() if (symbol := self._module_symbol(node.func)) is not None:
                return self._call_of_symbol(node, symbol)
            case ast.Attribute():
                return self._call_of_method(node, node.func)
            case ast.Subscript(value=ast.Name(id="list")) if not node.args:
                return "[]"
        return self._call_of_value(node, self.expression(node.func))

    def _call_of_value(self, node: ast.Call, function: str) -> str:
        if node.keywords:
            raise self.fail(node, "keyword arguments of an unknown function")
        return f"{function}({self._positional(node)})"

    def _positional(self, node: ast.Call) -> str:
        if node.keywords:
            raise self.fail(node, "keyword arguments are not translated here")
        return ", ".join(map(self._element, node.args))

    def _call_of_name(self, node: ast.Call, name: str) -> str:
        symbol = self.program.resolve(self.module, name)
        if symbol is not None:
            return self._call_of_symbol(node, symbol)
        if name == "isinstance":
            return self._isinstance(node.args[0], node.args[1])
        if name in {"any", "all"} and len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp | ast.ListComp):
            generator = node.args[0]
            return (
                self._comprehension(generator.elt, generator.generators, f"${name}_of", as_condition=True)
                if len(generator.generators) == 1
                else f"${name}({self._comprehension(generator.elt, generator.generators, '$gen')})"
            )
        if name in {"tuple", "list"} and len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
            return self._listcomp(node.args[0])
        if name in {"set", "frozenset", "dict", "list", "tuple"}:
            function = "$set" if name == "frozenset" else f"${name}"
            if name == "frozenset" and len(node.args) == 1 and self.type_of(node.args[0]) == "set":
                return self.expression(node.args[0])
            return f"{function}({', '.join(map(self._argument, node.args))})"
        if name == "bool":
            return f"!!{self.condition(node.args[0])}"
        if name == "len" and self.type_of(node.args[0]) == "seq":
            return f"{self.expression(node.args[0])}.length"
        if name == "TypeVar":
            return "null"
        if name == "replace":
            return self._replaced(node, self.expression(node.args[0]))
        options = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg != "strict"}
        if name in {"sorted", "min", "max"}:
            parts = [self._argument(node.args[0]) if len(node.args) == 1 else ", ".join(map(self._element, node.args))]
            if name == "sorted":
                parts += [self.expression(options["key"]) if "key" in options else "null"]
                parts += [self.expression(options["reverse"])] if "reverse" in options else []
            return f"${name}({', '.join(parts)})"
        if options:
            raise self.fail(node, "keyword arguments are not translated here")
        argument = self._argument if name in _CONSUMERS else self._element
        return f"{self.global_name(node, name)}({', '.join(map(argument, node.args))})"

    def _argument(self, node: ast.expr) -> str:
        """Return an argument of a builtin function that consumes all of a generator."""
        return self._listcomp(node) if isinstance(node, ast.GeneratorExp) else self._element(node)

    def _call_of_symbol(self, node: ast.Call, symbol: Symbol) -> str:
        function = self.use(symbol)
        if isinstance(symbol.node, ast.ClassDef):
            if self.program.is_enum(symbol.node):
                return f"{function}({self._positional(node)})"
            if any(name in ERRORS for name in self._all_bases(symbol)) and not node.keywords:
                return f"new {function}({self._positional(node)})"
            signature = self.program.signature(symbol.node)
            return f"new {function}({self._arguments(node, signature, function)})"
        if isinstance(symbol.node, ast.FunctionDef):
            return f"{function}({self._arguments(node, self.program.signature(symbol.node), '')})"
        return self._call_of_value(node, function)

    def _all_bases(self, symbol: Symbol) -> list[str]:
        return [base.id for base in symbol.node.bases if isinstance(base, ast.Name)]  # type: ignore[attr-defined]

    def _arguments(self, node: ast.Call, signature: Signature, class_name: str) -> str:
        """Return the arguments in the order of the parameters."""
        mappings = [keyword.value for keyword in node.keywords if keyword.arg is None]
        named = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
        if class_name in self.program.records:
            named = {name: value for name, value in named.items() if self._is_read(name)}
        if signature.rest and signature.keyword_only:
            parts = [self._element(argument) for argument in node.args]
            if named:
                options = ", ".join(f"{name}: {self.expression(value)}" for name, value in named.items())
                parts.append(f"new $Options({{{options}}})")
            return ", ".join(parts)
        if mappings:
            if node.args and not class_name:
                positional = [self.expression(argument) for argument in node.args]
                (mapping,) = mappings
                rest = [
                    f"$get({self.expression(mapping)}, {js_string(name)})"
                    for name in signature.names[len(positional) :]
                ]
                return ", ".join([*positional, *rest])
            self.program.table_fields |= {*signature.names}
            members = [f"{name}: {self.expression(value)}" for name, value in named.items()]
            members += [f"...$members({self.expression(mapping)})" for mapping in mappings]
            return f"...{class_name}.order({{{', '.join(members)}}})"
        positional = [self._element(argument) for argument in node.args]
        if not named:
            return ", ".join(positional)
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            raise self.fail(node, "keywords beside an unpacked argument")
        values = dict(zip(signature.positional, positional, strict=False))
        for name, value in named.items():
            if name not in signature.names or name in values:
                raise self.fail(node, f"the parameter `{name}` does not fit")
            values[name] = self.expression(value)
        parts = [values.get(name, "undefined") for name in signature.names]
        while parts and parts[-1] == "undefined":
            parts.pop()
        return ", ".join(parts)

    def _is_read(self, field: str) -> bool:
        """Return whether the translated code reads a field of a record; fields of tuples are read in other ways too."""
        return field in self.attributes or field in self.program.tuple_fields

    def _call_of_super(self, node: ast.Call, attr: str) -> str:
        if attr == "__init__":
            return f"super({self._positional(node)})"
        self.attributes.add(attr)
        return f"super.{attr}({self._positional(node)})"

    def _call_of_method(self, node: ast.Call, function: ast.Attribute) -> str:
        owner, attr = self.expression(function.value), function.attr
        if attr == "_replace":
            return self._replaced(node, owner)
        own = [
            it
            for it in self.program.methods.get(attr, ())
            if {k.arg for k in node.keywords} <= {None, *it.names}
            and not {k.arg for k in node.keywords} & {*it.positional[: len(node.args)]}
        ]
        if attr in self.program.methods:
            self.attributes.add(attr)
            texts = {self._arguments(node, signature, "") for signature in own}
            if len(texts) != 1:
                raise self.fail(node, f"the method `{attr}` has several signatures")
            arguments = texts.pop()
            if attr not in _METHODS or node.keywords or len(node.args) > _MAX_ARGUMENTS:
                return f"{owner}.{attr}({arguments})"
            parts = [owner, f'/*@__KEY__*/ "{attr}"', _FUNCTIONS.get(attr, f"${attr}"), arguments]
            return f"$call({', '.join(filter(None, parts))})"
        if attr in _METHODS:
            keywords = {keyword.arg for keyword in node.keywords}
            if keywords:
                raise self.fail(node, "keyword arguments are not translated here")
            return self._call_of_builtin_method(node, function, owner)
        self.attributes.add(attr)
        return self._call_of_value(node, f"{owner}.{attr}")

    def _call_of_builtin_method(self, node: ast.Call, function: ast.Attribute, owner: str) -> str:
        attr, owner_type = function.attr, self.type_of(function.value)
        arguments = ", ".join(map(self._argument, node.args))
        if attr == "append":
            return f"{owner}.push({arguments})"
        if owner_type == "str" and attr in {"startswith", "endswith"} and self.type_of(node.args[0]) == "str":
            return f"{owner}.{'startsWith' if attr == 'startswith' else 'endsWith'}({arguments})"
        if attr == "items" and owner_type == "dict":
            return f"{owner}.entries()"
        if attr == "join":
            (argument,) = node.args
            return f"$join({owner}, {self._argument(argument)})"
        if attr in {"items", "values", "keys"}:
            return f"${attr}({owner})"
        return f"{_FUNCTIONS.get(attr, f'${attr}')}({', '.join(filter(None, [owner, arguments]))})"

    def _replaced(self, node: ast.Call, owner: str) -> str:
        parts = []
        for keyword in node.keywords:
            if keyword.arg is None:
                parts.append(f"...$members({self.expression(keyword.value)})")
            elif self._is_read(keyword.arg):
                parts.append(f"{keyword.arg}: {self.expression(keyword.value)}")
        return f"$replaced({owner}, {{{', '.join(parts)}}})"

    def _isinstance(self, value: ast.expr, types: ast.expr) -> str:
        names = [node.id for node in ast.walk(types) if isinstance(node, ast.Name)]
        text = self.expression(value)
        tests = list(dict.fromkeys(type_test(self, types, name) for name in names))
        if len(tests) > 1 and not re.fullmatch(r"[\w$.]+", text):
            return f"$is({text}, (value) => {' || '.join(test.format('value') for test in tests)})"
        joined = " || ".join(test.format(text) for test in tests)
        return f"({joined})"

    def _call_of_library(self, node: ast.Call, module: str, function: str) -> str:
        options = {keyword.arg: keyword.value for keyword in node.keywords}
        match module, function:
            case "json", "dumps":
                members = ", ".join(
                    f"{name}: {self.expression(value) if name != 'default' else 'true'}"
                    for name, value in options.items()
                )
                return f"$dumps({self.expression(node.args[0])}, {{{members}}})"
            case "json", "loads":
                return f"$loads({self._positional(node)})"
            case "math", "isfinite":
                return f"$isfinite({self._positional(node)})"
            case "copy", "deepcopy":
                return f"$deepcopy({self._positional(node)})"
            case "tomllib", "loads":
                names = [str(part.value) for part in ast.walk(node) if isinstance(part, ast.Constant)]
                (name,) = [name for name in names if name.endswith(".toml")]
                return f"$data({js_string(name)})"
            case "re", "escape":
                return f"$escape({self._positional(node)})"
            case "re", "compile":
                return (
                    f"$syntax({self._positional(node)})"
                    if self._is_join(node.args[0])
                    else self._regex(node.args, None)
                )
            case "re", "search" | "fullmatch":
                return f"${function}({self._regex(node.args[:1], None)}, {self.expression(node.args[1])})"
            case "re", "sub":
                rest = ", ".join(map(self.expression, node.args[1:]))
                pattern, *others = [self._regex(node.args[:1], None), rest]
                return f"$resub({pattern}, {', '.join(others)})"
        raise self.fail(node, "the function is not translated")

    def _is_join(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join"

    def _regex(self, arguments: Sequence[ast.expr], value: re.Pattern[str] | None) -> str:
        """Return a compiled regular expression; `value` is that of a constant of the module."""
        if value is not None:
            flags = value.flags & ~re.UNICODE
            text = js_string(to_js_pattern(value.pattern, value.flags))
            return f"$regex({text}, {js_string(js_flags(flags))})" if js_flags(flags) != "u" else f"$regex({text})"
        (pattern,) = arguments
        if isinstance(pattern, ast.Constant):
            return f"$regex({js_string(to_js_pattern(self._text(pattern)))})"
        if isinstance(pattern, ast.JoinedStr):
            parts = [
                self.expression(part.value)
                if isinstance(part, ast.FormattedValue)
                else js_string(to_js_pattern(self._text(part)))
                for part in pattern.values
            ]
            return f"$regex({' + '.join(parts)})"
        return f"$regex({self.expression(pattern)})"

    def regex_constant(self, value: re.Pattern[str]) -> str:
        """Return a compiled regular expression of a module."""
        return self._regex((), value)


def _common_type(types: set[str]) -> str:
    """Return the type of a value that has one of several types."""
    if len(types) == 1:
        return next(iter(types))
    return "plain" if types <= _TRUE_TYPES else ""


def type_test(expressions: Expressions, node: ast.AST, name: str) -> str:
    """Return a test for `isinstance`, in which `{}` stands for the value."""
    tests = {
        "str": "$is_str({})",
        "bool": "$is_bool({})",
        "int": "$is_int({})",
        "float": "$is_float({})",
        "dict": "$is_map({})",
        "Mapping": "$is_map({})",
        "list": "$is_list({})",
        "tuple": "$is_list({})",
        "None": "{} === null",
    }
    if name not in tests:
        raise expressions.fail(node, f"`isinstance` with `{name}` is not translated")
    return tests[name]


def js_string(text: str) -> str:
    """Return a string literal."""
    return json.dumps(text)


def js_number(value: Any) -> str:
    """Return a number literal. Integers that a double does not represent are of type bigint."""
    if isinstance(value, int) and abs(value) > MAX_SAFE_INTEGER:
        return "Infinity" if value > 10**400 else f"{value}n"
    return repr(value)
