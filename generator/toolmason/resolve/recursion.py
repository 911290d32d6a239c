"""Parameters whose types contain themselves: every target of schemas must accept them.

A target accepts a recursive type by a reference, or by copies of it inside itself. A server checks every level.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from toolmason.model import json_schema
from toolmason.model.type_expression import format_type, names
from toolmason.model.types import (
    ArrayType,
    DeclaredType,
    NamedType,
    ObjectType,
    Property,
    TypeRef,
    UnionType,
)
from toolmason.resolve.context import ResolveContext
from toolmason.resolve.unions import inner_names
from toolmason.schema import Severity, Target, pointer_parts

_ARRAY_HINT = "use an array of `{0}`, or the type `object`, for `{1}`"


def report_recursive_types(context: ResolveContext, params: Sequence[Property]) -> bool:
    """Report parameters with a recursive type that no value, the server or a target accepts, and return True."""
    reported = [_report(context, param) for param in params if _links(context.types, names(param.type))]
    return any(reported)


def _report(context: ResolveContext, param: Property) -> bool:
    problem = next(_problems(context, param), None)
    if problem:
        reason, hint = problem
        message = f"parameter `{param.name}` has a recursive type: {reason}"
        context.error("TM307", message, (*param.at, "type"), hint=hint)
    return bool(problem)


def _problems(context: ResolveContext, param: Property) -> Iterator[tuple[str, str]]:
    """Yield the reasons to refuse a parameter, each with a hint."""
    links = _links(context.types, names(param.type))
    finite = _finite_types(context.types)
    for owner, field in links:
        if owner.name not in finite and not _is_finite(field, finite):
            inner = format_type(field.type)
            yield (
                f"`{owner.name}.{field.name}` requires another `{inner}`, so no value ends",
                "write `required = false`, or use an array",
            )
    for name in sorted(_reachable(context.types, frozenset(owner.name for owner, _ in links))):
        for field in context.types[name].fields:
            if field.constraints.get("uniqueItems"):
                yield f"the server cannot check `unique_items` of `{name}.{field.name}` at every level", "remove it"
    schema = json_schema.with_definitions(json_schema.object_schema((param,)), context.definitions)
    for target in Target:
        for finding in context.projections.project(schema, target, store=False).findings:
            # Copies of the type end at some level in every schema without references.
            if finding.severity is Severity.NOTE or finding.pattern == "recursion":
                continue
            for owner, field in links:
                if pointer_parts(finding.pointer)[:4] == ("$defs", owner.name, "properties", field.name):
                    place = f"`{owner.name}.{field.name}`"
                    hint = _ARRAY_HINT.format(next(iter(sorted(names(field.type)))), f"{owner.name}.{field.name}")
                    yield f"the target `{target}` does not accept {place}: {finding.message}", hint


def _reachable(types: Mapping[str, DeclaredType], start: frozenset[str]) -> set[str]:
    """Return the types in `start` and those that they contain."""
    reached: set[str] = set()
    pending = set(start)
    while pending:
        name = pending.pop()
        if name in types and name not in reached:
            reached.add(name)
            pending |= inner_names(types[name])
    return reached


def _links(types: Mapping[str, DeclaredType], start: frozenset[str]) -> list[tuple[ObjectType, Property]]:
    """Return the fields by which the types in `start`, or types in them, contain themselves, with their types."""
    return [
        (owner, field)
        for name in sorted(_reachable(types, start))
        if isinstance(owner := types[name], ObjectType)
        for field in owner.fields
        if name in _reachable(types, names(field.type))
    ]


def _finite_types(types: Mapping[str, DeclaredType]) -> set[str]:
    """Return the types of which a value exists that ends."""
    finite: set[str] = set()
    while more := [name for name in types.keys() - finite if _ends(types[name], finite)]:
        finite.update(more)
    return finite


def _ends(declared: DeclaredType, finite: set[str]) -> bool:
    if isinstance(declared, UnionType):
        return any(name in finite for name in declared.members)
    return all(_is_finite(field, finite) for field in declared.fields)


def _is_finite(field: Property, finite: set[str]) -> bool:
    return not field.required or field.nullable or _has_value(field.type, finite, field.constraints.get("minItems", 0))


def _has_value(ref: TypeRef, finite: set[str], min_items: int = 0) -> bool:
    match ref:
        case NamedType(name):
            return name in finite
        case ArrayType(item):
            return not min_items or _has_value(item, finite)
        case _:
            return True
