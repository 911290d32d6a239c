"""`toolmason add tool`, `add param` and `add type`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from toolmason.commands.edit_run import edit_options
from toolmason.commands.options import Command, exit_with, find_current_project, manifest_option
from toolmason.commands.rename import run_refactoring

if TYPE_CHECKING:
    from toolmason.refactor.result import Refactoring

_RISKS: Final = ("read", "write", "destructive")
_HINTS: Final = {
    "read": "{ read_only = true }",
    "write": "{ read_only = false, destructive = false }",
    "destructive": "{ read_only = false, destructive = true }",
}
"""`hints` of a tool whose risk does not follow from a program, a request or a statement."""
_TEXT_KEYS: Final = ("cli", "api", "http", "database", "sql", "upstream", "upstream_tool")
"""Keys of kinds of tools that have an option; `--set` has the others."""


def set_option(command: Command) -> Command:
    """Add `--set KEY=VALUE`."""
    return click.option(
        "--set",
        "settings",
        metavar="KEY=VALUE",
        multiple=True,
        help='Any other key of the reference; VALUE is TOML, such as `30`, `true`, `["a"]`. Repeatable.',
    )(command)


@click.group()
def add() -> None:
    """Add a tool, a parameter or a type to the manifest.

    On a terminal, asks for missing values. Checks the change in a copy, shows the diff, asks for approval, then writes
    all files or none. Then run `toolmason generate`.

    Exit codes: 0 written, 1 invalid manifest before or after the change, 2 wrong command line, 4 nothing was written.
    """


@add.command("tool")
@click.argument("name", required=False)
@click.option("--summary", metavar="TEXT", help="Purpose in one line of at most 80 characters.")
@click.option("--description", metavar="TEXT", help="Description for models: when to use it, its result, its limits.")
@click.option("--category", metavar="NAME", help="Category. Default: that of its program, API, database or upstream.")
@click.option("--risk", type=click.Choice(_RISKS), help="Effect of a call. A handler needs it.")
@click.option(
    "--handler",
    metavar="MODULE:FUNCTION",
    help="Function that implements the tool. It is added with its signature. Default: in the module of the category.",
)
@click.option("--cli", metavar="NAME", help="Program of [clis] that it runs.")
@click.option("--api", metavar="NAME", help="API of [apis] that it calls, with --http.")
@click.option("--http", metavar="'METHOD PATH'", help="Request of the tool, such as `GET /books/{id}`.")
@click.option("--database", metavar="NAME", help="Database of [databases], with --sql.")
@click.option("--sql", metavar="STATEMENT", help="Statement of the tool; `:name` is the value of a parameter.")
@click.option("--upstream", metavar="NAME", help="Server of [upstreams] that has the tool.")
@click.option("--upstream-tool", metavar="NAME", help="Name of the tool there. Default: its own.")
@click.option(
    "--param",
    "params",
    metavar="NAME:TYPE[:TEXT]",
    multiple=True,
    help="Parameter with its description; `NAME?` is optional. Repeatable.",
)
@click.option(
    "--example",
    "examples",
    metavar="TEXT={JSON}",
    multiple=True,
    help='Valid call: its purpose and its arguments, such as `Find Dune={"query": "Dune"}`. Repeatable.',
)
@set_option
@edit_options
@manifest_option
def tool(
    *,
    name: str | None,
    summary: str | None,
    description: str | None,
    category: str | None,
    risk: str | None,
    handler: str | None,
    params: tuple[str, ...],
    examples: tuple[str, ...],
    settings: tuple[str, ...],
    yes: bool,
    dry_run: bool,
    manifest: Path | None,
    **texts: str | None,
) -> None:
    """Add the tool NAME after the last tool of its category.

    Example: `toolmason add tool find_books --summary "Find books by title" --category books --risk read`

    Without --cli, --api, --database or --upstream, the tool has a handler. Its function is added to the module, and
    raises an error until you write its body.
    """
    project = find_current_project(manifest)
    keys = {key: text for key in _TEXT_KEYS if (text := texts[key]) is not None}
    values = _settings(settings)
    values |= {f"params.{_key(name)}": _inline(keys) for name, keys in map(_parameter, params)}
    rows = [*map(_example, examples)]
    is_handler = not keys and not _has_other_kind(values)
    asks = _is_terminal()

    def task() -> Refactoring:
        from toolmason.model.identifiers import identifier
        from toolmason.refactor.add import add_tool, handler_module, load, text_value

        server = load(project)[0].server
        own_name = _required(name, "NAME", "Name of the tool", ask=asks)
        own_summary = _required(summary, "--summary", "Purpose in one line", ask=asks)
        own_category = category
        if own_category is None and is_handler:
            own_category = _choice("--category", "Category", [each.name for each in server.categories], ask=asks)
        own_risk = risk or (_choice("--risk", "Effect of a call", _RISKS, ask=asks) if is_handler else None)
        if is_handler:
            function = handler or f"{handler_module(server, own_category or '')}:{identifier(own_name)}"
            keys["handler"] = _confirmed(function, "Function", ask=asks and handler is None)
        if asks and not params:
            values.update(_asked_parameters())
        all_texts = {"summary": own_summary, "category": own_category, "description": description, **keys}
        result = {key: text_value(text) for key, text in all_texts.items() if text}
        if own_risk and (is_handler or "upstream" in keys):
            result["hints"] = _HINTS[own_risk]
        elif own_risk:
            result["risk"] = text_value(own_risk)
        return add_tool(project, own_name, {**result, **values}, rows)

    exit_with(run_refactoring(project, task, yes=yes, dry_run=dry_run))


@add.command("param")
@click.argument("tool", metavar="TOOL", required=False)
@click.argument("name", required=False)
@click.option("--type", "kind", metavar="TYPE", help="`string`, `integer`, `string[]`, a name from [types] and so on.")
@click.option("--description", metavar="TEXT", help="Meaning and units.")
@click.option("--optional", is_flag=True, help="A call need not include it.")
@set_option
@edit_options
@manifest_option
def param(
    *,
    tool: str | None,
    name: str | None,
    kind: str | None,
    description: str | None,
    optional: bool,
    settings: tuple[str, ...],
    yes: bool,
    dry_run: bool,
    manifest: Path | None,
) -> None:
    """Add the parameter NAME after the last parameter of TOOL.

    Example: `toolmason add param find_books limit --type integer --set default=10`
    """
    project = find_current_project(manifest)
    values = _settings(settings)
    asks = _is_terminal()

    def task() -> Refactoring:
        from toolmason.refactor.add import add_param, text_value

        own_tool = _required(tool, "TOOL", "Name of the tool", ask=asks)
        own_name = _required(name, "NAME", "Name of the parameter", ask=asks)
        own_kind = None if kind is None and "use" in values else _required(kind, "--type", "Type", ask=asks)
        text = description if description is not None or not asks else click.prompt("Description", err=True)
        keys = {key: text_value(value) for key, value in (("type", own_kind), ("description", text)) if value}
        keys |= {"required": "false"} if optional else {}
        return add_param(project, own_tool, own_name, {**keys, **values})

    exit_with(run_refactoring(project, task, yes=yes, dry_run=dry_run))


@add.command("type")
@click.argument("name", required=False)
@click.option("--description", metavar="TEXT", help="Meaning of one value.")
@click.option(
    "--field",
    "fields",
    metavar="NAME:TYPE[:TEXT]",
    multiple=True,
    help="Field with its description; `NAME?` is optional. Repeatable.",
)
@click.option("--enum", "choices", metavar="VALUE", multiple=True, help="Value of an enumeration. Repeatable.")
@set_option
@edit_options
@manifest_option
def type_(
    *,
    name: str | None,
    description: str | None,
    fields: tuple[str, ...],
    choices: tuple[str, ...],
    settings: tuple[str, ...],
    yes: bool,
    dry_run: bool,
    manifest: Path | None,
) -> None:
    """Add the type NAME after the last one.

    Examples: `toolmason add type Book --field "title:string:Title" --field "year?:integer"`,
    `toolmason add type Order --enum newest --enum oldest`.
    """
    project = find_current_project(manifest)
    values = _settings(settings)
    values |= {f"fields.{_key(name)}": _inline(keys) for name, keys in map(_parameter, fields)}
    asks = _is_terminal()

    def task() -> Refactoring:
        from toolmason.refactor.add import add_type, text_value

        own_name = _required(name, "NAME", "Name of the type", ask=asks)
        keys = {"description": text_value(description)} if description else {}
        if choices:
            keys["enum"] = f"[{', '.join(map(text_value, choices))}]"
        elif not values and asks:
            values.update(_asked_parameters("fields"))
        elif not values:
            raise click.UsageError("a type needs --field, --enum or --set one_of=[...]")
        return add_type(project, own_name, {**keys, **values})

    exit_with(run_refactoring(project, task, yes=yes, dry_run=dry_run))


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _required(value: str | None, flag: str, question: str, *, ask: bool) -> str:
    if value:
        return value
    if not ask:
        raise click.UsageError(f"missing {flag}")
    answer: str = click.prompt(question, err=True)
    return answer


def _choice(flag: str, question: str, choices: Iterable[str], *, ask: bool) -> str:
    names = [*choices]
    if not ask:
        raise click.UsageError(f"missing {flag}: {', '.join(names)}")
    answer: str = click.prompt(question, type=click.Choice(names), err=True)
    return answer


def _confirmed(value: str, question: str, *, ask: bool) -> str:
    answer: str = click.prompt(question, default=value, err=True) if ask else value
    return answer


def _asked_parameters(section: str = "params") -> dict[str, str]:
    """Ask for parameters or fields until an empty answer."""
    noun = "Parameter" if section == "params" else "Field"
    result: dict[str, str] = {}
    while True:
        text = click.prompt(f"{noun} NAME:TYPE:TEXT (Enter for none)", default="", show_default=False, err=True)
        if not text:
            return result
        try:
            name, keys = _parameter(text)
        except click.UsageError as error:
            click.echo(error.message, err=True)
            continue
        result[f"{section}.{_key(name)}"] = _inline(keys)


def _parameter(text: str) -> tuple[str, dict[str, str]]:
    """Return the name and the keys of `NAME:TYPE[:TEXT]`, whose values are TOML."""
    from toolmason.refactor.add import text_value

    name, colon, rest = text.partition(":")
    kind, _, description = rest.partition(":")
    if not name.strip("? ") or not colon or not kind.strip():
        raise click.UsageError(f"`{text}` must be NAME:TYPE or NAME:TYPE:TEXT, such as `limit:integer:Maximum number`")
    keys = {"type": text_value(kind.strip())}
    keys |= {"description": text_value(description.strip())} if description.strip() else {}
    keys |= {"required": "false"} if name.endswith("?") else {}
    return name.strip("? "), keys


def _example(text: str) -> dict[str, str]:
    """Return the keys of an example, `TEXT={JSON}`, in TOML; or exit."""
    import json

    from toolmason.importers.inline_toml import inline_value
    from toolmason.refactor.add import text_value

    description, brace, rest = text.partition("={")
    try:
        arguments = json.loads(brace[1:] + rest) if brace else None
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict) or not description.strip():
        raise click.UsageError(f'`{text}` must be TEXT={{JSON}}, such as `Find Dune={{"query": "Dune"}}`')
    return {"description": text_value(description.strip()), "arguments": inline_value(arguments)}


def _settings(settings: Iterable[str]) -> dict[str, str]:
    """Return keys with their TOML values, or exit."""
    result = {}
    for text in settings:
        key, equals, value = text.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise click.UsageError(f"`{text}` must be KEY=VALUE")
        result[key.strip()] = value.strip()
    return result


def _has_other_kind(values: Iterable[str]) -> bool:
    """Return whether a key selects a kind of tool other than a handler."""
    from toolmason.kinds import kinds

    return any(kind.key in values for kind in kinds().values())


def _key(name: str) -> str:
    from toolmason_runtime.shared.toml.positions import dotted

    return dotted((name,))


def _inline(keys: dict[str, str]) -> str:
    return f"{{ {', '.join(f'{key} = {value}' for key, value in keys.items())} }}"
