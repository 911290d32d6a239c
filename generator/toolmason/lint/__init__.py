"""What is legal in a manifest and still a mistake: TM5xx, each switchable for one tool with a reason.

A rule is a function of the model that yields findings; `lint` applies the `allow` tables and reports. Those on names
are in `lint_names`, those on parameters in `lint_parameters`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from toolmason_runtime.suggestions import did_you_mean

from toolmason.catalogue.table import catalogue, wire_tool
from toolmason.clients import CLAUDE_CODE, clients
from toolmason.diagnostics import Diagnostics, Severity
from toolmason.lint.discoverability import PLACES, rank_use_cases
from toolmason.lint.finding import Finding, Rule
from toolmason.lint.names import (
    listed_names_fit_each_client,
    lists_are_not_too_long,
    names_leave_room_for_prefixes,
    names_stay_apart_in_each_client,
    names_survive_as_they_are,
)
from toolmason.lint.parameters import (
    each_parameter_is_described,
    no_parameter_is_taken_by_a_client,
    parameter_descriptions_arrive_whole,
    parameter_names_are_plain,
    parameter_names_are_taken_everywhere,
    patterns_are_linear,
)
from toolmason.manifest.document import Document
from toolmason.model.identifiers import words
from toolmason.model.server import Server
from toolmason.model.tool import Tool
from toolmason.schema.providers import providers

LEVELS: Final[Mapping[str, Severity]] = {
    "TM501": Severity.ERROR,
    "TM502": Severity.WARNING,
    "TM503": Severity.WARNING,
    "TM504": Severity.WARNING,
    "TM505": Severity.WARNING,
    "TM506": Severity.WARNING,
    "TM507": Severity.WARNING,
    "TM508": Severity.ERROR,
    "TM509": Severity.WARNING,
    "TM510": Severity.ERROR,
    "TM511": Severity.WARNING,
    "TM512": Severity.WARNING,
    "TM513": Severity.NOTE,
    "TM514": Severity.WARNING,
    "TM515": Severity.ERROR,
    "TM516": Severity.WARNING,
    "TM517": Severity.ERROR,
    "TM518": Severity.WARNING,
    "TM519": Severity.ERROR,
    "TM520": Severity.WARNING,
    "TM522": Severity.WARNING,
    "TM525": Severity.WARNING,
}
"""The rules and how much each matters, where a finding does not say otherwise of itself."""

MAX_NAMED = 5
"""Tools named as standing before the one that was not found."""


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
        severity=finding.severity or LEVELS[finding.code],
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
            yield Finding(code="TM514", tool="", message=message, hint=hint, at=(*at, "rule"), value=True)


def use_cases_find_their_tool(server: Server) -> Iterator[Finding]:
    """TM501: a model that words its wish as the author does must find the tool among the first three."""
    tools = {tool.name: tool for tool in server.tools}
    for ranked in rank_use_cases(catalogue(server)):
        if ranked.is_found:
            continue
        tool = tools[ranked.tool]
        before = ", ".join(f"`{name}`" for name in ranked.before[:MAX_NAMED])
        remedy = "say it in the tool's own words" if before else "say what it is about"
        yield Finding(
            code="TM501",
            tool=tool.name,
            message=f"`{tool.name}` is not in the first {PLACES} hits for its use case `{ranked.use_case}`",
            hint=f"{before} come first: {remedy}, or add keywords" if before else f"{remedy}, or add keywords",
            at=(*tool.at, "use_cases", tool.use_cases.index(ranked.use_case)),
            value=True,
        )


def description_adds_to_the_summary(server: Server) -> Iterator[Finding]:
    """TM502: the description is what a model decides by; one as short as the summary says nothing more."""
    for tool in server.tools:
        if len(tool.description.strip()) <= len(tool.summary.strip()):
            yield Finding(
                code="TM502",
                tool=tool.name,
                message=f"the description of `{tool.name}` says no more than its summary",
                hint="say when to use it, what it gives back and what it cannot do",
                at=(*tool.at, "description"),
            )


def each_tool_has_an_example(server: Server) -> Iterator[Finding]:
    """TM503: examples are checked, shown in docs and search, and quoted when a call fails."""
    for tool in server.tools:
        if not tool.examples:
            yield Finding(
                code="TM503",
                tool=tool.name,
                message=f"`{tool.name}` has no example",
                hint=f"add [[tools.{tool.name}.examples]] with `description` and `arguments`",
                at=tool.at,
            )


def descriptions_arrive_whole(server: Server) -> Iterator[Finding]:
    """TM505: OpenAI refuses a long description in chat completions, goose cuts it there, Claude Code later."""
    openai, claude_code = providers().providers["openai"], clients()[CLAUDE_CODE]
    refused_from, cut_from = openai.max_description or sys.maxsize, claude_code.max_description or sys.maxsize
    for tool in server.tools:
        length = len(wire_tool(tool)["description"])
        if length > refused_from:
            is_cut = length > cut_from
            taken = f"{claude_code.title} cuts at {cut_from:,}" if is_cut else f"{openai.title} takes {refused_from:,}"
            yield Finding(
                code="TM505",
                tool=tool.name,
                message=f"the description of `{tool.name}` has {length:,} characters; {taken}",
                hint="put what matters first and move the rest into parameters, examples or docs",
                at=(*tool.at, "description"),
                severity=Severity.ERROR if is_cut else None,
            )


def hints_agree(server: Server) -> Iterator[Finding]:
    """TM510: clients decide by the hints what may run unasked; these two cannot both be true."""
    for tool in server.tools:
        if tool.hints.read_only and tool.hints.destructive:
            yield Finding(
                code="TM510",
                tool=tool.name,
                message=f"`{tool.name}` is said to change nothing (read_only) and to destroy something (destructive)",
                hint="set one of them to false",
                at=(*tool.at, "hints"),
            )


def summaries_have_no_full_stop(server: Server) -> Iterator[Finding]:
    """TM511: summaries stand in lists and tables, where a full stop is a stray mark."""
    for tool in server.tools:
        summary = tool.summary.rstrip()
        if summary.endswith(".") and not summary.endswith(("...", "etc.")):
            yield Finding(
                code="TM511",
                tool=tool.name,
                message=f"the summary of `{tool.name}` ends with a full stop",
                hint="leave it out",
                at=(*tool.at, "summary"),
                value=True,
            )


def summaries_do_not_repeat_the_name(server: Server) -> Iterator[Finding]:
    """TM512: the name stands beside the summary wherever it is shown."""
    for tool in server.tools:
        said, name = _plain(tool.summary), _plain(tool.name)
        if said == name or (tool.name.casefold() in tool.summary.casefold().split() and "_" in tool.name):
            yield Finding(
                code="TM512",
                tool=tool.name,
                message=f"the summary of `{tool.name}` repeats its name",
                hint="say what it does in other words",
                at=(*tool.at, "summary"),
                value=True,
            )


def _plain(text: str) -> tuple[str, ...]:
    return tuple(word.casefold() for word in words(text))


def related_tools_point_back(server: Server) -> Iterator[Finding]:
    """TM513: whoever finds one of two related tools should learn of the other."""
    related = {tool.name: tool.related for tool in server.tools}
    for tool in server.tools:
        for place, other in enumerate(tool.related):
            if tool.name not in related.get(other, (tool.name,)):
                yield Finding(
                    code="TM513",
                    tool=tool.name,
                    message=f"`{tool.name}` names `{other}` as related, but not the other way round",
                    hint=f'add "{tool.name}" to `related` of `{other}`',
                    at=(*tool.at, "related", place),
                    value=True,
                )


def programs_declare_their_access(server: Server) -> Iterator[Finding]:
    """TM522: a program whose files and network are not declared runs with all rights of the server."""
    for cli in server.clis:
        if cli.is_confined:
            continue
        first = next(tool.name for tool in server.tools if tool.command and tool.command.tool.program.name == cli.name)
        yield Finding(
            code="TM522",
            tool=first,
            message=f"`{cli.name}` is not isolated: [clis.{cli.name}] declares neither files nor network",
            hint=f'add `reads = ["{{roots}}"]`, `writes`, `executes` or `network`, or allow TM522 on `{first}`',
            at=("clis", cli.name),
        )


def the_command_is_installed(server: Server) -> Iterator[Finding]:
    """TM525: client files can only use a command that the project installs."""
    if server.command != server.name and server.launch != (server.command,):
        message = f"`{server.command}` is not in `[project.scripts]`; client files use `{' '.join(server.launch)}`"
        hint = "add it to pyproject.toml, or leave `command` out"
        yield Finding(code="TM525", tool="", message=message, hint=hint, at=("server", "command"), value=True)


RULES: Final[tuple[Rule, ...]] = (
    use_cases_find_their_tool,
    description_adds_to_the_summary,
    each_tool_has_an_example,
    each_parameter_is_described,
    descriptions_arrive_whole,
    names_leave_room_for_prefixes,
    names_survive_as_they_are,
    names_stay_apart_in_each_client,
    lists_are_not_too_long,
    hints_agree,
    summaries_have_no_full_stop,
    summaries_do_not_repeat_the_name,
    related_tools_point_back,
    listed_names_fit_each_client,
    parameter_descriptions_arrive_whole,
    parameter_names_are_taken_everywhere,
    parameter_names_are_plain,
    no_parameter_is_taken_by_a_client,
    patterns_are_linear,
    programs_declare_their_access,
    the_command_is_installed,
)
"""Every rule, in order of code. TM514, the idle `allow`, comes out of applying them."""
