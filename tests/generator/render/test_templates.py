"""Templates hold no logic that belongs to the model, and print no free text raw."""

from __future__ import annotations

from pathlib import Path

import pytest
from jinja2 import nodes

import toolmason_templates
from toolmason.render.environment import make_environment
from toolmason.render.filters import FILTERS

FOLDER = Path(toolmason_templates.__file__).parent
TEMPLATES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.jinja"))

CHECKED = {
    "client.class_name",
    "client.package",
    "category.handler_modules",
    "category.module",
    "category.name",
    "category.plurals",  # constants of kinds
    "category.result",
    "category.siblings",
    "command.call_hint",
    "command.name",
    "completion.constant",
    "completion.handler.function",
    "completion.handler.module",
    "constant",
    "declared.base",
    "declared.comment",  # TypeScript source, as `class_comment`, `field.key` and `field.type`, of `typescript_source`
    "declared.docstring",  # Python source, as the next ones, of `model_classes`
    "declared.name",
    "declared.value",
    "documentation",  # a docstring of `python_source`
    "field.annotation",
    "field.comment",
    "field.default",
    "field.docstring",
    "field.key",
    "field.name",
    "field.type",
    "imports",  # Python source of our own modules, as `library`
    "library",
    "group",
    "method.arguments",
    "method.comment",
    "method.name",
    "method.result",
    "module.exports",
    "module.typing_names",
    "parameter.annotation",
    "parameter.name",
    "python.class_docstring",
    "python.modules",
    "python.sync_docstring",
    "statement.risk.name",  # a name of `Risk`
    "tool.implementation.database_constant",
    "names",
    "facts.opening",  # JSON
    "each.place.name",
    "facts.shared_models",
    "handler.function",
    "handler.module",
    "line.risk.name",
    "loop.index",
    "module",
    "name",
    "option.annotation",
    "option.field",
    "prompt.name",
    "provider",
    "resource.name",
    "result",
    "request.risk.name",
    "risk.name",
    "server.extras",
    "server.guard.function",
    "server.guard.module",
    "server.hook_types",
    "server.lifespan.function",
    "server.lifespan.module",
    "server.middleware.function",
    "server.middleware.module",
    "server.name",
    "server.package",
    "server.postings",
    "server.routes.function",
    "server.routes.module",
    "server.source",
    "server.wheel",
    "served.risk.name",
    "style.size",
    "style.tokens",
    "style.tools",
    "tool.constant",
    "tool.deprecated.until",  # a date
    "tool.handler.function",
    "tool.handler.module",
    "tool.implementation.api_constant",
    "tool.implementation.handler.function",
    "tool.implementation.handler.module",
    "tool.implementation.program_constant",
    "tool.implementation.upstream_constant",
    "tool.name",
    "tool.params_class",
    "tool.protocol",
    "tool.result_class",
    "tool.size",
    "tool.tokens",
    "ts.class_comment",
    "type",
    "workflow.call_hint",
    "workflow.name",
}
"""What may be printed as it is: names whose form the manifest language or `names` guarantees, and counts."""

DRAWN = {
    *("bar.y", "chart.height", "chart.legend_height", "column.x", "column.y", "group.y", "item.kind", "item.opacity"),
    *("item.x", "item.y", "key.kind", "key.x", "key.y", "map.cell_width", "map.grid", "map.height", "map.width"),
    *("mark.frame", "mark.kind", "row.x", "row.y", "segment.kind", "segment.width", "segment.x", "x", "y"),
}
"""Values that pictures print without escaping: lengths, and the names of our own classes."""

MACROS = {"super", "caller", "params", "permissions", "_placements", "_tool"} | {
    *("_program", "_api", "_upstream", "_database", "arguments", "option", "signature"),
    *("bars", "square", "text_of"),
}
"""Macros of the packaged templates, whose text is checked where they are defined."""

HARMLESS = {"length"}
"""Filters that give a number."""


def free_text(template: str) -> list[str]:
    """List the expressions of `template` that print something neither checked nor filtered."""
    source = (FOLDER / template).read_text(encoding="utf-8")
    tree = make_environment().parse(source)
    return [
        f"{template}:{part.lineno}: {shown}"
        for output in tree.find_all(nodes.Output)
        for part in output.nodes
        if not isinstance(part, nodes.TemplateData)
        for shown in _raw(part)
    ]


def _raw(node: nodes.Node) -> list[str]:
    match node:
        case nodes.Const() | nodes.TemplateData() | nodes.Compare():
            return []
        case nodes.Filter(name="join", node=inner):
            return _raw(inner) if inner else ["join"]
        case nodes.Filter(name="indent" | "trim" as name, node=inner):
            return _raw(inner) if inner else [name]
        case nodes.Filter(name="map", args=[nodes.Const(value=name)]) if name in FILTERS:
            return []
        case nodes.Filter(name=name):
            return [] if name in FILTERS or name in HARMLESS else [f"filter {name}"]
        case nodes.CondExpr(expr1=first, expr2=second):
            return _raw(first) + (_raw(second) if second else [])
        case (
            nodes.Or(left=left, right=right)
            | nodes.Add(left=left, right=right)
            | nodes.FloorDiv(left=left, right=right)
        ):
            return _raw(left) + _raw(right)
        case nodes.Call(node=nodes.Getattr(node=nodes.Name(name="show" | "facts" | "kind" | "declared" | "picture"))):
            return []
        case nodes.Call(node=nodes.Name(name=name)) if name in MACROS:
            return []
        case nodes.Name() | nodes.Getattr():
            return [] if _dotted(node) in CHECKED | DRAWN else [_dotted(node)]
        case _:
            return [type(node).__name__]


def _dotted(node: nodes.Node) -> str:
    if isinstance(node, nodes.Getattr):
        return f"{_dotted(node.node)}.{node.attr}"
    return node.name if isinstance(node, nodes.Name) else type(node).__name__


@pytest.mark.parametrize("template", [name for name in TEMPLATES if not name.startswith("init/")])
def test_template_prints_free_text_only_through_a_filter(template: str) -> None:
    assert free_text(template) == []


def test_raw_text_in_a_template_is_found() -> None:
    tree = make_environment().parse("{{ tool.summary }}{{ tool.summary | cell }}{{ tool.name }}")
    found = [shown for output in tree.find_all(nodes.Output) for part in output.nodes for shown in _raw(part)]
    assert found == ["tool.summary"]


def test_a_fragment_depends_only_on_its_tool() -> None:
    environment = make_environment()
    used = {
        call.args[0].attr
        for template in TEMPLATES
        for call in environment.parse((FOLDER / template).read_text(encoding="utf-8")).find_all(nodes.Call)
        if _dotted(call.node) == "facts.fragment" and isinstance(call.args[0], nodes.Getattr)
    }
    macros = [
        macro
        for template in TEMPLATES
        for macro in environment.parse((FOLDER / template).read_text(encoding="utf-8")).find_all(nodes.Macro)
        if macro.name in used
    ]
    # Their names are part of the keys of stored fragments.
    assert sorted(macro.name for macro in macros) == sorted(used) != []
    for macro in macros:
        assert [argument.name for argument in macro.args] == ["tool", "facts"]
        loaded = {name.name for name in macro.find_all(nodes.Name) if name.ctx == "load"}
        stored = {name.name for name in macro.find_all(nodes.Name) if name.ctx == "store"}
        # A template of a kind is imported without context as well.
        stored |= {imported.target for imported in macro.find_all(nodes.Import) if not imported.with_context}
        assert loaded <= {"tool", "facts", "loop"} | stored
        facts = {_dotted(node) for node in macro.find_all(nodes.Getattr) if _dotted(node).startswith("facts.")}
        assert {name.split(".")[1] for name in facts} <= {"projected", "rows"}


@pytest.mark.parametrize("template", TEMPLATES)
def test_partial_template_begins_with_a_comment(template: str) -> None:
    source = (FOLDER / template).read_text(encoding="utf-8")
    if Path(template).name.startswith("_"):
        assert source.startswith("{#")
    assert source.strip()
