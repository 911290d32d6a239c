"""Compare two contracts: tools, effects, access, searches, prompts and resources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Any, Final

from toolmason_runtime.shared.suggestions import closest_match, limited_suggestions

from toolmason.diff.contract import Change, Contract, ToolContract
from toolmason.diff.discovery import compare_discovery
from toolmason.diff.rules import rules
from toolmason.diff.values import MIN_SIMILARITY, Difference, compare_arguments, compare_results, show_path

_HINTS: Final = (
    ("destructiveHint", True, True, "hint-destructive", "may overwrite or delete data"),
    ("readOnlyHint", False, False, "hint-not-read-only", "is no longer read-only"),
    ("openWorldHint", True, True, "hint-open-world", "may access systems outside this machine"),
    ("idempotentHint", False, False, "hint-not-idempotent", "is no longer idempotent"),
)
"""Hint, its default in MCP, its worse value, rule, and the text of a change to the worse value."""


_MAX_NAMES: Final = 6


def compare(old: Contract, new: Contract, *, queries: Mapping[str, Sequence[str]] | None = None) -> tuple[Change, ...]:
    """Return the changes, the worst first; empty for equal contracts.

    `queries` are the texts that must find each tool, by its old or new name.
    """
    with limited_suggestions():
        found = [*_tools(old, new), *_server(old, new), *compare_discovery(old, new, queries or {})]
    order = list(rules())
    once = {(change.rule, change.subject, change.message): change for change in found}.values()
    located = [_locate(change, old, new) for change in once]
    return tuple(
        sorted(
            located, key=lambda change: (rules()[change.rule].severity.rank, change.subject, order.index(change.rule))
        )
    )


def _locate(change: Change, old: Contract, new: Contract) -> Change:
    """Return a change with its users and the fix of its rule."""
    users = {**new.users, **old.users}.get(change.tool, ())
    touches = users if rules()[change.rule].severity != "safe" else ()
    return replace(change, touches=touches, fix=change.fix or rules()[change.rule].fix)


# Tools


def renamed_tools(old: Contract, new: Contract) -> dict[str, str]:
    """Return the new name of each tool that has another one."""
    owners = {alias: tool.name for tool in new.tools.values() for alias in tool.aliases}
    removed = [name for name in old.tools if name not in new.tools]
    renamed = {name: owners[name] for name in removed if name in owners}
    for name in removed:
        added = [other for other in new.tools if other not in old.tools and other not in renamed.values()]
        if name not in renamed and (other := _similar_tool(old.tools[name], [new.tools[key] for key in added])):
            renamed[name] = other
    return renamed


def _similar_tool(tool: ToolContract, choices: Sequence[ToolContract]) -> str:
    """Return the added tool that probably is the removed `tool`, or the empty string."""
    own = _argument_names(tool)
    near = closest_match(tool.name, [choice.name for choice in choices])
    for choice in choices:
        its = _argument_names(choice)
        is_like = len(own & its) * 2 >= len(own | its)
        if is_like and (_is_like(tool.summary, choice.summary) or _is_like(tool.description, choice.description)):
            return choice.name
        if own == its and choice.name == near:
            return choice.name
    return ""


def _is_like(first: str, second: str) -> bool:
    return bool(first) and SequenceMatcher(None, first[:500], second[:500]).ratio() >= MIN_SIMILARITY


def _argument_names(tool: ToolContract) -> set[str]:
    properties = tool.arguments.get("properties") if isinstance(tool.arguments, dict) else None
    return set(properties or ())


def _tools(old: Contract, new: Contract) -> Iterator[Change]:
    renamed = renamed_tools(old, new)
    for name, tool in old.tools.items():
        other = new.tools.get(renamed.get(name, name))
        if other is None:
            at = tool.locate("")
            yield Change(
                rule="tool-removed",
                subject=name,
                message=f"tool `{name}` is removed",
                location=at,
                is_old=True,
                tool=name,
            )
            continue
        if other.name != name:
            yield _rename(tool, other)
        yield from _tool(tool, other, is_exact=old.is_exact and new.is_exact)
    for name, tool in new.tools.items():
        if name not in old.tools and name not in renamed.values():
            yield Change(rule="tool-added", subject=name, message=f"tool `{name}` is added", location=tool.locate(""))


def _rename(tool: ToolContract, other: ToolContract) -> Change:
    has_alias = tool.name in other.aliases
    return Change(
        rule="tool-renamed-with-alias" if has_alias else "tool-renamed",
        subject=tool.name,
        message=f"tool `{tool.name}` is now called `{other.name}`",
        fix="" if has_alias else f'add `aliases = ["{tool.name}"]` to [tools.{other.name}]',
        location=other.locate(""),
        tool=tool.name,
    )


def _tool(old: ToolContract, new: ToolContract, *, is_exact: bool) -> Iterator[Change]:
    name = new.name

    def change(rule: str, text: str, **more: Any) -> Change:
        return Change(
            rule=rule, subject=name, message=f"tool `{name}` {text}", location=new.locate(""), tool=old.name, **more
        )

    for alias in old.aliases:
        if alias not in new.aliases and alias != name:
            yield change("alias-removed", f"has no alias `{alias}` any more")
    for alias in new.aliases:
        if alias not in old.aliases and alias != old.name:
            yield change("alias-added", f"has the alias `{alias}`")
    if old.tier != new.tier:
        is_hidden = new.tier == "all"
        text = "is served only with `--all`" if is_hidden else "is served without `--all`"
        yield change("tool-left-core" if is_hidden else "tool-joined-core", text)
    if old.deprecated != new.deprecated:
        rule = "tool-deprecated" if new.deprecated else "tool-not-deprecated"
        yield change(rule, "is deprecated" if new.deprecated else "is no longer deprecated")
    if old.category != new.category and old.category and new.category:
        yield change("tool-moved", f"is in the category `{new.category}`, not `{old.category}`")
    texts = [key for key in ("title", "summary", "description") if getattr(old, key) != getattr(new, key)]
    if texts:
        yield change("tool-text-changed", f"has another {' and '.join(texts)}")
    yield from _hints(old, new, change)
    before, after = (tool.arguments if is_exact else tool.listed for tool in (old, new))
    arguments = compare_arguments(before, after, old_aliases=old.argument_aliases, new_aliases=new.argument_aliases)
    yield from (_of_value(difference, old, new, "arguments") for difference in _join_texts(arguments))
    yield from _results(old, new, change)
    for scope in new.scopes or ():
        if old.scopes is not None and scope not in old.scopes:
            yield change("scope-added", f"needs the scope `{scope}`")
    for scope in old.scopes or ():
        if new.scopes is not None and scope not in new.scopes:
            yield change("scope-removed", f"no longer needs the scope `{scope}`")
    if None not in (old.needs_tasks, new.needs_tasks) and old.needs_tasks != new.needs_tasks:
        rule, text = ("tasks-needed", "needs") if new.needs_tasks else ("tasks-not-needed", "no longer needs")
        yield change(rule, f"{text} a client with tasks")


def _results(old: ToolContract, new: ToolContract, change: Any) -> Iterator[Change]:
    match old.result, new.result:
        case None, None:
            return
        case None, _:
            yield change("result-added", "returns a structured result")
        case _, None:
            yield change("result-removed", "returns no structured result any more")
        case before, after:
            yield from (
                _of_value(difference, old, new, "result") for difference in _join_texts(compare_results(before, after))
            )


def _join_texts(differences: Sequence[Difference]) -> Iterator[Difference]:
    """Yield the differences, with those of texts as one."""
    texts = [one for one in differences if one.rule.endswith("-text-changed")]
    for one in differences:
        if one not in texts or (one is texts[0] and len(texts) == 1):
            yield one
        elif one is texts[0]:
            noun, names = one.rule.partition("-")[0], [f"`{show_path(text.path)}`" for text in texts]
            more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
            yield replace(one, message=f"other texts of {noun}s {', '.join(names[:_MAX_NAMES])}{more}")


def _of_value(difference: Difference, old: ToolContract, new: ToolContract, part: str) -> Change:
    location = None
    if part == "arguments":
        location = (old if difference.is_old else new).locate(difference.pointer)
    return Change(
        rule=difference.rule,
        subject=new.name,
        message=f"tool `{new.name}`: {difference.message}",
        place=f"/{part}{difference.pointer}",
        fix=difference.fix,
        location=location or new.locate(""),
        is_old=difference.is_old and location is not None,
        example=difference.example,
        tool=old.name,
    )


def _hints(old: ToolContract, new: ToolContract, change: Any) -> Iterator[Change]:
    safer = []
    before, after = _effects(old.hints), _effects(new.hints)
    for hint, _, worse, rule, text in _HINTS:
        if before[hint] == after[hint]:
            continue
        if after[hint] == worse:
            yield change(rule, text)
        else:
            safer.append(hint)
    if safer:
        yield change("hint-safer", f"has a safer {' and '.join(f'`{hint}`' for hint in safer)}")


def _effects(hints: Mapping[str, Any]) -> dict[str, bool]:
    """Return all hints. A tool that only reads is neither destructive nor has it a further effect."""
    effects = {hint: bool(hints.get(hint, default)) for hint, default, *_ in _HINTS}
    if effects["readOnlyHint"]:
        effects |= {"destructiveHint": False, "idempotentHint": True}
    return effects


# The server


def _server(old: Contract, new: Contract) -> Iterator[Change]:
    def change(rule: str, subject: str, message: str, *at: str, **more: Any) -> Change:
        location = new.locate(at) or new.locate(at[:1]) or new.locate(("server",))
        return Change(rule=rule, subject=subject, message=message, location=location, **more)

    for key, table in (("name", "server"), ("prefix", "discovery")):
        before, after = getattr(old, key), getattr(new, key)
        if before is not None and after is not None and before != after:
            # A prefix that follows from the name is not a second change.
            if key == "prefix" and old.name != new.name:
                continue
            yield change(
                "server-renamed", "server", f"the {key} of the server is `{after}`, not `{before}`", table, key
            )
    if old.style and new.style and old.style != new.style:
        yield change("style-changed", "server", f"the style is `{new.style}`, not `{old.style}`", "discovery", "style")
    renamed = renamed_tools(old, new)
    for name in old.pinned or ():
        if new.pinned is not None and not {name, renamed.get(name, name)} & set(new.pinned):
            yield change("pin-removed", name, f"tool `{name}` is no longer pinned", "discovery", "pinned", tool=name)
    for name in new.pinned or ():
        if old.pinned is not None and name not in {*old.pinned, *(renamed.get(pin, pin) for pin in old.pinned)}:
            yield change("pin-added", name, f"tool `{name}` is pinned", "discovery", "pinned")
    if old.instructions is not None and new.instructions is not None and old.instructions != new.instructions:
        yield change("instructions-changed", "server", "the instructions have changed", "server", "instructions")
    yield from _named(old.workflows, new.workflows, "workflow", old, new)
    yield from _prompts(old, new)
    yield from _resources(old, new)
    yield from _access(old, new)


def _named(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, noun: str, old: Contract, new: Contract
) -> Iterator[Change]:
    """Yield the entries of a section that were added and removed."""
    if before is None or after is None:
        return
    for name in before:
        if name not in after:
            at = old.locate((f"{noun}s", name)) or old.locate(("commands", name))
            message = f"{noun} `{name}` is removed"
            yield Change(rule=f"{noun}-removed", subject=name, message=message, location=at, is_old=True)
    for name in after:
        if name not in before:
            at = new.locate((f"{noun}s", name)) or new.locate(("commands", name))
            yield Change(rule=f"{noun}-added", subject=name, message=f"{noun} `{name}` is added", location=at)


def _prompts(old: Contract, new: Contract) -> Iterator[Change]:
    yield from _named(old.prompts, new.prompts, "prompt", old, new)
    if old.prompts is None or new.prompts is None:
        return
    for name in old.prompts.keys() & new.prompts.keys():
        before, after = old.prompts[name], new.prompts[name]
        had, has = (
            {each["name"]: bool(each.get("required")) for each in part["arguments"]} for part in (before, after)
        )
        at = new.locate(("prompts", name))
        for argument in had.keys() | has.keys():
            if rule := _prompt_rule(had.get(argument), has.get(argument)):
                states = {
                    "removed": "is removed",
                    "required": "is required",
                    "added": "is added",
                    "optional": "is optional",
                }
                text = f"prompt `{name}`: argument `{argument}` {states[rule]}"
                yield Change(rule=f"prompt-argument-{rule}", subject=name, message=text, location=at)
        if before["text"] != after["text"]:
            yield Change(
                rule="prompt-text-changed", subject=name, message=f"prompt `{name}` has another text", location=at
            )


def _prompt_rule(had: bool | None, has: bool | None) -> str:
    """Return the last word of the rule of an argument: `had` and `has` are whether it is required, None without it."""
    match had, has:
        case _, None:
            return "removed"
        case ((None | False), True):
            return "required"
        case None, False:
            return "added"
        case True, False:
            return "optional"
    return ""


def _resources(old: Contract, new: Contract) -> Iterator[Change]:
    if old.resources is None or new.resources is None:
        return
    before, after = (
        {entry["uri"]: (name, entry) for name, entry in part.items()} for part in (old.resources, new.resources)
    )
    for uri, (name, entry) in before.items():
        if uri not in after:
            at = old.locate(("resources", name))
            yield Change(
                rule="resource-removed", subject=uri, message=f"resource `{uri}` is removed", location=at, is_old=True
            )
        elif (kind := after[uri][1]["mime_type"]) != entry["mime_type"]:
            text = f"resource `{uri}` has the media type `{kind}`, not `{entry['mime_type']}`"
            at = new.locate(("resources", after[uri][0], "mime_type"))
            yield Change(rule="resource-type-changed", subject=uri, message=text, location=at)
    for uri, (name, _) in after.items():
        if uri not in before:
            at = new.locate(("resources", name))
            yield Change(rule="resource-added", subject=uri, message=f"resource `{uri}` is added", location=at)


# Access


def _access(old: Contract, new: Contract) -> Iterator[Change]:
    if old.access is None or new.access is None:
        return
    for table, rights in new.access.rights.items():
        for right, values in rights.items():
            before = old.access.rights.get(table, {}).get(right, ())
            if table not in old.access.rights or before == values:
                continue
            at = new.locate((*table.split("."), right))
            if wider := _wider(before, values):
                text = f"[{table}] `{right}` also permits {wider}"
                yield Change(rule="policy-wider", subject=table, message=text, location=at)
            elif narrower := _wider(values, before):
                text = f"[{table}] `{right}` no longer permits {narrower}"
                yield Change(rule="policy-narrower", subject=table, message=text, location=at)
    for host, table in new.access.hosts.items():
        if host not in old.access.hosts:
            at = new.locate(tuple(table.split(".")))
            yield Change(rule="host-added", subject=table, message=f"[{table}] reaches the host `{host}`", location=at)
    for host, table in old.access.hosts.items():
        if host not in new.access.hosts:
            text = f"[{table}] no longer reaches the host `{host}`"
            at = new.locate(tuple(table.split(".")))
            yield Change(rule="host-removed", subject=table, message=text, location=at)


def _wider(before: tuple[str, ...] | None, after: tuple[str, ...] | None) -> str:
    """Return what `after` permits and `before` does not; None permits everything."""
    if before is None:
        return ""
    if after is None:
        return "everything"
    return ", ".join(f"`{value}`" for value in after if value not in before)
