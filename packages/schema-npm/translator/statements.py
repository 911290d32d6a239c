"""Translate functions, classes and constants, as far as the roots need them."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from translator.expressions import Expressions, js_string, type_test
from translator.program import ERRORS, Program, Symbol, base_names, decorators, js_identifier

_SKIPPED_CONTEXTS: Final = frozenset({"catch_warnings"})
_ERRORS: Final = {
    "RecursionError": "$is_overflow(error)",
    "StopIteration": "error === $stop",
    "CycleError": "false",
    "TypeError": "error instanceof TypeError",
    "AttributeError": "error instanceof TypeError",
    "ValueError": "error instanceof $ValueError",
    "LookupError": "error instanceof $LookupError",
    "OverflowError": "error instanceof RangeError",
    "UnicodeEncodeError": "error instanceof $ValueError",
    "MemoryError": "false",
    "re.error": "error instanceof SyntaxError",
}
"""Tests for exceptions in `catch`."""


def translate(program: Program, roots: Iterable[tuple[str, str]], attributes: Iterable[str]) -> str:
    """Return the JavaScript of the symbols `roots`, given by module and name, and of all that they need.

    `attributes` are those of the results that other code reads.
    """
    texts: dict[tuple[str, str], str] = {}
    used, attributes = set(roots), set(attributes)
    while True:
        before = len(used), len(attributes)
        for key in [key for key in program.symbols if key in used]:
            symbol = program.symbols[key]
            texts[key] = Statements(program, symbol, used, attributes).symbol()
        if (len(used), len(attributes)) == before:
            # Functions come first: constants may call them, and they need constants only when they run.
            keys = [key for key in program.symbols if key in texts]
            functions = [key for key in keys if isinstance(program.symbols[key].node, ast.FunctionDef)]
            others = [key for key in keys if key not in functions]
            return "\n".join(texts[key] for key in (*functions, *others))


class Statements(Expressions):
    """Translates one symbol."""

    def __init__(self, program: Program, symbol: Symbol, used: set[tuple[str, str]], attributes: set[str]) -> None:
        super().__init__(program, symbol.module, used, attributes)
        self._declaring: dict[ast.stmt, list[str]] = {}
        """The variables that a statement declares."""
        self._stores: Counter[str] = Counter()
        self._symbol = symbol

    def symbol(self) -> str:
        """Return the definition."""
        node, name = self._symbol.node, self._symbol.js_name
        if isinstance(node, ast.FunctionDef):
            if decorators(node) & {"cache", "lru_cache"}:
                return f"const {name} = $cache({self._function(node, '')});"
            text = self._function(node, name)
            return text if text.startswith("function*") else f"const {name} = {text};"
        if isinstance(node, ast.ClassDef):
            return self._enum(node, name) if self.program.is_enum(node) else self._class(node, name)
        assert isinstance(node, ast.Assign | ast.AnnAssign)  # noqa: S101  the only other definitions
        value = getattr(self._symbol.module.live, self._symbol.name)
        if isinstance(value, re.Pattern):
            return f"const {name} = {self.regex_constant(value)};"
        if node.value is None:
            raise self.fail(node, "a constant without a value")
        return f"const {name} = {self.expression(node.value)};"

    # Functions

    def _function(self, node: ast.FunctionDef, name: str, *, is_method: bool = False) -> str:
        arguments = [*node.args.posonlyargs, *node.args.args][is_method:]
        self.types = {"self": "plain"} if is_method else {}
        every = [*arguments, *node.args.kwonlyargs, *([node.args.vararg] if node.args.vararg else [])]
        self.types |= {argument.arg: self.program.type_of(argument.annotation) for argument in every}
        if node.args.vararg:
            self.types[node.args.vararg.arg] = "seq"
        parameters = {argument.arg for argument in every}
        assigned = list(dict.fromkeys(_assigned(node.body)))
        self.types |= dict.fromkeys((variable for variable in assigned if variable not in parameters), "")
        self._infer(node, parameters)
        self._stores = Counter(_stored(node))
        self._declaring = declaring_statements(node.body, {name for name in assigned if name not in parameters})
        declared_later = {name for names in self._declaring.values() for name in names}
        text = self._parameters(node, arguments)
        body = self._body(node.body)
        variables = [js_identifier(name) for name in assigned if name not in parameters | declared_later]
        declared = f"let {', '.join(variables)};" if variables else ""
        options = self._options(node)
        is_generator = any(isinstance(part, ast.Yield | ast.YieldFrom) for part in ast.walk(node))
        if is_method:
            return f"{'*' if is_generator else ''}{name}({text}) {{ {options}{declared} {body} }}"
        if is_generator:
            return f"function* {name}({text}) {{ {options}{declared} {body} }}"
        if not (options or declared) and (only := re.fullmatch(r"return (.*);", body)) and len(_code(node.body)) == 1:
            return f"({text}) => {only[1]}"
        return f"({text}) => {{ {options}{declared} {body} }}"

    def _infer(self, node: ast.FunctionDef, parameters: set[str]) -> None:
        """Find the types of local variables: those of all values that are assigned to them."""
        values: dict[str, list[ast.expr | None]] = {}
        annotated: dict[str, str] = {}
        for part in ast.walk(node):
            match part:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        _add_values(values, target, value)
                case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                    annotated[name] = self.program.type_of(annotation)
                case ast.NamedExpr(target=ast.Name(id=name), value=value):
                    values.setdefault(name, []).append(value)
                case ast.AugAssign(target=ast.Name(id=name), value=value, op=ast.Add()):
                    values.setdefault(name, []).append(value)
                case ast.AugAssign(target=ast.Name(id=name)):
                    values.setdefault(name, []).append(None)
                case ast.For(target=target) | ast.withitem(optional_vars=target) if target is not None:
                    _add_values(values, target, None)
        for _ in range(3):
            for name, assigned in values.items():
                if name in annotated or (name in parameters and not self.types[name]):
                    continue
                types = {"" if value is None else self.type_of(value) for value in assigned}
                types |= {self.types[name]} if name in parameters else set()
                if len(types) == 1:
                    self.types[name] = types.pop()
                elif types <= {"str", "bool", "int", "plain", "number"}:
                    self.types[name] = "plain"
                else:
                    self.types[name] = ""
        self.types |= {name: type_ for name, type_ in annotated.items() if name not in parameters}

    def _parameters(self, node: ast.FunctionDef, arguments: Sequence[ast.arg]) -> str:
        defaults = dict(zip([argument.arg for argument in arguments][::-1], node.args.defaults[::-1], strict=False))
        if not (node.args.vararg and node.args.kwonlyargs):
            for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
                arguments = [*arguments, argument]
                if default is not None:
                    defaults[argument.arg] = default
        parts = []
        for argument in arguments:
            value = f" = {self.expression(defaults[argument.arg])}" if argument.arg in defaults else ""
            parts.append(js_identifier(argument.arg) + value)
        if node.args.vararg:
            parts.append(f"...{js_identifier(node.args.vararg.arg)}")
        return ", ".join(parts)

    def _options(self, node: ast.FunctionDef) -> str:
        if not (node.args.vararg and node.args.kwonlyargs):
            return ""
        parts = [
            f"{argument.arg} = {self.expression(default)}"
            for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            if default is not None
        ]
        return f"const {{ {', '.join(parts)} }} = $options({js_identifier(node.args.vararg.arg)});"

    # Classes

    def _enum(self, node: ast.ClassDef, name: str) -> str:
        values = {
            item.targets[0].id: self.expression(item.value)
            for item in node.body
            if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name)
        }
        members = ", ".join(f"{member}: {value}" for member, value in values.items())
        methods = [
            f"{item.name}: {self._function(self._with_self(item), '')}"
            for item in node.body
            if isinstance(item, ast.FunctionDef) and item.name in self.attributes
        ]
        return f"const {name} = $enum({js_string(node.name)}, {{ {members} }}, {{ {', '.join(methods)} }});"

    def _with_self(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Return the property of an enum as a function of the member."""
        for part in ast.walk(node):
            if isinstance(part, ast.Name | ast.arg) and getattr(part, "id", getattr(part, "arg", "")) == "self":
                setattr(part, "id" if isinstance(part, ast.Name) else "arg", "member")
        return node

    def _class(self, node: ast.ClassDef, name: str) -> str:
        bases = base_names(node)
        is_tuple = "NamedTuple" in bases
        is_record = is_tuple or "dataclass" in decorators(node)
        own = next((base for base in bases if self.program.resolve(self.module, base) is not None), None)
        base = "$Tuple" if is_tuple else "$Record" if is_record else ""
        if own is not None:
            base = self.global_name(node, own)
        elif any(item in ERRORS for item in bases):
            base = f"${bases[0]}"
        methods = [item for item in node.body if isinstance(item, ast.FunctionDef) and self._is_needed(item)]
        parts = [self._constructor(node)] if is_record else []
        parts += [self._method(item, has_base=bool(base)) for item in methods]
        return f"class {name}{f' extends {base}' if base else ''} {{ {' '.join(parts)} }}"

    def _is_needed(self, node: ast.FunctionDef) -> bool:
        if "abstractmethod" in decorators(node):
            return False
        return node.name == "__init__" or node.name in self.attributes

    def _constructor(self, node: ast.ClassDef) -> str:
        self.types = {}
        names, defaults = [], []
        for item in self.program.fields(node):
            assert isinstance(item.target, ast.Name)  # noqa: S101  fields of classes
            names.append(f'/*@__KEY__*/ "{item.target.id}"')
            defaults.append("" if item.value is None else self._default(item.value))
        return f"static fields = [{', '.join(names)}]; static defaults = [{', '.join(defaults)}];"

    def _default(self, node: ast.expr) -> str:
        match node:
            case ast.Call(func=ast.Name(id="field"), keywords=[ast.keyword(arg="default_factory", value=factory)]):
                return "new Map()" if ast.unparse(factory) == "dict" else f"{self.expression(factory)}()"
        return self.expression(node)

    def _method(self, node: ast.FunctionDef, *, has_base: bool) -> str:
        if node.name == "__init__":
            text = self._function(node, "constructor", is_method=True)
            calls_super = any(isinstance(part, ast.Name) and part.id == "super" for part in ast.walk(node))
            return text if calls_super or not has_base else text.replace("{", "{ super();", 1)
        kinds = decorators(node)
        text = self._function(node, node.name, is_method=True)
        if "cached_property" in kinds:
            body = text.partition("{")[2].removesuffix("}")
            return f"get {node.name}() {{ return $memoized(this, {js_string(node.name)}, () => {{ {body} }}); }}"
        return f"get {text}" if "property" in kinds else text

    def _name(self, node: ast.Name) -> str:
        return "this" if node.id == "self" and self.types.get("self") == "plain" else super()._name(node)

    # Statements

    def _body(self, nodes: Sequence[ast.stmt]) -> str:
        return " ".join(filter(None, map(self._statement, nodes)))

    def _block(self, nodes: Sequence[ast.stmt]) -> str:
        return f"{{ {self._body(nodes)} }}"

    def _statement(self, node: ast.stmt) -> str:
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass() | ast.Assert():
                return ""
            case ast.Expr(value=ast.Yield(value=value)) if value is not None:
                return f"yield {self.expression(value)};"
            case ast.Expr(value=ast.YieldFrom(value=value)):
                return f"yield* {self.iterable(value)};"
            case ast.Expr(value=value):
                return f"{self.expression(value)};"
            case ast.Return(value=value):
                return "return;" if value is None else f"return {self.expression(value)};"
            case ast.Assign(targets=targets, value=value):
                return self._declaration(node) + self._assign(targets, value)
            case ast.AnnAssign(target=target, value=value):
                return "" if value is None else self._declaration(node) + self._assign([target], value)
            case ast.AugAssign():
                return self._augmented(node)
            case ast.If(test=test, body=body, orelse=orelse):
                rest = f" else {self._block(orelse)}" if orelse else ""
                return f"if ({self.condition(test)}) {self._block(body)}{rest}"
            case ast.For(target=target, iter=iterable, body=body, orelse=[]):
                head = f"{self._declaration(node)}{self.target(target)} of {self.iterable(iterable)}"
                return f"for ({head}) {self._block(body)}"
            case ast.While(test=test, body=body, orelse=[]):
                return f"while ({self.condition(test)}) {self._block(body)}"
            case ast.Break():
                return "break;"
            case ast.Continue():
                return "continue;"
            case ast.Delete(targets=targets):
                return " ".join(map(self._delete, targets))
            case ast.Raise(exc=exc) if exc is not None:
                text = self.expression(exc)
                return f"throw {text};" if isinstance(exc, ast.Call) else f"throw new {text}();"
            case ast.Try():
                return self._try(node)
            case ast.With(items=[item], body=body):
                return self._with(node, item, body)
            case ast.Match():
                return self._match(node)
        raise self.fail(node, f"`{type(node).__name__}` is not translated")

    def _declaration(self, node: ast.stmt) -> str:
        """Return `let` or `const` for the first assignment of variables."""
        names = self._declaring.get(node)
        if not names:
            return ""
        is_constant = all(self._stores[name] == 1 for name in names)
        return "const " if is_constant else "let "

    def _assign(self, targets: Sequence[ast.expr], value: ast.expr) -> str:
        if len(targets) > 1:
            # The first target is a name or the value is evaluated once into the last name.
            names = [target for target in targets if isinstance(target, ast.Name)]
            if not names:
                raise self.fail(value, "several targets without a variable")
            others = [target for target in targets if target is not names[0]]
            return " ".join([self._assign([names[0]], value), *(self._assign([it], names[0]) for it in others)])
        (target,) = targets
        if isinstance(target, ast.Subscript):
            owner, text = self.expression(target.value), self.expression(value)
            if not isinstance(target.slice, ast.Slice):
                return f"$put({owner}, {self.expression(target.slice)}, {text});"
        elif isinstance(target, ast.Tuple) and any(isinstance(it, ast.Subscript) for it in target.elts):
            raise self.fail(target, "the target is not translated")
        if isinstance(target, ast.Tuple | ast.List):
            parts = target.elts
            if isinstance(parts[0], ast.Starred) or not isinstance(parts[-1], ast.Starred):
                starred = [index for index, part in enumerate(parts) if isinstance(part, ast.Starred)]
                if starred:
                    raise self.fail(target, "a starred target must be the last one")
            return f"{self.target(target)} = {self.iterable(value)};"
        return f"{self.target(target)} = {self.expression(value)};"

    def _augmented(self, node: ast.AugAssign) -> str:
        operators = {ast.Add: ("+", "$iadd"), ast.Sub: ("-", "$sub"), ast.BitOr: ("", "$ior")}
        if type(node.op) not in operators:
            raise self.fail(node, "the operator is not translated")
        native, function = operators[type(node.op)]
        value = self.expression(node.value)
        if isinstance(node.target, ast.Subscript):
            owner, key = self.expression(node.target.value), self.expression(node.target.slice)
            return f"$put({owner}, {key}, {function}($at({owner}, {key}), {value}));"
        target = self.target(node.target)
        types = {self.type_of(node.target), self.type_of(node.value)}
        if native and types in ({"int"}, {"str"}, {"int", "bool"}):
            return f"{target} {native}= {value};"
        return f"{target} = {function}({target}, {value});"

    def _delete(self, node: ast.expr) -> str:
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
            return f"$delete({self.expression(node.value)}, {self.expression(node.slice)});"
        raise self.fail(node, "the target is not translated")

    def _try(self, node: ast.Try) -> str:
        if node.orelse:
            raise self.fail(node, "`else` of `try` is not translated")
        text = f"try {self._block(node.body)}"
        if node.handlers:
            cases = ""
            for handler in node.handlers:
                test = self._error_test(handler)
                name = f"{js_identifier(handler.name)} = error; " if handler.name else ""
                cases += f"if ({test}) {{ {name}{self._body(handler.body)} }} else "
            text += f" catch (error) {{ {cases}{{ throw error; }} }}"
        if node.finalbody:
            text += f" finally {self._block(node.finalbody)}"
        return text

    def _error_test(self, handler: ast.ExceptHandler) -> str:
        if handler.type is None:
            raise self.fail(handler, "`except` without a type")
        types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        tests = []
        for type_ in types:
            name = ast.unparse(type_)
            symbol = self.program.resolve(self.module, name)
            if symbol is not None:
                tests.append(f"error instanceof {self.use(symbol)}")
            elif name in _ERRORS:
                tests.append(_ERRORS[name])
            else:
                raise self.fail(type_, "the exception is not translated")
        return " || ".join(dict.fromkeys(tests))

    def _with(self, node: ast.With, item: ast.withitem, body: Sequence[ast.stmt]) -> str:
        match item.context_expr:
            case ast.Call(func=ast.Attribute(attr=attr)) if attr in _SKIPPED_CONTEXTS:
                kept = [part for part in body if "simplefilter" not in ast.unparse(part)]
                return self._body(kept)
            case ast.Call(func=ast.Name(id="suppress"), args=[ast.Name(id="CycleError")]):
                return self._body(body)  # `runtime.js` does not raise it.
        raise self.fail(node, "the context manager is not translated")

    def _match(self, node: ast.Match) -> str:
        subject = self.expression(node.subject)
        if not re.fullmatch(r"[\w$.]+", subject):
            raise self.fail(node, "the subject of `match` must be a name")
        text = ""
        for case in node.cases:
            test = self._pattern(case.pattern, subject)
            guard = "" if case.guard is None else self.condition(case.guard)
            condition = " && ".join(f"({part})" for part in (test, guard) if part)
            body = self._block(case.body)
            text += f"if ({condition}) {body} else " if condition else body
            if not condition:
                return text
        return f"{text}{{}}"

    def _pattern(self, node: ast.pattern, subject: str) -> str:
        match node:
            case ast.MatchAs(pattern=None, name=None):
                return ""
            case ast.MatchValue(value=value):
                return f"{subject} === {self.expression(value)}"
            case ast.MatchSingleton(value=value):
                return f"{subject} === {'null' if value is None else str(value).lower()}"
            case ast.MatchClass(cls=ast.Name(id=name), patterns=[], kwd_patterns=[]):
                return type_test(self, node, name).format(subject)
            case ast.MatchOr(patterns=patterns):
                return " || ".join(self._pattern(pattern, subject) for pattern in patterns)
        raise self.fail(node, "the pattern is not translated")


def _code(block: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return the statements without docstrings."""
    return [node for node in block if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))]


def declaring_statements(block: Sequence[ast.stmt], names: set[str]) -> dict[ast.stmt, list[str]]:
    """Return the statements that can declare variables, in the innermost block with all uses of them."""
    declaring: dict[ast.stmt, list[str]] = {}
    for name in names:
        using = [statement for statement in block if _uses(statement, name)]
        if not using:
            continue
        first = using[0]
        match first:
            case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=value):
                if value is not None and _is_plain(target) and not _uses(value, name):
                    declaring.setdefault(first, []).append(name)
                continue
            case ast.For(target=target, iter=iterable) if _uses(target, name):
                if len(using) == 1 and _is_plain(target) and not _uses(iterable, name):
                    declaring.setdefault(first, []).append(name)
                continue
        inner = [part for part in _blocks(first) if any(_uses(statement, name) for statement in part)]
        if len(using) == 1 and len(inner) == 1 and not any(_uses(part, name) for part in _heads(first)):
            for statement, declared in declaring_statements(inner[0], {name}).items():
                declaring.setdefault(statement, []).extend(declared)
    return {statement: found for statement, found in declaring.items() if set(found) == set(_targets(statement))}


def _is_plain(node: ast.expr) -> bool:
    """Return whether a target consists of variables."""
    return all(isinstance(part, ast.Name | ast.Tuple | ast.Starred | ast.expr_context) for part in ast.walk(node))


def _targets(node: ast.stmt) -> list[str]:
    """Return the variables that an assignment or a loop sets, without `_`."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]  # type: ignore[attr-defined]
    names = [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
    return names if len(names) == 1 else [name for name in names if name != "_"]


def _uses(node: ast.AST, name: str) -> bool:
    return any(
        (isinstance(part, ast.Name) and part.id == name) or (isinstance(part, ast.ExceptHandler) and part.name == name)
        for part in ast.walk(node)
    )


def _stored(node: ast.AST) -> list[str]:
    names = [part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]
    return names + [part.name for part in ast.walk(node) if isinstance(part, ast.ExceptHandler) and part.name]


def _blocks(node: ast.stmt) -> list[list[ast.stmt]]:
    blocks = [getattr(node, name) for name in ("body", "orelse", "finalbody") if getattr(node, name, None)]
    blocks += [part.body for name in ("handlers", "cases") for part in getattr(node, name, ())]
    return blocks


def _heads(node: ast.stmt) -> list[ast.AST]:
    """Return the parts of a statement outside of its blocks."""
    heads = [getattr(node, name) for name in ("test", "iter", "target", "subject") if getattr(node, name, None)]
    heads += [part for item in getattr(node, "items", ()) for part in ast.walk(item)]
    heads += [part.type for part in getattr(node, "handlers", ()) if part.type is not None]
    heads += [part for case in getattr(node, "cases", ()) for part in (case.pattern, case.guard) if part is not None]
    return heads


def _assigned(nodes: Iterable[ast.AST]) -> Iterable[str]:
    """Yield the local variables of a function, without those of comprehensions and lambdas."""
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.name
        if isinstance(node, ast.comprehension):
            yield from _assigned([node.iter, *node.ifs])
        elif not isinstance(node, ast.Lambda):
            yield from _assigned(ast.iter_child_nodes(node))


def _add_values(values: dict[str, list[ast.expr | None]], target: ast.expr, value: ast.expr | None) -> None:
    match target:
        case ast.Name(id=name):
            values.setdefault(name, []).append(value)
        case ast.Tuple(elts=targets):
            parts = value.elts if isinstance(value, ast.Tuple) and len(value.elts) == len(targets) else None
            for index, part in enumerate(targets):
                _add_values(values, part, None if parts is None else parts[index])
        case ast.Starred(value=inner):
            _add_values(values, inner, ast.List(elts=[], ctx=ast.Load()))
