"""The types of structured results."""

from __future__ import annotations

from toolmason.manifest.groups import kind_of
from toolmason.manifest.tables import ToolTable
from toolmason.model.identifiers import class_name
from toolmason.model.type_expression import MalformedTypeError, names, parse
from toolmason.model.types import ArrayType, ClassName, ObjectType, PrimitiveType, Property
from toolmason.resolve.context import ResolveContext


def list_types(context: ResolveContext) -> dict[str, ObjectType]:
    """Return the types of results with `returns = "Issue[]"`: an object with the items, by its name."""
    resolved: dict[str, ObjectType] = {}
    for name, table in context.tables.tools.items():
        item = list_type(table)
        if item is None or not names(item) <= context.tables.types.keys():
            continue  # `resolve_tool` reports the unknown type
        at = (*table.at, "returns")
        fields = [Property(name="items", type=item, description="Items of the answer", at=at)]
        kind = kind_of(table)
        if kind and kind.has_pages(table):
            description = "Whether more pages exist"
            fields.append(Property(name="has_more", type=PrimitiveType("boolean"), description=description, at=at))
        type_name = result_name(name, table)
        if type_name in context.types:
            message = f"the result of `{name}` becomes the type `{type_name}`, which exists"
            context.error("TM306", message, at, hint="rename one", value=False)
        resolved[type_name] = ObjectType(name=ClassName(type_name), description="", fields=tuple(fields), at=at)
    return resolved


def result_name(name: str, table: ToolTable) -> str:
    """Return the name of the type of a tool's result; empty for a result without structure."""
    return f"{class_name(name)}Result" if list_type(table) else table.returns


def unknown_item(context: ResolveContext, table: ToolTable) -> str:
    """Return the unknown type in a `returns` such as `Issue[]`, empty if there is none."""
    item = list_type(table)
    return next(iter(sorted(names(item) - context.tables.types.keys())), "") if item else ""


def list_type(table: ToolTable) -> ArrayType | None:
    """Return the type of `returns` if that is an array, such as `Issue[]`, and the kind of the tool allows one."""
    kind = kind_of(table)
    if not (table.returns and kind and kind.has_list_results):
        return None
    try:
        ref = parse(table.returns)
    except MalformedTypeError:
        return None
    return ref if isinstance(ref, ArrayType) else None
