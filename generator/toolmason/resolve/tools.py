"""The tools of the model: parameters, schemas, implementation and examples of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from toolmason_runtime.shared.values.renaming import renamed

from toolmason.kinds import errors_of
from toolmason.kinds.kind import KindTool
from toolmason.manifest.groups import category_of, kind_of
from toolmason.manifest.idioms import result_hint
from toolmason.manifest.tables import ToolTable
from toolmason.model import json_schema
from toolmason.model.identifiers import class_name, constant_name, params_class_name
from toolmason.model.tool import ClaimParam, Example, Tool
from toolmason.model.type_expression import names
from toolmason.model.types import ClassName, JsonSchema, ObjectType, Property
from toolmason.resolve import types
from toolmason.resolve.argument_aliases import argument_aliases
from toolmason.resolve.call_expression import invocation
from toolmason.resolve.context import ResolveContext, allowed
from toolmason.resolve.examples import SchemaChecker
from toolmason.resolve.raw_schema import read_raw_schema
from toolmason.resolve.raw_schema_error import RawSchemaError
from toolmason.resolve.recursion import report_recursive_types
from toolmason.resolve.results import result_name, unknown_item
from toolmason.resolve.tool_names import tool_name_problem
from toolmason.resolve.unions import has_uncertain_kind
from toolmason.schema import Projection, Severity, Target
from toolmason.schema.references import References

_DEFINITIONS: Final = ("$defs", "definitions")


def resolve_tool(context: ResolveContext, checker: SchemaChecker, name: str, table: ToolTable) -> Tool | None:
    """Return the tool of `table`, or None if it has errors, which are reported here or were by an earlier stage."""
    if problem := tool_name_problem(name, context.tables.server.name):
        context.error("TM311", problem, table.at, value=False)
    _report_unknown_params(context, name, table)
    kind = kind_of(table)
    params = types.values(context, kind.params(table) if kind else table.params)
    # `validate` has reported these keys on tools that cannot have them.
    raw = _raw_schema(context, table) if kind is None or kind.takes_schema else None
    result = _result(context, name, table) if kind is None or kind.has_result(table) else None
    if _report_large_types(context, table, params, result):
        return None
    if report_recursive_types(context, params) or len(params) < len(context.raw_table("tools", name, "params")):
        return None
    if table.input_schema is not None and raw is None:
        return None
    if any(has_uncertain_kind(context, inner) for param in params for inner in names(param.type)):
        return None
    if kind is None or table.is_uncertain("params", "input_schema", *kind.decisive_keys):
        return None
    plain = tuple(types.with_plain_enums(context, param) for param in params)
    with errors_of(kind):
        found = KindTool(name=name, table=table, params=plain, schema=raw, checker=checker)
        implementation = kind.resolve(context, found)
    if implementation is None:
        return None
    raw = raw if implementation.schema is None else implementation.schema
    context.hints[name] = implementation.hints
    visible = tuple(param for param in params if not table.params[param.name].claim)
    _check_authorization(context, table)
    exact = json_schema.object_schema(visible) if raw is None else raw
    if not types.has_gaps(context, params):
        _check_examples(context, checker, name, table, exact)
    has_types = raw is None and any(names(param.type) for param in visible)
    schema = json_schema.with_definitions(exact, context.definitions) if has_types else exact
    sent = Projection(schema=schema) if table.verbatim_schema else _advertise(context, table, schema)
    return Tool(
        name=name,
        table=table,
        description=_description(table),
        category=category_of(context.tables, table),
        implementation=implementation,
        params=visible,
        claims=tuple(
            ClaimParam(value=param, claim=claim) for param in params if (claim := table.params[param.name].claim)
        ),
        schema=schema,
        input_schema=sent.schema,
        renamed=sent.renamed,
        argument_aliases=_argument_aliases(context, name, table, sent) or implementation.argument_aliases,
        complete_schema=_complete_schema(schema, sent),
        output_schema=json_schema.result_schema(result, context.types) if result else None,
        examples=_examples(name, table, sent),
        protocol=class_name(name),
        constant=constant_name(name),
        params_class="" if raw is not None else params_class_name(name),
        result_class=result.name if result else "",
        allow=allowed(table.allow),
    )


def _argument_aliases(context: ResolveContext, name: str, table: ToolTable, sent: Projection) -> Mapping[str, str]:
    """Return the other names of parameters with the names that clients see."""
    shown = {own: public for public, own in sent.renamed.items()}
    aliases = {param: ((*row.at, "aliases"), row.aliases) for param, row in table.params.items() if row.aliases}
    names = {*table.params, *shown.values()}
    return {alias: shown.get(own, own) for alias, own in argument_aliases(context, aliases, names, name).items()}


def _check_authorization(context: ResolveContext, table: ToolTable) -> None:
    """Report scopes and claims of a server that accepts no access tokens."""
    if context.tables.server.auth is not None or context.tables.server.is_uncertain("auth"):
        return
    users = [((*table.at, "scopes"), "scopes")] if table.scopes else []
    users += [((*param.at, "claim"), "claim") for param in table.params.values() if param.claim]
    for at, key in users:
        hint = "add the table with `issuer`, `audience` and `jwks_url`"
        context.error("TM361", f"`{key}` requires [server.auth]", at, hint=hint, value=False)


def _description(table: ToolTable) -> str:
    """Return the description for models, with the scopes that a call needs."""
    description = table.description.strip() or table.summary
    if not table.scopes:
        return description
    noun = "scope" if len(table.scopes) == 1 else "scopes"
    scopes = ", ".join(f"`{scope}`" for scope in table.scopes)
    return f"{description}{' ' if description.endswith('.') else '. '}Needs the {noun} {scopes}."


def _report_unknown_params(context: ResolveContext, name: str, table: ToolTable) -> None:
    for param, used in context.raw_table("tools", name, "params").items():
        if isinstance(used, str) and not context.is_known("params", used):
            at = (*table.at, "params", param)
            context.report_unknown("TM357", "shared parameter", used, context.tables.params, at)


def _advertise(context: ResolveContext, table: ToolTable, schema: JsonSchema) -> Projection:
    """Return the schema for clients; report the parts that no client accepts."""
    projection = context.projections.project(schema, Target.MCP, rename=True)
    for finding in projection.findings:
        if finding.severity is Severity.REFUSED:
            message = f"`input_schema` at `{finding.path}`: {finding.message}"
            hint = "or set `verbatim_schema` to send the schema unchanged"
            context.error("TM313", message, (*table.at, "input_schema"), hint=hint)
    return projection


def _complete_schema(schema: JsonSchema, sent: Projection) -> JsonSchema | None:
    """Return `schema` with inlined references, or that of `sent` if it is recursive; None if `sent` has all rules.

    A missing `additionalProperties: false` is ignored, because callers use the listed names.
    """
    if not any(finding.lossy and not finding.opens_object for finding in sent.findings):
        return None
    inlined = None if sent.renamed else References(schema).dereference(schema)
    return sent.schema if inlined is None else {key: rule for key, rule in inlined.items() if key not in _DEFINITIONS}


def _report_large_types(
    context: ResolveContext, table: ToolTable, params: Sequence[Property], result: ObjectType | None
) -> bool:
    reported = [types.report_large_types(context, (param,), param.at) for param in params]
    if result:
        reported.append(types.report_large_types(context, result.fields, (*table.at, "returns"), result))
    return any(reported)


def _raw_schema(context: ResolveContext, table: ToolTable) -> JsonSchema | None:
    if table.input_schema is None:
        return None
    try:
        return read_raw_schema(table.input_schema, context.root)
    except RawSchemaError as error:
        context.error("TM313", str(error), (*table.at, "input_schema"), hint=error.hint)
        return None


def _result(context: ResolveContext, name: str, table: ToolTable) -> ObjectType | None:
    if not table.returns:
        return None
    type_name = result_name(name, table)
    if type_name not in context.types and not context.is_known("types", table.returns):
        unknown = unknown_item(context, table)
        hint = "" if unknown else result_hint(table.returns)
        at = (*table.at, "returns")
        context.report_unknown("TM315", "result type", unknown or table.returns, context.types, at, hint=hint)
    declared = context.types.get(ClassName(type_name))
    if declared is not None and not isinstance(declared, ObjectType):
        message = f"a result is an object, but `{type_name}` is not"
        hint = f'declare a type with `fields.value = {{ type = "{type_name}" }}` and name it'
        context.error("TM315", message, (*table.at, "returns"), hint=hint)
        return None
    return declared


def _check_examples(
    context: ResolveContext, checker: SchemaChecker, name: str, table: ToolTable, schema: JsonSchema
) -> None:
    for example in table.examples:
        for problem in checker.find_problems(schema, example.arguments, closed=table.input_schema is None):
            at = (*example.at, "arguments", *problem.path)
            context.error("TM310", f"example of `{name}` is invalid: {problem.message}", at, hint=problem.hint)


def _examples(name: str, table: ToolTable, sent: Projection) -> tuple[Example, ...]:
    sent_names = {own: shown for shown, own in sent.renamed.items()}
    examples = [(example, renamed(example.arguments, sent.schema, sent_names)) for example in table.examples]
    return tuple(
        Example(table=example, arguments=arguments, invocation=invocation(name, arguments))
        for example, arguments in examples
    )
