"""The list of all rules, and the rules about a whole tool or the server."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final

from toolmason.clients import CLAUDE_CODE, clients
from toolmason.diagnostics import Severity
from toolmason.kinds.command.implementation import clis_of
from toolmason.kinds.upstream.implementation import upstream_of
from toolmason.lint.apis import check_metadata_addresses, check_plain_credentials
from toolmason.lint.discoverability import MAX_RANK, rank_use_cases
from toolmason.lint.finding import Finding, Rule, about_tool, catalogue_of
from toolmason.lint.names import (
    check_listed_name_length,
    check_name_characters,
    check_name_collisions,
    check_name_length,
    check_prefixes,
    check_tool_count,
)
from toolmason.lint.packages import check_package_versions, check_tool_hashes
from toolmason.lint.parameters import (
    check_injected_parameter,
    check_parameter_description_length,
    check_parameter_descriptions,
    check_parameter_names,
    check_patterns,
    check_portable_parameter_names,
)
from toolmason.lint.prompts import check_prompt_commands, check_prompt_files, check_prompt_placeholders
from toolmason.lint.semantic import check_postings
from toolmason.lint.tool_names import check_tool_names
from toolmason.model.identifiers import words
from toolmason.model.server import Server, SlashCommand
from toolmason.model.tool import Tool
from toolmason.schema.providers import providers

MAX_NAMED: Final = 5
"""Maximum number of higher-ranked tools in a hint."""


def check_use_cases(server: Server) -> Iterator[Finding]:
    """TM501: a search for a use case must rank its tool among the first three."""
    tools = {tool.name: tool for tool in server.tools}
    for ranked in rank_use_cases(catalogue_of(server)):
        if ranked.is_found:
            continue
        tool = tools[ranked.tool]
        higher = ", ".join(f"`{name}`" for name in ranked.ranked_higher[:MAX_NAMED])
        advice = "use words of the tool's summary and description, or add keywords"
        message = f"`{tool.name}` is not among the first {MAX_RANK} hits for its use case `{ranked.use_case}`"
        hint = f"{higher} rank higher: {advice}" if higher else advice
        yield about_tool(
            tool, "TM501", message, hint, "use_cases", tool.table.use_cases.index(ranked.use_case), value=True
        )


def check_description(server: Server) -> Iterator[Finding]:
    """TM502: models choose tools by their descriptions, so a description must add to the summary."""
    for tool in server.tools:
        if len(tool.description.strip()) <= len(tool.table.summary.strip()):
            message = f"the description of `{tool.name}` adds nothing to its summary"
            hint = "describe when to use it, its result and its limits"
            yield about_tool(tool, "TM502", message, hint, "description")


def check_examples(server: Server) -> Iterator[Finding]:
    """TM503: examples are validated, shown in documentation and search, and quoted in errors."""
    for tool in server.tools:
        if not tool.examples:
            message = f"`{tool.name}` has no example"
            hint = f"add [[tools.{tool.name}.examples]] with `description` and `arguments`"
            yield about_tool(tool, "TM503", message, hint)


def check_description_length(server: Server) -> Iterator[Finding]:
    """TM505: OpenAI rejects a long description, goose cuts it there, Claude Code at a higher limit."""
    openai, claude_code = providers().providers["openai"], clients()[CLAUDE_CODE]
    max_accepted, max_uncut = openai.max_description or sys.maxsize, claude_code.max_description or sys.maxsize
    for tool in server.tools:
        length = len(tool.description)
        if length > max_accepted:
            is_cut = length > max_uncut
            limit = (
                f"{claude_code.title} cuts at {max_uncut:,}" if is_cut else f"{openai.title} accepts {max_accepted:,}"
            )
            message = f"the description of `{tool.name}` has {length:,} characters; {limit}"
            hint = "move details into parameters, examples or documentation"
            yield about_tool(tool, "TM505", message, hint, "description", severity=Severity.ERROR if is_cut else None)


def check_hints(server: Server) -> Iterator[Finding]:
    """TM510: clients use the hints to decide on approval; `read_only` and `destructive` exclude each other."""
    for tool in server.tools:
        is_contradicting = (found := upstream_of(tool)) is not None and found.has_contradicting_hints
        if is_contradicting or (tool.hints.read_only and tool.hints.destructive):
            message = f"`{tool.name}` is both read_only and destructive"
            hint = "set one of them to false"
            yield about_tool(tool, "TM510", message, hint, "hints")


def _summarized(server: Server) -> list[Tool | SlashCommand]:
    return [*server.tools, *server.commands]


def check_summary_full_stop(server: Server) -> Iterator[Finding]:
    """TM511: summaries are used in lists and tables, without a full stop."""
    for owner in _summarized(server):
        summary = owner.table.summary.rstrip()
        if summary.endswith(".") and not summary.endswith(("...", "etc.")):
            message = f"the summary of `{owner.name}` ends with a full stop"
            at = (*owner.at, "summary")
            yield Finding(code="TM511", tool="", message=message, hint="remove it", at=at, value=True)


def check_summary_repeats_name(server: Server) -> Iterator[Finding]:
    """TM512: the name is always shown beside the summary."""
    for owner in _summarized(server):
        summary, name = _casefold_words(owner.table.summary), _casefold_words(owner.name)
        if summary == name or (owner.name.casefold() in owner.table.summary.casefold().split() and "_" in owner.name):
            message = f"the summary of `{owner.name}` repeats its name"
            hint, at = "describe it in other words", (*owner.at, "summary")
            yield Finding(code="TM512", tool="", message=message, hint=hint, at=at, value=True)


def _casefold_words(text: str) -> tuple[str, ...]:
    return tuple(word.casefold() for word in words(text))


def check_related_tools(server: Server) -> Iterator[Finding]:
    """TM513: `related` should be symmetric, so that each of two related tools leads to the other."""
    related = {tool.name: tool.table.related for tool in server.tools}
    for tool in server.tools:
        for index, other in enumerate(tool.table.related):
            if tool.name not in related.get(other, (tool.name,)):
                message = f"`{tool.name}` lists `{other}` as related, but `{other}` does not list `{tool.name}`"
                hint = f'add "{tool.name}" to `related` of `{other}`'
                yield about_tool(tool, "TM513", message, hint, "related", index, value=True)


def check_program_access(server: Server) -> Iterator[Finding]:
    """TM522: a program without declared files and network runs with all permissions of the server."""
    for cli in clis_of(server):
        if cli.is_confined:
            continue
        first = next(tool.name for tool in server.tools if tool.implementation.entry.get("cli") == cli.name)
        yield Finding(
            code="TM522",
            tool=first,
            message=f"`{cli.name}` is not isolated: [clis.{cli.name}] declares neither files nor network",
            hint=f'add `reads = ["{{roots}}"]`, `writes`, `executes` or `network`, or allow TM522 on `{first}`',
            at=("clis", cli.name),
        )


def check_command_is_installed(server: Server) -> Iterator[Finding]:
    """TM525: client files can only use a command that the project installs."""
    if server.command != server.table.name and server.launch != (server.command,):
        message = f"`{server.command}` is not in `[project.scripts]`; client files use `{' '.join(server.launch)}`"
        hint = "add it to pyproject.toml, or remove `command`"
        yield Finding(code="TM525", tool="", message=message, hint=hint, at=("server", "command"), value=True)


def check_required_extras(server: Server) -> Iterator[Finding]:
    """TM530: an installation from an index has only the packages that pyproject.toml requires."""
    if missing := server.missing_extras:
        extras = ",".join(sorted({*missing, *(server.declared_extras or ())}))
        named = " and ".join(f"`{extra}`" for extra in missing)
        message = f"pyproject.toml requires toolmason without the extra {named}, which this server needs"
        hint = f"write `toolmason[{extras}]` in `dependencies` of pyproject.toml"
        yield Finding(code="TM530", tool="", message=message, hint=hint, at=("server",))


RULES: Final[tuple[Rule, ...]] = (
    check_use_cases,
    check_description,
    check_examples,
    check_parameter_descriptions,
    check_description_length,
    check_name_length,
    check_name_characters,
    check_name_collisions,
    check_tool_count,
    check_hints,
    check_summary_full_stop,
    check_summary_repeats_name,
    check_related_tools,
    check_listed_name_length,
    check_parameter_description_length,
    check_parameter_names,
    check_portable_parameter_names,
    check_injected_parameter,
    check_patterns,
    check_program_access,
    check_command_is_installed,
    check_metadata_addresses,
    check_plain_credentials,
    check_required_extras,
    check_package_versions,
    check_tool_hashes,
    check_postings,
    check_prefixes,
    check_tool_names,
    check_prompt_commands,
    check_prompt_files,
    check_prompt_placeholders,
)
"""The rules in order of their codes. `lint` itself reports TM514, an `allow` without effect."""
