"""The checks that rules of profiles name in `check`, with the parameters in `with`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolmason_runtime.shared.styles import STYLES
from toolmason_runtime.shared.toml.positions import KeyPath

from toolmason.catalogue.table import wire_tool
from toolmason.model.server import SECRET_NAME, Server
from toolmason.model.tool import Tool
from toolmason.publishing.project_files import ProjectFiles
from toolmason.publishing.versions import is_semantic, semantic_version

WRITE_VERBS: Final = frozenset(
    [
        *("add", "append", "apply", "archive", "cancel", "clear", "close", "commit", "create", "delete", "deploy"),
        *("drop", "edit", "insert", "invite", "merge", "move", "post", "publish", "push", "put", "remove", "rename"),
        *("replace", "reset", "revoke", "send", "set", "submit", "update", "upload", "write"),
    ]
)
"""First words in the names of tools that change something."""
READ_VERBS: Final = frozenset(
    ["check", "count", "describe", "fetch", "find", "get", "list", "load", "query", "read", "search", "show", "view"]
)
"""First words in the names of tools that change nothing."""
SAFE_METHODS: Final = frozenset(["GET", "HEAD", "OPTIONS"])
UNSAFE_METHODS: Final = frozenset(["POST", "PUT", "PATCH", "DELETE"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A violation of a rule.

    Args:
        at: The key path in the manifest. For an absent key, the location is its table.
        value: Whether the location is that of the value instead of the key.
        file: The file of the project with the problem, if it is not the manifest.
    """

    message: str
    at: KeyPath
    value: bool = False
    file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The project that is checked."""

    server: Server
    files: ProjectFiles

    def field(self, key: str) -> str:
        """Return the value of a key of [server]."""
        if key == "command":
            return self.server.command
        return str(getattr(self.server.table, key))


Check = Callable[..., Iterator[Problem]]
"""Yields the problems of a subject; its keyword arguments are the parameters of the rule."""


def _about(key: str, message: str, *, value: bool = True) -> Problem:
    return Problem(message=message, at=("server", key), value=value)


def present(subject: Subject, *, key: str) -> Iterator[Problem]:
    """Yield a problem if a key of [server] has no value."""
    if not subject.field(key).strip():
        yield _about(key, f"[server] has no `{key}`", value=False)


def matches(subject: Subject, *, key: str, pattern: str) -> Iterator[Problem]:
    """Yield a problem if the whole value of a key does not match `pattern`. `present` reports absent keys."""
    value = subject.field(key)
    if value and not re.fullmatch(pattern, value):
        yield _about(key, f"`{key}` is `{value}`")


def lacks(subject: Subject, *, key: str, pattern: str) -> Iterator[Problem]:
    """Yield a problem if the value of a key contains `pattern`."""
    value = subject.field(key)
    if match := re.search(pattern, value):
        yield _about(key, f"`{key}` is `{value}`, with `{match[0]}`")


def max_length(subject: Subject, *, key: str, maximum: int) -> Iterator[Problem]:
    """Yield a problem if the value of a key is too long."""
    length = len(subject.field(key))
    if length > maximum:
        yield _about(key, f"`{key}` has {length} characters, at most {maximum} are allowed")


def capital_words(subject: Subject, **parameters: Any) -> Iterator[Problem]:
    """Yield a problem if a word of the title does not begin with a capital letter."""
    for word in subject.field("title").split():
        if word not in parameters["except"] and word[0] != word[0].upper():
            yield _about("title", f"the word `{word}` of `title` begins with a lower-case letter")
            return


def semantic(subject: Subject, *, converted: bool = False) -> Iterator[Problem]:
    """Yield a problem if the version is not a semantic version. With `converted`, it may be convertible to one."""
    version = subject.field("version")
    if not (semantic_version(version) if converted else is_semantic(version)):
        yield _about("version", f"`version` is `{version}`")


def github_owner(repository: str) -> str:
    """Return the account that owns a repository of GitHub; empty for another address."""
    match = re.match(r"https://(?:www\.)?github\.com/([\w.-]+)/", f"{repository}/")
    return match[1] if match else ""


def namespace_owner(subject: Subject) -> Iterator[Problem]:
    """Yield a problem if `io.github.USER` is not the owner of the repository on GitHub."""
    namespace = subject.field("registry_name").partition("/")[0]
    owner = github_owner(subject.field("repository"))
    if namespace.lower().startswith("io.github.") and owner:
        user = namespace[len("io.github.") :]
        if user.casefold() != owner.casefold():
            message = f"the namespace belongs to the account `{user}`, the repository to `{owner}`"
            yield _about("registry_name", message)


def icon_addresses(subject: Subject) -> Iterator[Problem]:
    """Yield the icons of the server without an address."""
    for index, icon in enumerate(subject.server.table.icons):
        if not icon.src.startswith("https:"):
            at = ("server", "icons", index, "src")
            yield Problem(message="the icon is a `data:` URI", at=at, value=True)


def has_icon(subject: Subject) -> Iterator[Problem]:
    """Yield a problem if the server has no icon with an address."""
    if not any(icon.src.startswith("https:") for icon in subject.server.table.icons):
        yield _about("icons", "[server] has no icon with an address", value=False)


def same_version(subject: Subject) -> Iterator[Problem]:
    """Yield a problem if pyproject.toml has another version."""
    version, declared = subject.field("version"), subject.files.declared_version
    if declared and declared != version:
        yield _about("version", f"`version` is `{version}`, but pyproject.toml has `{declared}`")


def secret_options(subject: Subject) -> Iterator[Problem]:
    """Yield options for secrets whose value is an argument of the command line."""
    for option in subject.server.options:
        is_named = SECRET_NAME.search(option.name.replace("-", "_")) or SECRET_NAME.search(option.table.env)
        if is_named and option.table.type == "string" and not option.table.secret:
            message = f"the option `{option.name}` looks like a secret, but its value is an argument, `{option.flag}`"
            yield Problem(message=message, at=("server", "options", option.name))


def required_options(subject: Subject) -> Iterator[Problem]:
    """Yield options that the server needs on its command line."""
    for option in subject.server.required_options:
        if option.table.required and not option.table.env:
            message = f"the server does not start without `{option.flag}`"
            yield Problem(message=message, at=("server", "options", option.name))


def required_secrets(subject: Subject) -> Iterator[Problem]:
    """Yield secrets without which the server does not start."""
    for option in subject.server.options:
        if option.table.secret and option.table.required:
            message = f"the server does not start without the secret `{option.name}`"
            yield Problem(message=message, at=("server", "options", option.name, "required"))


def readme(subject: Subject, *, pattern: str, needs: str = "") -> Iterator[Problem]:
    """Yield a problem if the README does not contain `pattern`, in which `{key}` is a value of [server].

    The rule is not checked without a value of the key `needs`.
    """
    if needs and not subject.field(needs):
        return
    name = subject.files.readme or "README.md"
    filled = pattern.replace(f"{{{needs}}}", re.escape(subject.field(needs))) if needs else pattern
    if not re.search(filled, subject.files.readme_text):
        is_missing = not subject.files.readme
        problem = "the project has no README.md" if is_missing else f"{name} lacks a required text"
        yield Problem(message=problem, at=("server", needs or "name"), file="" if is_missing else name)


def file(subject: Subject, *, names: list[str]) -> Iterator[Problem]:
    """Yield a problem if the project has none of the files."""
    if not subject.files.find(tuple(names)):
        yield _about("name", f"the project has no file {names[0]}", value=False)


def commit(subject: Subject) -> Iterator[Problem]:
    """Yield a problem if the project has no commit."""
    if not subject.files.commit:
        yield _about("repository", "the project is not in a git repository with a commit", value=False)


def tool_titles(subject: Subject) -> Iterator[Problem]:
    """Yield tools without a title."""
    for tool in subject.server.tools:
        if not tool.table.title:
            yield Problem(message=f"`{tool.name}` has no `title`", at=tool.at)


def tool_hints(subject: Subject, *, hints: list[str]) -> Iterator[Problem]:
    """Yield tools that lack one of `hints`. A read-only tool needs no `destructive`."""
    for tool in subject.server.tools:
        stated = _stated_hints(tool)
        needed = [name for name in hints if not (name == "destructive" and stated.get("read_only"))]
        if missing := [name for name in needed if name not in stated]:
            keys = " and ".join(f"`{name}`" for name in missing)
            yield Problem(message=f"`hints` of `{tool.name}` have no {keys}", at=(*tool.at, "hints"))


def _stated_hints(tool: Tool) -> Mapping[str, bool]:
    """Return the hints that the manifest states, and those that follow from the implementation of the tool."""
    table = tool.table.hints
    names = ("read_only", "destructive", "idempotent", "open_world")
    if table is None and not tool.implementation.handler:
        return {name: getattr(tool.hints, name) for name in names}
    return {name: value for name in names if table and (value := getattr(table, name)) is not None}


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[.-]", "_", name).lower()


def write_verbs(subject: Subject) -> Iterator[Problem]:
    """Yield read-only tools whose name begins with a verb of a change, such as `send_mail` or `mail_send`."""
    for tool in subject.server.tools:
        words = _snake_case(tool.name).split("_")[:2]
        verb = next((word for word in words if word in WRITE_VERBS | READ_VERBS), "")
        if tool.hints.read_only and verb in WRITE_VERBS:
            yield Problem(message=f"`{tool.name}` is `read_only`", at=(*tool.at, "hints"))


def tool_names(subject: Subject, *, pattern: str) -> Iterator[Problem]:
    """Yield tools whose listed name, in snake case, does not match `pattern`."""
    for tool in subject.server.tools:
        name = subject.server.prefix + tool.name
        if not re.fullmatch(pattern, _snake_case(name)):
            yield Problem(message=f"the tool is listed as `{name}` ({len(name)} characters)", at=tool.at)


def no_call_tool(subject: Subject) -> Iterator[Problem]:
    """Yield a problem if one tool calls all others."""
    style = subject.server.discovery.style
    facts = STYLES[style]
    writes = any(not tool.hints.read_only for tool in subject.server.tools)
    if facts.call and writes:
        message = f"in the style `{style}`, the tool `{facts.call}` calls tools that read and tools that write"
        yield Problem(message=message, at=("discovery", "style"), value=True)


def all_tools_listed(subject: Subject) -> Iterator[Problem]:
    """Yield a problem if `tools/list` leaves tools out."""
    server = subject.server
    style = server.discovery.style
    listed = server.pins.get(style, server.discovery.pinned)
    unlisted = [tool.name for tool in server.tools if tool.name not in listed]
    if STYLES[style].metas and unlisted:
        message = f"in the style `{style}`, `tools/list` does not have `{unlisted[0]}`"
        message += f" and {len(unlisted) - 1} more" if unlisted[1:] else ""
        yield Problem(message=message, at=("discovery", "style"), value=True)


def _parameters(tool: Tool) -> Mapping[str, Any]:
    properties = wire_tool(tool)["inputSchema"].get("properties")
    return properties if isinstance(properties, dict) else {}


def _at_parameter(tool: Tool, name: str) -> KeyPath:
    """Return the key path of a parameter of `params`, or that of its tool."""
    own = next((each for each in tool.table.params if tool.renamed.get(name, name) == each), "")
    return (*tool.at, "params", own) if own else tool.at


def parameter_names(subject: Subject, *, pattern: str) -> Iterator[Problem]:
    """Yield parameters whose name, in snake case, matches `pattern`."""
    for tool in subject.server.tools:
        for name in _parameters(tool):
            if re.fullmatch(pattern, _snake_case(name)):
                yield Problem(message=f"`{tool.name}` has the parameter `{name}`", at=_at_parameter(tool, name))


def http_methods(subject: Subject) -> Iterator[Problem]:
    """Yield parameters that choose between HTTP methods that read and those that write.

    Without a list of values, the name of the parameter decides.
    """
    for tool in subject.server.tools:
        for name, schema in _parameters(tool).items():
            values = schema.get("enum") if isinstance(schema, dict) else None
            methods = {str(value).upper() for value in values or ()}
            is_both = bool(methods & SAFE_METHODS and methods & UNSAFE_METHODS)
            if is_both or (values is None and _snake_case(name) in {"method", "http_method", "verb", "http_verb"}):
                yield Problem(message=f"`{tool.name}` has the parameter `{name}`", at=_at_parameter(tool, name))


def parameter_descriptions(subject: Subject) -> Iterator[Problem]:
    """Yield parameters without a description."""
    for tool in subject.server.tools:
        for name, schema in _parameters(tool).items():
            if not (isinstance(schema, dict) and schema.get("description")):
                message = f"the parameter `{name}` of `{tool.name}` has no description"
                yield Problem(message=message, at=_at_parameter(tool, name))


CHECKS: Final[Mapping[str, Check]] = {
    check.__name__: check
    for check in (
        *(present, matches, lacks, max_length, capital_words, namespace_owner, icon_addresses, same_version),
        *(secret_options, required_options, required_secrets, readme, file, commit, tool_titles, tool_hints),
        *(write_verbs, tool_names, no_call_tool, all_tools_listed, parameter_names, http_methods),
        parameter_descriptions,
    )
} | {"semantic_version": semantic, "icon": has_icon}
"""Name in `check` -> function."""
