"""The effects of tools, and who approves their calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from toolmason_runtime.shared.specs.program import Risk

from toolmason.catalogue.effects import Approval, Effect
from toolmason.catalogue.pictures import NOUNS, effect_chart
from toolmason.diff.contract import AccessContract
from toolmason.model.server import Server
from toolmason.pictures.bars import BarChart
from toolmason.pictures.tool_map import Mark, ToolMap, tool_map
from toolmason.report.subject import Subject

MAX_SQUARES: Final = 240
"""Maximum tools of a map with a square for each; more are shown as bars."""
APPROVALS: Final = {
    Approval.ALWAYS: "a person approves each call",
    Approval.SOME: "the arguments decide whether a person is asked",
    Approval.CODE: "its code decides whether a person is asked",
    Approval.NEVER: "nobody is asked",
    Approval.UNKNOWN: "unknown; the client may ask",
    Approval.OFF: "the policy permits no call",
}
"""The texts of the report about approval."""
_LETTERS: Final = {Risk.READ: "R", Risk.WRITE: "W", Risk.DESTRUCTIVE: "D"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Risks:
    """The effects of the tools, and the limits of the server."""

    counts: Counter[Risk]
    approvals: Counter[Approval]
    open: int
    """Number of tools that reach other systems."""
    unstated: int
    """Number of tools without hints, for which the report assumes the worst effect."""
    chart: BarChart | None
    map: ToolMap | None
    """Either the map or the bars are None."""
    legend: tuple[tuple[Mark, str], ...]
    facts: tuple[tuple[str, str], ...]
    """The other limits of calls: a name and a sentence."""
    access: tuple[tuple[str, str, str], ...]
    """A table of the manifest, a key, and the permitted values."""


def risks(subject: Subject, access: AccessContract | None, policy: str = "") -> Risks:
    """Return the risks of a server. `policy` is the file of the policy, if one was read."""
    effects = subject.effects
    approvals = Counter(effect.approval for effect in effects.values())
    marks: dict[str, list[Mark]] = {}
    for name, effect in effects.items():
        marks.setdefault(subject.categories[name], []).append(_mark(f"{name}: {describe(effect)}", effect))
    has_room = len(effects) <= MAX_SQUARES
    return Risks(
        counts=Counter(effect.risk for effect in effects.values()),
        approvals=approvals,
        open=sum(effect.is_open for effect in effects.values()),
        unstated=sum(not effect.is_stated for effect in effects.values()),
        chart=None if has_room else effect_chart(effects, subject.categories),
        map=tool_map("Tools by category, effect and approval", marks) if has_room else None,
        legend=_legend(effects),
        facts=_facts(subject.server, policy) if subject.server else (),
        access=_access(access) if access else (),
    )


def describe(effect: Effect) -> str:
    """Return the effect of a tool as a phrase."""
    verb = {Risk.READ: "only reads", Risk.WRITE: "writes", Risk.DESTRUCTIVE: "may destroy"}[effect.risk]
    reach = ", reaches other systems" if effect.is_open else ""
    stated = "" if effect.is_stated else " (not stated)"
    return f"{verb}{reach}{stated}; {APPROVALS[effect.approval]}"


def _mark(title: str, effect: Effect) -> Mark:
    return Mark(effect.risk.value, _LETTERS[effect.risk], str(effect.approval), effect.is_open, title)


def _legend(effects: Mapping[str, Effect]) -> tuple[tuple[Mark, str], ...]:
    """Return the marks that the map has, each alone, and their meaning."""
    found = {effect.risk for effect in effects.values()}
    # A square without a frame needs no explanation.
    found_approvals = {effect.approval for effect in effects.values()} - {Approval.NEVER, Approval.UNKNOWN}
    entries = [
        (Mark(risk, _LETTERS[risk], Approval.NEVER, is_open=False, title=noun), noun)
        for risk, noun in NOUNS.items()
        if risk in found
    ]
    entries += [
        (Mark("none", "", str(approval), is_open=False, title=text), text)
        for approval, text in APPROVALS.items()
        if approval in found_approvals
    ]
    if any(effect.is_open for effect in effects.values()):
        text = "reaches other systems"
        entries.append((Mark("none", "", Approval.NEVER, is_open=True, title=text), text))
    return tuple(entries)


def _facts(server: Server, policy: str) -> tuple[tuple[str, str], ...]:
    table = server.table
    programs = any(tool.implementation.risks for tool in server.tools)
    facts = []
    if policy:
        facts.append(("Policy", f"the file `{policy}`"))
    elif programs:
        facts.append(("Policy", "the default: a person approves calls that write; `--policy FILE` shows another one"))
    facts.append(("Guard", f"`{table.guard}` checks the arguments of each call" if table.guard else "none"))
    audit = f"each call is recorded in `{table.audit}`" if table.audit else "off, unless `--audit` is set at the start"
    facts.append(("Audit log", audit))
    scopes = dict.fromkeys(scope for tool in server.tools for scope in tool.table.scopes)
    if table.auth:
        common = ", ".join(f"`{scope}`" for scope in (*table.auth.scopes, *scopes))
        facts.append(("Authorization", f"HTTP clients need a token{f' with scopes: {common}' if common else ''}"))
    if server.subcommands:
        own = ", ".join(f"`{command.name}`: {command.table.summary}" for command in server.subcommands)
        facts.append(("Commands for operators", own))
    return tuple(facts)


def _access(access: AccessContract) -> tuple[tuple[str, str, str], ...]:
    rows = [
        (table, key, "everything" if values is None else ", ".join(values) or "nothing")
        for table, rights in access.rights.items()
        for key, values in rights.items()
    ]
    return (*rows, *((table, "host", host) for host, table in access.hosts.items()))
