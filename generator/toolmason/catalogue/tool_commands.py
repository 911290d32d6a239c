"""Commands of tools: the names of commands and options, and the kind of each value, from the schemas of parameters."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from toolmason_runtime.shared.catalogue import ToolEntry
from toolmason_runtime.toolkit import (
    BUILT_IN,
    SUBCOMMANDS,
    TOOLS,
    CommandCategory,
    CommandEntry,
    CommandOption,
    ToolCommand,
    completion_script,
)

from toolmason.model.server import Category, Server

OWN_FLAGS: Final = ("--help", "--arguments", "--json", "--output", "--yes")
"""The options of every command. A parameter of such a name has the option `--arg-NAME`."""
_SCALARS: Final = {"string": "text", "integer": "integer", "number": "number", "boolean": "boolean"}
MAX_SHAPE_DEPTH: Final = 2
"""Objects in objects whose members the help of a JSON value lists."""
MAX_SHAPE_LISTS: Final = 3
"""Lists in lists that the help of a JSON value shows."""
MAX_SHAPE_CHOICES: Final = 8
_MAX_CHOICES: Final = 40
"""Values of an option in its help; a longer list is one text."""
_PLAIN_NAME: Final = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*")
"""Matches most names, such as `read_files`. The expressions for other names take longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSource:
    """A tool, as far as its command needs it. `examples` are descriptions with arguments."""

    name: str
    summary: str
    description: str
    schema: Mapping[str, Any]
    examples: tuple[tuple[str, Mapping[str, Any]], ...] = ()


@dataclass(frozen=True, kw_only=True)
class CategoryCommands:
    """A category with its commands. `prefix` is what precedes a command: `git`, or `tools audit`."""

    name: str
    """Name of the category in the manifest."""
    category: CommandCategory
    prefix: str
    make: Callable[[], tuple[ToolCommand, ...]]

    @cached_property
    def commands(self) -> tuple[ToolCommand, ...]:
        """The commands, made on first use."""
        return self.make()


class _Commands(dict[str, dict[str, ToolCommand]]):
    """The commands of categories by the names of both, made on first use."""

    def __init__(self, built: Sequence[CategoryCommands]) -> None:
        super().__init__()
        self._built = {each.category.name: each for each in built}

    def __missing__(self, name: str) -> dict[str, ToolCommand]:
        found = self[name] = {command.name: command for command in self._built[name].commands}
        return found


def server_commands(server: Server, entries: Mapping[str, ToolEntry]) -> tuple[CategoryCommands, ...]:
    """Return the commands of each category of a server. `entries` are those of its tools in the catalogue."""
    taken = reserved(server)
    built = []
    for category in server.categories:
        sources = [_source(tool.name, entries[tool.name]) for tool in category.tools]
        module = f"{server.package}.{category.module}.commands"
        built.append(category_commands(category.name, category.table.summary, sources, module=module, taken=taken))
    return tuple(built)


def _source(name: str, entry: ToolEntry) -> CommandSource:
    tool, summary = entry["tool"], entry["summary"]
    return CommandSource(
        name=name,
        summary=summary,
        description=tool["description"] if tool["description"] != summary else "",
        schema=tool["inputSchema"],
        examples=tuple((each["description"], each["arguments"]) for each in entry["examples"]),
    )


def reserved(server: Server) -> tuple[str, ...]:
    """Return the subcommands of a server that do not belong to its tools."""
    own = {name for name, _ in SUBCOMMANDS}
    return (*(name for name in BUILT_IN if name not in own), *(each.name for each in server.subcommands))


def completion_of(
    server: Server, built: Sequence[CategoryCommands], shell: str, keep: Callable[[Category, Callable[[], str]], str]
) -> str:
    """Return the script that completes the commands of a server in a shell.

    `keep` returns the part of a category: the stored one of an earlier run, or that of the function.
    """
    others = [*((name, "") for name in reserved(server) if name in BUILT_IN), *SUBCOMMANDS]
    others += [(each.name, each.table.summary) for each in server.subcommands]
    return completion_script(
        shell,
        server.command,
        [each.category for each in built],
        _Commands(built),
        others=others,
        prefix=TOOLS,
        keep=lambda index, make: keep(server.categories[index], make),
    )


def category_commands(
    name: str, summary: str, sources: Sequence[CommandSource], *, module: str = "", taken: Iterable[str] = ()
) -> CategoryCommands:
    """Return the commands of one category.

    Args:
        name: name of the category.
        summary: its summary.
        sources: its tools.
        module: the generated module with its commands; empty in a single file.
        taken: other subcommands: examples of a category of such a name begin with `tools`.
    """
    word = dashed(name) or "tools"
    full = unique([source.name for source in sources])
    short = unique([_without_category(source.name, name) for source in sources], full)
    # In the category `file`, `file_file_read` is not `file-read`, which is the whole name of another.
    short = [full[index] if word in full else word for index, word in enumerate(short)]
    own = {name for name, _ in SUBCOMMANDS}
    prefix = f"{TOOLS} {word}" if word in own or word in taken else word

    def make() -> tuple[ToolCommand, ...]:
        return tuple(
            _command(source, short[index], f"{prefix} {short[index]}" if module else full[index])
            for index, source in enumerate(sources)
        )

    entries = tuple(CommandEntry(short[index], full[index], source.summary) for index, source in enumerate(sources))
    return CategoryCommands(
        name=name, category=CommandCategory(word, summary, entries, module), prefix=prefix, make=make
    )


def _without_category(tool: str, category: str) -> str:
    """Return the name of a tool in its category: `git_log` of `git` is `log`."""
    rest = tool.removeprefix(f"{category}_")
    return rest or tool


def dashed(name: str) -> str:
    """Return a name as a word of a command line: `maxCount` and `max_count` are `max-count`."""
    if _PLAIN_NAME.fullmatch(name):
        return name.replace("_", "-")
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name)
    return re.sub(r"[\W_]+", "-", words).strip("-").lower()


def unique(names: Sequence[str], instead: Sequence[str] = ()) -> list[str]:
    """Return a word of a command line for each name. Names that give the same word keep more of their own form.

    `instead` has the words to use for those; by default the names themselves.
    """
    words = [dashed(name) or f"value-{number}" for number, name in enumerate(names, 1)]
    counts = Counter(words)
    if instead:
        return [word if counts[word] == 1 else instead[index] for index, word in enumerate(words)]
    exact = [re.sub(r"[^\w-]+", "-", name).strip("-") or words[index] for index, name in enumerate(names)]
    chosen = [word if counts[word] == 1 else exact[index] for index, word in enumerate(words)]
    seen: Counter[str] = Counter()
    for index, word in enumerate(chosen):
        seen[word] += 1
        if seen[word] > 1 or (counts[words[index]] > 1 and chosen.count(word) > 1):
            chosen[index] = f"{word}-{seen[word]}"
    return _distinct(chosen)


def _distinct(words: Sequence[str]) -> list[str]:
    """Return the words with a number after those that precede them in the list."""
    found: list[str] = []
    for word in words:
        number = 1
        other = word
        while other in found or (other != word and other in words):
            number += 1
            other = f"{word}-{number}"
        found.append(other)
    return found


def _command(source: CommandSource, name: str, words: str) -> ToolCommand:
    options = options_of(source.schema)
    examples = tuple(
        (description, f"{words} {command_line(options, arguments)}".rstrip())
        for description, arguments in source.examples
    )
    return ToolCommand(name, source.name, source.summary, source.description, options, examples)


def options_of(schema: Mapping[str, Any]) -> tuple[CommandOption, ...]:
    """Return the options of the parameters in a JSON Schema of an object."""
    given_properties = schema.get("properties")
    properties: Mapping[str, Any] = given_properties if isinstance(given_properties, dict) else {}
    flags = [f"--{word}" for word in unique([*properties])]
    flags = [f"--arg-{flag[2:]}" if flag in OWN_FLAGS else flag for flag in flags]
    while (clash := next((index for index, flag in enumerate(flags) if flags.count(flag) > 1), None)) is not None:
        flags[clash] += "-1"
    required = _listed(schema.get("required"))
    options = []
    for (name, given), flag in zip(properties.items(), flags, strict=True):
        found = _resolved(given, schema)
        kind, repeated, choices = _kind(found, schema)
        negation = f"--no-{flag[2:]}" if kind == "boolean" and not repeated else ""
        if negation in flags or negation in OWN_FLAGS:
            negation = ""
        options.append(
            CommandOption(
                parameter=name,
                flag=flag,
                kind=kind,
                help=_help(found, schema, kind, repeated=repeated),
                required=name in required,
                repeated=repeated,
                choices=choices,
                default=_default(found),
                negation=negation,
            )
        )
    return tuple(options)


def _help(schema: Mapping[str, Any], root: Mapping[str, Any], kind: str, *, repeated: bool) -> str:
    """Return the description of a parameter; that of JSON ends with its shape."""
    text = " ".join(str(schema.get("description", "")).split())
    if kind != "json":
        return text
    shape = _shape(schema["items"] if repeated else schema, root, MAX_SHAPE_DEPTH)
    return f"{text.rstrip()} {shape}".lstrip() if shape.startswith(("{", "[")) and shape != "{}" else text


def _shape(schema: Any, root: Mapping[str, Any], depth: int, lists: int = 0) -> str:
    """Return the shape of a value: `{path: string, edits?: [{...}]}`; an optional member has a question mark."""
    found = _resolved(schema, root)
    types = _types(found)
    if types == ["array"]:
        # A list may contain itself.
        return f"[{_shape(found.get('items', {}), root, depth, lists + 1)}]" if lists < MAX_SHAPE_LISTS else "[...]"
    if isinstance(found.get("enum"), list) and found["enum"]:
        return "|".join(json.dumps(value, ensure_ascii=False) for value in found["enum"][:MAX_SHAPE_CHOICES])
    properties = found.get("properties")
    if types != ["object"] or not isinstance(properties, dict) or not properties:
        return "{}" if types == ["object"] else "|".join(types) or "any"
    if not depth:
        return "{...}"
    required = _listed(found.get("required"))
    members = (
        f"{name}{'' if name in required else '?'}: {_shape(each, root, depth - 1)}" for name, each in properties.items()
    )
    return f"{{{', '.join(members)}}}"


def _default(schema: Mapping[str, Any]) -> str:
    value = schema.get("default")
    if value is None or value is False or value in ("", [], {}):
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _kind(schema: Mapping[str, Any], root: Mapping[str, Any]) -> tuple[Any, bool, tuple[Any, ...]]:
    """Return the kind of a value, whether its option is repeated, and its choices."""
    choices = _choices(schema)
    if choices:
        return "choice", False, choices
    types = _types(schema)
    if len(types) != 1:
        return "any", False, ()
    (kind,) = types
    if kind in _SCALARS:
        return _SCALARS[kind], False, ()
    if kind == "array":
        items = schema.get("items")
        found = _resolved(items, root) if isinstance(items, dict) else {}
        if _types(found) == ["array"]:
            return "json", False, ()
        inner, is_list, inner_choices = _kind(found, root)
        if inner == "json" and not is_list and _types(found) == ["object"]:
            return "json", True, ()
        if inner in {"text", "integer", "number", "choice"} and not is_list:
            return inner, True, inner_choices
    return "json", False, ()


def _choices(schema: Mapping[str, Any]) -> tuple[Any, ...]:
    values = _listed(schema.get("enum")) or ([schema["const"]] if "const" in schema else [])
    scalars = tuple(value for value in values if isinstance(value, str | int | float) and not isinstance(value, bool))
    others = [value for value in values if value is not None and not isinstance(value, str | int | float)]
    has_booleans = any(isinstance(value, bool) for value in values)
    return () if others or has_booleans or len(scalars) > _MAX_CHOICES else scalars


def _listed(value: Any) -> list[Any]:
    """Return a keyword that is a list; an empty one if the schema has something else."""
    return value if isinstance(value, list) else []


def _types(schema: Mapping[str, Any]) -> list[str]:
    """Return the types of a schema but null; empty if it does not say."""
    given = schema.get("type")
    types = [given] if isinstance(given, str) else [each for each in _listed(given) if isinstance(each, str)]
    if not types and isinstance(schema.get("enum"), list):
        types = ["string"] if all(isinstance(value, str | None) for value in schema["enum"]) else []
    if not types and "properties" in schema:
        types = ["object"]
    return [each for each in types if each != "null"]


def _resolved(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema without reference and without the alternative null, with its own description and default."""
    found: Any = schema
    for _ in range(20):
        if not isinstance(found, dict):
            return {}
        own = {key: found[key] for key in ("description", "default") if key in found}
        if isinstance(found.get("$ref"), str):
            found = {**_referenced(found["$ref"], root), **own}
            continue
        alternatives = found.get("anyOf") or found.get("oneOf")
        if not isinstance(alternatives, list):
            return found
        left = [each for each in alternatives if not (isinstance(each, dict) and each.get("type") == "null")]
        if len(left) != 1:
            return found
        found = {**left[0], **own} if isinstance(left[0], dict) else {}
    return {}


def _referenced(reference: str, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the target of a reference inside of the schema; empty for any other."""
    found: Any = root
    for part in reference.removeprefix("#/").split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, dict) or key not in found:
            return {}
        found = found[key]
    return found if isinstance(found, dict) else {}


def command_line(options: Sequence[CommandOption], arguments: Mapping[str, Any]) -> str:
    """Return the options for a call, quoted for a shell."""
    by_name = {option.parameter: option for option in options}
    words: list[str] = []
    for name, value in arguments.items():
        option = by_name.get(name)
        found = _words(option, value) if option else None
        if found is None:
            return f"--arguments {shlex.quote(json.dumps(arguments, ensure_ascii=False))}"
        words += found
    return shlex.join(words)


def _words(option: CommandOption, value: Any) -> list[str] | None:
    """Return the words for one parameter; None if its option cannot have this value."""
    if isinstance(value, bool) and option.negation:
        return [option.flag if value else option.negation]
    if not option.repeated:
        text = _text(option, value)
        return None if text is None else [option.flag, text]
    if not isinstance(value, list) or not value:
        return None
    texts = [_text(option, item) for item in value]
    return None if None in texts else [word for text in texts for word in (option.flag, str(text))]


def _text(option: CommandOption, value: Any) -> str | None:
    if value is None or value == "-":
        return None
    if not isinstance(value, str) or option.kind == "json":
        return json.dumps(value, ensure_ascii=False)
    if option.kind in {"text", "any"} and value.startswith("@") and value != "@":
        return f"@{value}"
    return value
