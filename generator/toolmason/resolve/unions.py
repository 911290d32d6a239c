"""Unions of `[types]`, whose members differ in the value of one field."""

from __future__ import annotations

from collections.abc import Mapping

from toolmason_runtime.shared.toml.positions import KeyPath

from toolmason.manifest.tables import TypeTable
from toolmason.manifest.validate_types import KINDS
from toolmason.model.type_expression import names
from toolmason.model.types import ClassName, DeclaredType, ObjectType, Property, UnionType
from toolmason.resolve.context import ResolveContext


def inner_names(declared: DeclaredType) -> frozenset[str]:
    """Return the types that a type refers to directly."""
    return frozenset[str]().union(*map(names, declared.references))


def has_uncertain_kind(context: ResolveContext, name: str) -> bool:
    """Return whether a type has an error that hides whether it is an object, an enumeration or a union."""
    is_unread = context.tables.types[name].is_uncertain(*KINDS)
    return is_unread or context.raw_table("types", name).keys().isdisjoint(KINDS)


def union_type(context: ResolveContext, name: str, table: TypeTable, objects: Mapping[str, ObjectType]) -> UnionType:
    """Return the union of `table` with its valid members; report the others."""
    members: dict[ClassName, str] = {}
    for index, member in enumerate(table.one_of):
        at = (*table.at, "one_of", index)
        if member not in objects:
            if not context.is_known("types", member):
                context.report_unknown("TM302", "type", member, context.tables.types, at)
            elif member in context.tables.types:
                message = f"`{member}` in `one_of` of `{name}` is not an object"
                context.error("TM358", message, at, hint="name types with `fields`")
            continue
        value = _tag(context, table, objects[member], at)
        if value is None:
            continue
        if other := next((known for known, tag in members.items() if tag == value), None):
            message = f"`{other}` and `{member}` have the same value of `{table.discriminator}`: `{value}`"
            context.error("TM358", message, at, hint="give each type its own value")
        else:
            members[ClassName(member)] = value
    if len(table.one_of) == 1:
        message = f"`one_of` of `{name}` has a single type"
        context.error("TM358", message, (*table.at, "one_of"), hint=f"write `{table.one_of[0]}` instead of `{name}`")
    return UnionType(
        name=ClassName(name),
        description=table.description.strip(),
        members=members,
        discriminator=table.discriminator,
        at=table.at,
    )


def _tag(context: ResolveContext, table: TypeTable, member: ObjectType, at: KeyPath) -> str | None:
    """Return the value of the discriminator of a member; None, reported, if it has none."""
    name = table.discriminator
    if not name or table.is_uncertain("discriminator"):
        return None
    field = next((field for field in member.fields if field.name == name), None)
    is_reported = name in context.raw_table("types", member.name, "fields") or has_uncertain_kind(context, member.name)
    if field is None and is_reported:
        return None
    choices = _choices(field) if field else []
    if field is None or not field.required or field.nullable or len(choices) != 1:
        sample = member.name.lower()
        message = f"`{member.name}` has no required field `{name}` with one value"
        hint = f'add `fields.{name} = {{ type = "string", enum = ["{sample}"] }}` to [types.{member.name}]'
        context.error("TM358", message, at, hint=hint)
        return None
    return choices[0]


def _choices(field: Property) -> list[str]:
    return [choice for choice in field.constraints.get("enum", ()) if isinstance(choice, str)]
