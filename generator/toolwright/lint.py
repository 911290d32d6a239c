"""What is legal in a manifest and still a mistake: TW5xx, each switchable for one tool with a reason.

A rule is a function of the model that yields findings; `lint` applies the `allow` tables and reports.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from toolwright.catalogue import catalogue
from toolwright.diagnostics import Diagnostics, Severity
from toolwright.discoverability import PLACES, rank_use_cases
from toolwright.load import Document
from toolwright.model import Server, Tool, Value
from toolwright.names import words
from toolwright.paths import KeyPath
from toolwright.tables import DiscoveryTable
from toolwright.tool_names import client_name, meta_tool_names
from toolwright.wording import did_you_mean

LEVELS: Final[Mapping[str, Severity]] = {
    "TW501": Severity.ERROR,
    "TW502": Severity.WARNING,
    "TW503": Severity.WARNING,
    "TW504": Severity.WARNING,
    "TW505": Severity.WARNING,
    "TW506": Severity.WARNING,
    "TW507": Severity.WARNING,
    "TW508": Severity.ERROR,
    "TW509": Severity.WARNING,
    "TW510": Severity.ERROR,
    "TW511": Severity.WARNING,
    "TW512": Severity.WARNING,
    "TW513": Severity.NOTE,
    "TW514": Severity.WARNING,
}
"""The rules and how much each matters."""

LONGEST_DESCRIPTION = 1024
"""Characters of a tool's description that reach the GPT-4 family through VS Code, which cuts there without a word."""
LONGEST_NAME = 40
"""Characters of a tool's name that leave room for the prefix of a plugin and its server in 64."""
MOST_NAMED = 5
"""Tools named as standing before the one that was not found."""
MOST_LISTED = 128
"""Tools that VS Code and Vertex AI take in one request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing a rule found. `tool` is the one whose `allow` may switch it off, empty if none can.

    `at` may name a key that is not written; the place is then the table it would stand in. `value` points
    at the value instead of the key.
    """

    code: str
    tool: str
    message: str
    hint: str
    at: KeyPath
    value: bool = False


Rule = Callable[[Server], Iterator[Finding]]


def lint(server: Server, document: Document, *, diagnostics: Diagnostics) -> None:
    """Add what the rules find in `server`, and each `allow` that does not switch anything off."""
    switched_off = {tool.name: tool.allow for tool in server.tools}
    used: set[tuple[str, str]] = set()
    for finding in (each for rule in RULES for each in rule(server)):
        if finding.code in switched_off.get(finding.tool, {}):
            used.add((finding.tool, finding.code))
        else:
            _report(finding, document, diagnostics)
    for finding in _idle_allows(server.tools, used):
        _report(finding, document, diagnostics)


def _report(finding: Finding, document: Document, diagnostics: Diagnostics) -> None:
    document.report(
        diagnostics,
        finding.code,
        finding.message,
        finding.at,
        hint=finding.hint,
        value=finding.value,
        severity=LEVELS[finding.code],
    )


def _idle_allows(tools: Iterable[Tool], used: set[tuple[str, str]]) -> Iterator[Finding]:
    for tool in tools:
        for place, code in enumerate(tool.allow):
            at = (*tool.at, "allow", place)
            if code not in LEVELS:
                hint = did_you_mean(code, LEVELS) or f"the rules are {min(LEVELS)} to {max(LEVELS)}"
                message = f"no lint rule `{code}`"
            elif (tool.name, code) not in used:
                message, hint = f"`allow` of {code} on `{tool.name}` switches nothing off", "remove it"
            else:
                continue
            yield Finding(code="TW514", tool="", message=message, hint=hint, at=(*at, "rule"), value=True)


def use_cases_find_their_tool(server: Server) -> Iterator[Finding]:
    """TW501: a model that words its wish as the author does must find the tool among the first three."""
    tools = {tool.name: tool for tool in server.tools}
    for ranked in rank_use_cases(catalogue(server)):
        if ranked.is_found:
            continue
        tool = tools[ranked.tool]
        before = ", ".join(f"`{name}`" for name in ranked.before[:MOST_NAMED])
        remedy = "say it in the tool's own words" if before else "say what it is about"
        yield Finding(
            code="TW501",
            tool=tool.name,
            message=f"`{tool.name}` is not in the first {PLACES} hits for its use case `{ranked.use_case}`",
            hint=f"{before} come first: {remedy}, or add keywords" if before else f"{remedy}, or add keywords",
            at=(*tool.at, "use_cases", tool.use_cases.index(ranked.use_case)),
            value=True,
        )


def description_adds_to_the_summary(server: Server) -> Iterator[Finding]:
    """TW502: the description is what a model decides by; one as short as the summary says nothing more."""
    for tool in server.tools:
        if len(tool.description.strip()) <= len(tool.summary.strip()):
            yield Finding(
                code="TW502",
                tool=tool.name,
                message=f"the description of `{tool.name}` says no more than its summary",
                hint="say when to use it, what it gives back and what it cannot do",
                at=(*tool.at, "description"),
            )


def each_tool_has_an_example(server: Server) -> Iterator[Finding]:
    """TW503: examples are checked, shown in docs and search, and quoted when a call fails."""
    for tool in server.tools:
        if not tool.examples:
            yield Finding(
                code="TW503",
                tool=tool.name,
                message=f"`{tool.name}` has no example",
                hint=f"add [[tools.{tool.name}.examples]] with `description` and `arguments`",
                at=tool.at,
            )


def each_parameter_is_described(server: Server) -> Iterator[Finding]:
    """TW504: a name alone leaves a model guessing units, forms and limits."""
    for tool in server.tools:
        for place, name in _undescribed(tool):
            yield _no_description(tool.name, f"parameter `{name}` of `{tool.name}`", place)
    for named in server.types:
        for field in named.fields:
            if not field.description.strip():
                yield _no_description("", f"field `{field.name}` of type `{named.name}`", field.at)


def _undescribed(tool: Tool) -> Iterator[tuple[KeyPath, str]]:
    if tool.params_class:
        yield from ((value.at, value.name) for value in tool.params if not _says_something(value))
        return
    for name, schema in tool.input_schema.get("properties", {}).items():
        if not (isinstance(schema, dict) and str(schema.get("description", "")).strip()):
            yield (*tool.at, "input_schema", "properties", name), name


def _says_something(value: Value) -> bool:
    return bool(value.description.strip())


def _no_description(tool: str, what: str, at: KeyPath) -> Finding:
    hint = "add `description`: what it means, its unit, what is allowed"
    return Finding(code="TW504", tool=tool, message=f"{what} has no description", hint=hint, at=at)


def descriptions_arrive_whole(server: Server) -> Iterator[Finding]:
    """TW505: some clients cut long descriptions without a word."""
    for tool in server.tools:
        if len(tool.description) > LONGEST_DESCRIPTION:
            yield Finding(
                code="TW505",
                tool=tool.name,
                message=f"the description of `{tool.name}` has {len(tool.description):,} characters; "
                f"clients cut at {LONGEST_DESCRIPTION:,}",
                hint="put what matters first and move the rest into parameters, examples or docs",
                at=(*tool.at, "description"),
            )


def names_leave_room_for_prefixes(server: Server) -> Iterator[Finding]:
    """TW506: clients put their own words before a name, and plugins theirs before those.

    Gemini CLI cuts `mcp_<server>_<tool>` to 63 characters. That needs no rule: `resolve` refuses names that have
    more than 64 with the longer prefix `mcp__<server>__`.
    """
    for tool in server.tools:
        if len(tool.name) > LONGEST_NAME:
            yield Finding(
                code="TW506",
                tool=tool.name,
                message=f"the name `{tool.name}` has {len(tool.name)} characters, {LONGEST_NAME} leave room",
                hint="shorten it and keep the old name in `aliases`",
                at=tool.at,
            )


def names_survive_as_they_are(server: Server) -> Iterator[Finding]:
    """TW507: dashes, dots and capitals are rewritten by one client or another."""
    for tool in server.tools:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", tool.name):
            snake = "_".join(part.lower() for part in words(tool.name))
            yield Finding(
                code="TW507",
                tool=tool.name,
                message=f"the name `{tool.name}` is not of lower-case letters, digits and underscores",
                hint=f"call it `{snake}` and keep the old name in `aliases`",
                at=tool.at,
            )


_SHOWN_BY: Final[Mapping[str, Callable[[str, str], str]]] = {
    "Claude Code": lambda tool, server: client_name(tool, server).replace(".", "_"),
    "Codex": lambda tool, server: re.sub(r"[.-]", "_", client_name(tool, server)),
    "Gemini CLI": lambda tool, server: re.sub(r"[^a-zA-Z0-9_.-]", "_", f"mcp_{server}_{tool}"),
    "OpenCode": lambda tool, server: re.sub(r"[^a-zA-Z0-9_-]", "_", f"{server}_{tool}"),
}
"""How each client rewrites a tool's name, as seen on the names it sends to its model."""


def names_stay_apart_in_each_client(server: Server) -> Iterator[Finding]:
    """TW508: two tools that a client shows under one name, of which it keeps one.

    Two tools of the manifest cannot be that alike: `resolve` refuses names that are the same in Python. A tool and
    a meta-tool, of any style since a flag can change it, can.
    """
    reserved = meta_tool_names(DiscoveryTable(prefix=server.discovery.prefix))
    for client, shown_as in _SHOWN_BY.items():
        taken = {shown_as(name, server.name): f"the meta-tool `{name}`" for name in reserved}
        for tool in server.tools:
            shown = shown_as(tool.name, server.name)
            if shown in taken:
                yield Finding(
                    code="TW508",
                    tool=tool.name,
                    message=f"{client} shows `{tool.name}` and {taken[shown]} both as `{shown}`",
                    hint="rename the tool",
                    at=tool.at,
                )
            taken.setdefault(shown, f"`{tool.name}`")


def classic_lists_are_not_too_long(server: Server) -> Iterator[Finding]:
    """TW509: a client that is sent more tools than a model takes drops some, or fails."""
    listed = sum(tool.enabled and tool.tier == "core" for tool in server.tools)
    if server.discovery.style == "classic" and listed > MOST_LISTED:
        yield Finding(
            code="TW509",
            tool="",
            message=f"style `classic` lists {listed} tools; VS Code and Vertex AI take {MOST_LISTED}",
            hint='choose another style, or move tools to `tier = "all"`',
            at=("discovery", "style"),
            value=True,
        )


def hints_agree(server: Server) -> Iterator[Finding]:
    """TW510: clients decide by the hints what may run unasked; these two cannot both be true."""
    for tool in server.tools:
        if tool.hints.read_only and tool.hints.destructive:
            yield Finding(
                code="TW510",
                tool=tool.name,
                message=f"`{tool.name}` is said to change nothing (read_only) and to destroy something (destructive)",
                hint="set one of them to false",
                at=(*tool.at, "hints"),
            )


def summaries_have_no_full_stop(server: Server) -> Iterator[Finding]:
    """TW511: summaries stand in lists and tables, where a full stop is a stray mark."""
    for tool in server.tools:
        summary = tool.summary.rstrip()
        if summary.endswith(".") and not summary.endswith(("...", "etc.")):
            yield Finding(
                code="TW511",
                tool=tool.name,
                message=f"the summary of `{tool.name}` ends with a full stop",
                hint="leave it out",
                at=(*tool.at, "summary"),
                value=True,
            )


def summaries_do_not_repeat_the_name(server: Server) -> Iterator[Finding]:
    """TW512: the name stands beside the summary wherever it is shown."""
    for tool in server.tools:
        said, name = _plain(tool.summary), _plain(tool.name)
        if said == name or (tool.name.casefold() in tool.summary.casefold().split() and "_" in tool.name):
            yield Finding(
                code="TW512",
                tool=tool.name,
                message=f"the summary of `{tool.name}` repeats its name",
                hint="say what it does in other words",
                at=(*tool.at, "summary"),
                value=True,
            )


def _plain(text: str) -> tuple[str, ...]:
    return tuple(word.casefold() for word in words(text))


def related_tools_point_back(server: Server) -> Iterator[Finding]:
    """TW513: whoever finds one of two related tools should learn of the other."""
    related = {tool.name: tool.related for tool in server.tools}
    for tool in server.tools:
        for place, other in enumerate(tool.related):
            if tool.name not in related.get(other, (tool.name,)):
                yield Finding(
                    code="TW513",
                    tool=tool.name,
                    message=f"`{tool.name}` names `{other}` as related, but not the other way round",
                    hint=f'add "{tool.name}" to `related` of `{other}`',
                    at=(*tool.at, "related", place),
                    value=True,
                )


RULES: Final[tuple[Rule, ...]] = (
    use_cases_find_their_tool,
    description_adds_to_the_summary,
    each_tool_has_an_example,
    each_parameter_is_described,
    descriptions_arrive_whole,
    names_leave_room_for_prefixes,
    names_survive_as_they_are,
    names_stay_apart_in_each_client,
    classic_lists_are_not_too_long,
    hints_agree,
    summaries_have_no_full_stop,
    summaries_do_not_repeat_the_name,
    related_tools_point_back,
)
"""Every rule, in order of code. TW514, the idle `allow`, comes out of applying them."""
