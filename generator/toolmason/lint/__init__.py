"""Lint: report likely mistakes in valid manifests (TM5xx). Its table can allow each rule with a reason.

A rule is a function that yields findings about the model. `lint` applies the `allow` tables and reports the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from toolmason_runtime.shared.suggestions import did_you_mean
from toolmason_runtime.shared.toml.positions import KeyPath

from toolmason.diagnostics import Diagnostics, Severity
from toolmason.lint.apis import check_metadata_addresses
from toolmason.lint.finding import Finding, Rule
from toolmason.lint.prompts import check_prompt_commands
from toolmason.lint.semantic import check_postings
from toolmason.manifest.document import Document
from toolmason.model.prompt import Prompt
from toolmason.model.server import Server, SlashCommand, Workflow
from toolmason.model.tool import Tool

_ERRORS: Final = frozenset({"TM501", "TM508", "TM510", "TM515", "TM517", "TM519", "TM541"})
_NOTES: Final = frozenset({"TM513", "TM527", "TM532"})
DEFAULT_SEVERITIES: Final[Mapping[str, Severity]] = {
    code: Severity.ERROR if code in _ERRORS else Severity.NOTE if code in _NOTES else Severity.WARNING
    for code in (
        *(f"TM{number}" for number in range(501, 521)),
        "TM522",
        "TM525",
        "TM526",
        "TM527",
        "TM528",
        "TM529",
        "TM530",
        "TM531",
        "TM532",
        "TM533",
        "TM541",
        "TM542",
        "TM543",
    )
}
"""The severity of each rule, unless a finding sets its own."""


def lint(server: Server, document: Document, *, diagnostics: Diagnostics) -> None:
    """Report the findings of all rules, and each `allow` without effect."""
    # Imported late: `generate` and `check` need only the rules of `check_safety`.
    from toolmason.lint.rules import RULES

    used = _apply(RULES, server, document, diagnostics)
    for finding in _unused_allows(_allow_tables(server), used):
        _report(finding, document, diagnostics)


def check_safety(server: Server, document: Document, *, diagnostics: Diagnostics) -> None:
    """Report text that a client would run as a command, addresses of metadata services, and outdated postings."""
    _apply((check_prompt_commands, check_metadata_addresses, check_postings), server, document, diagnostics)


def _apply(
    rules: Iterable[Rule], server: Server, document: Document, diagnostics: Diagnostics
) -> set[tuple[KeyPath, str]]:
    """Report the findings that are not allowed. Return the table and the rule of each `allow` with an effect."""
    tables = _allow_tables(server)
    used: set[tuple[KeyPath, str]] = set()
    for finding in (finding for rule in rules for finding in rule(server)):
        owner = ("tools", finding.tool) if finding.tool else finding.at[:2]
        if finding.code in tables.get(owner, {}):
            used.add((owner, finding.code))
        else:
            _report(finding, document, diagnostics)
    return used


def _allow_tables(server: Server) -> dict[KeyPath, Mapping[str, str]]:
    """Return the suppressed rules of each table that can have `allow`, by its key path."""
    prompts = (prompt for prompt in server.prompts if not prompt.command)
    owners: list[Tool | SlashCommand | Prompt | Workflow] = [*server.tools, *server.commands, *prompts]
    return {owner.at[:2]: owner.allow for owner in [*owners, *server.workflows]}


def _report(finding: Finding, document: Document, diagnostics: Diagnostics) -> None:
    document.report(
        diagnostics,
        finding.code,
        finding.message,
        finding.at,
        hint=finding.hint,
        value=finding.value,
        severity=finding.severity or DEFAULT_SEVERITIES[finding.code],
    )


def _unused_allows(tables: Mapping[KeyPath, Mapping[str, str]], used: set[tuple[KeyPath, str]]) -> Iterator[Finding]:
    for owner, allow in tables.items():
        for index, code in enumerate(allow):
            at = (*owner, "allow", index)
            if code not in DEFAULT_SEVERITIES:
                hint = (
                    did_you_mean(code, DEFAULT_SEVERITIES)
                    or f"the rules are {min(DEFAULT_SEVERITIES)} to {max(DEFAULT_SEVERITIES)}"
                )
                message = f"no lint rule `{code}`"
            elif (owner, code) not in used:
                message, hint = f"`allow` of {code} on `{owner[-1]}` has no effect", "remove it"
            else:
                continue
            yield Finding(code="TM514", tool="", message=message, hint=hint, at=(*at, "rule"), value=True)
