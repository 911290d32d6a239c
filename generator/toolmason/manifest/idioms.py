"""Hints for keys and types that authors bring from JSON Schema, Python and other frameworks.

Edit distance alone can suggest a wrong key: `optional` resembles `positional`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from toolmason_runtime.shared.toml.tables import Idiom


def _named(key: str, *spellings: str) -> dict[str, Idiom]:
    return dict.fromkeys(spellings, Idiom(f"write `{key}`", key))


_ONE_TYPE: Final = "a value has one type; only an `input_schema` can allow several"
_UNION: Final = Idiom(_ONE_TYPE)
_OBJECT: Final = 'declare the object as `[types.Name]` with `fields`, and write `type = "Name"`'
_MAP: Final = "write `map<T>`, such as `map<string>`; `object` is an object with any members"
_LIST: Final = "write `T[]`, such as `string[]`"
_RETURNS: Final = Idiom('write `returns = "Name"` for `[types.Name]`', "returns")
_CLI: Final = Idiom("write `cli` with the name of a program in `[clis]`, and `argv` for its subcommand", "cli")
_HINTS: Final = "write `hints = { read_only = true }` for a tool that changes nothing, else its other hints"

VALUE_KEYS: Final[Mapping[str, Idiom]] = {
    "optional": Idiom("write `required = false`, or give it a `default`", "required"),
    "items": Idiom('write the item type with brackets: `type = "string[]"`'),
    **dict.fromkeys(("fields", "properties"), Idiom(_OBJECT)),
    **dict.fromkeys(("additionalProperties", "additional_properties"), Idiom(_MAP)),
    **dict.fromkeys(("anyOf", "oneOf", "any_of", "one_of"), _UNION),
    "const": Idiom("write `enum` with one value", "enum"),
    "exclusiveMinimum": Idiom("write `minimum`, for an integer one more", "minimum"),
    "exclusiveMaximum": Idiom("write `maximum`, for an integer one less", "maximum"),
    **_named("enum", "choices", "options", "values"),
    **_named("pattern", "regex"),
    **_named("description", "title", "summary", "help"),
    **dict.fromkeys(("example", "examples"), Idiom("write examples of whole calls: `[[tools.NAME.examples]]`")),
}
"""Unknown key of a parameter or a field -> what to write instead."""

TYPE_KEYS: Final[Mapping[str, Idiom]] = {
    **_named("fields", "properties", "params"),
    **_named("one_of", "oneOf", "anyOf", "any_of", "union"),
    **_named("enum", "values", "choices"),
    **_named("discriminator", "tag"),
    "required": Idiom("write `required` in each field"),
}
"""The same for `[types.NAME]`."""

TOOL_KEYS: Final[Mapping[str, Idiom]] = {
    "name": Idiom("the name of a tool is in its header: `[tools.NAME]`"),
    **_named("params", "parameters", "args", "input", "inputs", "properties"),
    "required": Idiom("write `required` in each parameter"),
    "schema": Idiom("write `params`, or `input_schema` for a JSON Schema", "params"),
    **dict.fromkeys(("output", "output_schema", "outputSchema", "result"), _RETURNS),
    **_named("handler", "function", "func"),
    **dict.fromkeys(("command", "program"), _CLI),
    **_named("http", "request", "endpoint", "url", "route", "method"),
    **_named("paginate", "pagination"),
    **_named("upstream", "server", "mcp_server", "proxy"),
    **dict.fromkeys(("annotations", "read_only", "readOnlyHint", "destructiveHint"), Idiom(_HINTS, "hints")),
    **_named("tags", "labels"),
    **dict.fromkeys(("disabled", "hidden"), Idiom("write `enabled = false`", "enabled")),
}
"""The same for `[tools.NAME]`."""

API_KEYS: Final[Mapping[str, Idiom]] = {
    **_named("base_url", "url", "baseUrl", "server", "host"),
    **_named("auth", "authentication", "authorization", "token", "security"),
    **_named("allow_hosts", "hosts", "allowed_hosts"),
}
"""The same for `[apis.NAME]`."""

CLI_DEFAULT_KEYS: Final[Mapping[str, Idiom]] = {
    "hints": Idiom("write `risk`: the hints of these tools follow from it", "risk"),
}
"""The same for `[clis.NAME.defaults]`."""

PROMPT_KEYS: Final[Mapping[str, Idiom]] = {
    **_named("arguments", "params", "parameters", "args", "variables"),
    **_named("handler", "function", "func"),
    **_named("text", "prompt", "template"),
    **_named("uri", "url", "uri_template", "uriTemplate"),
    **_named("mime_type", "mimeType", "media_type"),
    "name": Idiom("the name is in the header: `[prompts.NAME]`, `[resources.NAME]`"),
}
"""The same for `[prompts.NAME]` and `[resources.NAME]`."""

_FORMATS: Final = {
    **dict.fromkeys(("datetime", "timestamp"), "date-time"),
    **dict.fromkeys(("url", "uri"), "uri"),
    **{name: name for name in ("date", "time", "duration", "uuid", "email")},
}
_TYPES: Final = {
    **dict.fromkeys(("str", "text", "char"), "string"),
    **dict.fromkeys(("int", "int32", "int64", "long"), "integer"),
    **dict.fromkeys(("float", "double", "decimal"), "number"),
    "bool": "boolean",
}
_HINT_OF_WORD: Final = {
    **{word: f'write `type = "string"` with `format = "{name}"`' for word, name in _FORMATS.items()},
    **{word: f"write `{name}`" for word, name in _TYPES.items()},
    **dict.fromkeys(("list", "array", "tuple", "set"), _LIST),
    **dict.fromkeys(("dict", "map", "mapping", "record"), _MAP),
    **dict.fromkeys(("any", "unknown", "mixed"), "only an `input_schema` can allow any value"),
    **dict.fromkeys(("enum", "literal"), 'write `type = "string"` with `enum = ["a", "b"]`'),
}
MAX_TYPE_CHARS: Final = 256
"""Maximum characters of a type expression, in every notation. Each level of nesting needs two of them and one call."""
_NULLS: Final = ("null", "none", "nil", "undefined")

_OPTIONAL: Final = re.compile(r"optional\s*[\[<](.+)[\]>]|(.+)\?", re.IGNORECASE)
"""`Optional[str]`, `string?`."""
_UNION_OF: Final = re.compile(r"union\s*[\[<](.+)[\]>]", re.IGNORECASE)
"""`Union[int, str]`."""
_LIST_OF: Final = re.compile(r"(?:list|array|set|sequence)\s*+(?:[\[<](.+)[\]>]|(?<=\s)of\s++(\w+))", re.IGNORECASE)
"""`list[str]`, `array<string>`, `list of strings`."""
_MAP_OF: Final = re.compile(r"(?:dict|map|mapping|record)\s*[\[<]\s*\w+\s*,(.+)[\]>]", re.IGNORECASE)
"""`dict[str, int]`, `Record<string, number>`."""


def type_hint(value: Any) -> str:
    """Return the hint for an invalid `type`, such as `datetime`, `list[int]` or `["string", "null"]`."""
    if isinstance(value, list):
        members = [member for member in value if isinstance(member, str)]
        return _union_hint(members) if len(members) == len(value) else _ONE_TYPE
    if isinstance(value, dict):
        return _OBJECT
    return _text_hint(value.strip()) if isinstance(value, str) else ""


def result_hint(text: str) -> str:
    """Return the hint for a `returns` that is a type expression, such as `Issue[]`; empty for a name."""
    if len(text) > MAX_TYPE_CHARS or re.fullmatch(r"[A-Z]\w*", text):
        return ""
    return f'a result is an object: declare a type with `fields.items = {{ type = "{_translate(text)}" }}` and name it'


def _text_hint(text: str) -> str:
    if len(text) > MAX_TYPE_CHARS:
        return ""
    if match := _OPTIONAL.fullmatch(text):
        return _union_hint([match[1] or match[2], "null"])
    members = [member.strip() for member in re.split(r"\||\sor\s", text)]
    if match := _UNION_OF.fullmatch(text):
        members = match[1].split(",")
    if len(members) > 1:
        return _union_hint(members)
    if hint := _HINT_OF_WORD.get(text.lower()):
        return hint
    if text.lower() in _NULLS:
        return "write the type of the other values, with `nullable = true`"
    translation = _translate(text)
    return f"write `{translation}`" if translation != text else ""


def _union_hint(members: list[str]) -> str:
    types = [member.strip() for member in members if member.strip().lower() not in _NULLS]
    if len(types) == 1 and len(types[0]) <= MAX_TYPE_CHARS:
        return f'write `type = "{_translate(types[0])}"` with `nullable = true`'
    return _ONE_TYPE


def _translate(text: str) -> str:
    """Return the equivalent type expression of the manifest: `string[]` for `list[str]`."""
    text = text.strip()
    if match := _LIST_OF.fullmatch(text):
        return f"{_translate(match[1] or match[2].removesuffix('s'))}[]"
    if match := _MAP_OF.fullmatch(text):
        return f"map<{_translate(match[1])}>"
    if text.endswith("[]"):
        return f"{_translate(text[:-2])}[]"
    return "string" if text.lower() in _FORMATS else _TYPES.get(text.lower(), text)
