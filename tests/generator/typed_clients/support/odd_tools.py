"""Tools as other servers describe them: names that collide, schemas of every kind, and none at all."""

from __future__ import annotations

from typing import Any, Final


def tool(name: str, properties: dict[str, Any] | None = None, /, **facts: Any) -> dict[str, Any]:
    """A tool of `tools/list`; facts with the name of a keyword of JSON Schema are those of its arguments."""
    own: dict[str, Any] = {key: facts.pop(key) for key in ("description", "outputSchema", "title") if key in facts}
    return {"name": name, "inputSchema": {"type": "object", "properties": properties or {}, **facts}, **own}


def returns(properties: dict[str, Any], **facts: Any) -> dict[str, Any]:
    """The schema of a result."""
    return {"type": "object", "properties": properties, **facts}


TEXT: Final = {"type": "string"}
COUNT: Final = {"type": "integer"}
TREE: Final = {
    "type": "object",
    "properties": {"name": TEXT, "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
    "required": ["name"],
}
TOOLS: Final[list[dict[str, Any]]] = [
    # Names
    tool("get-user", {"id": TEXT}, required=["id"], description="Get a user."),
    tool("get_user", {"id": COUNT}),
    tool("getUser"),
    tool("Get User"),
    tool("2fa.verify"),
    tool("日本語", {"名前": TEXT}),
    tool("class"),
    tool("import", {"from": TEXT, "class": COUNT, "self": TEXT, "results": TEXT, "arguments": TEXT, "others": TEXT}),
    *map(tool, ("close", "list", "str", "params", "results", "stdio", "url", "then", "callTool")),
    tool("call_tool"),
    tool("constructor"),
    tool("with_options", {"timeout": COUNT, "on_progress": TEXT, "options": TEXT, "args": TEXT}),
    tool("http", {"content-type": TEXT, "content_type": TEXT, "Content-Type": TEXT, "$top": COUNT, "@type": TEXT}),
    tool("dunder", {"__init__": TEXT, "_private": TEXT, "": TEXT, "a b": TEXT, "1st": TEXT, "prototype": TEXT}),
    # Documentation
    tool("quotes", {"text": {**TEXT, "description": 'Ends with """ and a \\'}}, description='"""\\ */ `${x}` \u202e'),
    tool("long", description=" ".join(["word"] * 80) + "\n\n- a list\n  of lines\n\n```json\n{}\n```"),
    tool("untyped", {"value": {}, "other": True, "nothing": {"description": "Says nothing"}}),
    # Arguments
    tool("optional", {"a": TEXT, "b": {"type": ["string", "null"]}, "c": {**TEXT, "nullable": True}}, required=["b"]),
    tool(
        "defaults",
        {"a": {**COUNT, "default": 5}, "b": {**TEXT, "default": None}, "c": {"type": "array", "default": []}},
    ),
    tool(
        "enums",
        {"a": {"enum": ["x", 1, True, None]}, "b": {"const": "only"}, "c": {"enum": [1.5, 2]}, "d": {"enum": []}},
    ),
    tool(
        "formats", {"a": {**TEXT, "format": "date-time"}, "b": {**TEXT, "format": "x-unknown"}, "c": {"type": "file"}}
    ),
    tool(
        "unions",
        {"a": {"anyOf": [TEXT, COUNT, {"type": "null"}]}, "b": {"oneOf": [TEXT, {"type": "array", "items": TEXT}]}},
    ),
    tool("arrays", {"a": {"type": "array", "items": {"anyOf": [TEXT, returns({"x": COUNT})]}}, "b": {"type": "array"}}),
    tool(
        "tuples", {"a": {"type": "array", "prefixItems": [TEXT, COUNT]}, "b": {"type": "array", "items": [TEXT, COUNT]}}
    ),
    tool("nested", {"a": returns({"b": returns({"c": returns({"d": TEXT}, required=["d"])})})}, required=["a"]),
    tool("keys", {"a": returns({"content-type": TEXT, "class": COUNT, "list": {"type": "array", "items": TEXT}})}),
    tool(
        "maps",
        {
            "a": {"type": "object", "additionalProperties": COUNT},
            "b": {"type": "object"},
            "c": {"patternProperties": {"^x": TEXT}},
        },
    ),
    tool("open", {"a": TEXT}, additionalProperties=True),
    tool("recursive", {"root": {"$ref": "#/$defs/Tree"}}, **{"$defs": {"Tree": TREE}}),
    tool(
        "json_value",
        {"value": {"$ref": "#/$defs/Json"}},
        **{
            "$defs": {
                "Json": {
                    "anyOf": [
                        TEXT,
                        {"type": "array", "items": {"$ref": "#/$defs/Json"}},
                        {"type": "object", "additionalProperties": {"$ref": "#/$defs/Json"}},
                    ]
                }
            }
        },
    ),
    tool(
        "references",
        {
            "a": {"$ref": "#/$defs/Missing"},
            "b": {"$ref": "https://example.com/x.json"},
            "c": {"$ref": "#/properties/d"},
            "d": returns({"x": TEXT}),
            "e": {"$ref": "#/$defs/Loop"},
        },
        **{"$defs": {"Loop": {"$ref": "#/$defs/Loop"}}},
    ),
    tool(
        "all_of",
        {
            "a": {"allOf": [returns({"x": TEXT}, required=["x"]), returns({"y": COUNT})]},
            "b": {"allOf": [{"$ref": "#/$defs/Any"}], "description": "One"},
        },
        **{"$defs": {"Any": returns({"z": TEXT})}},
    ),
    tool(
        "variants",
        {
            "shape": {
                "oneOf": [
                    returns({"kind": {"const": "circle"}, "radius": {"type": "number"}}, required=["kind", "radius"]),
                    returns({"kind": {"const": "square"}, "side": {"type": "number"}}, required=["kind", "side"]),
                ]
            }
        },
    ),
    tool("same_item", {"item": {"$ref": "#/$defs/Item"}}, **{"$defs": {"Item": returns({"x": TEXT})}}),
    tool("same_item_again", {"item": {"$ref": "#/$defs/Item"}}, **{"$defs": {"Item": returns({"x": TEXT})}}),
    tool("other_item", {"item": {"$ref": "#/$defs/Item"}}, **{"$defs": {"Item": returns({"y": COUNT})}}),
    {
        "name": "either",
        "inputSchema": {
            "type": "object",
            "anyOf": [
                {"properties": {"id": COUNT, "force": {"type": "boolean"}}, "required": ["id"]},
                {"properties": {"name": TEXT, "force": {"type": "boolean"}}, "required": ["name"]},
            ],
        },
    },
    {"name": "broken", "inputSchema": {"type": "object", "properties": ["x"], "required": "x"}, "outputSchema": None},
    {"name": "no_schema"},
    # Results
    tool(
        "plain_result",
        outputSchema=returns({"count": COUNT, "note": {"type": ["string", "null"]}}, required=["count", "note"]),
    ),
    tool(
        "odd_keys",
        outputSchema=returns(
            {
                "class": TEXT,
                "copy": TEXT,
                "model_config": TEXT,
                "json": TEXT,
                "_id": TEXT,
                "content-type": TEXT,
                "list": {"type": "array", "items": TEXT},
                "str": TEXT,
                "Literal": {"enum": ["a"]},
                "validate": TEXT,
                "Entry": COUNT,
                "entry": {"$ref": "#/$defs/Entry"},
            },
            **{"$defs": {"Entry": returns({"int": COUNT, "any": {}}, required=["int"])}},
        ),
    ),
    tool("tree_result", outputSchema={"$ref": "#/$defs/Tree", "$defs": {"Tree": TREE}}),
    tool("self_result", outputSchema={**returns({"next": {"$ref": "#"}, "value": COUNT}), "title": "Node"}),
    tool(
        "union_result",
        outputSchema={
            "type": "object",
            "oneOf": [
                returns({"status": {"const": "ok"}, "value": COUNT}, required=["status", "value"]),
                returns({"status": {"const": "failed"}, "reason": TEXT}, required=["status", "reason"]),
            ],
        },
    ),
    tool("map_result", outputSchema={"type": "object", "additionalProperties": returns({"n": COUNT})}),
    tool("any_result", outputSchema={"type": "object"}),
    tool(
        "deep_result",
        outputSchema=returns(
            {
                "a": {
                    "type": "array",
                    "items": {
                        "type": "array",
                        "items": returns({"b": {"anyOf": [returns({"c": COUNT}, required=["c"]), {"type": "null"}]}}),
                    },
                }
            },
            required=["a"],
        ),
    ),
]
"""The tools; those with a result are called with `ANSWERS`."""

ANSWERS: Final[dict[str, Any]] = {
    "plain_result": {"count": 3, "note": None, "added": "later"},
    "odd_keys": {
        "class": "a",
        "copy": "b",
        "list": ["c"],
        "_id": "d",
        "content-type": "e",
        "entry": {"int": 1, "any": [1]},
    },
    "tree_result": {"name": "root", "children": [{"name": "leaf"}]},
    "self_result": {"value": 1, "next": {"value": 2}},
    "union_result": {"status": "failed", "reason": "because"},
    "map_result": {"x": {"n": 1}},
    "any_result": {"whatever": [1]},
    "deep_result": {"a": [[{"b": {"c": 1}}, {"b": None}]]},
}
"""The structured result of each tool."""
