"""The effects of tools, and who approves their calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from toolmason_runtime.shared.specs.program import Risk
from toolmason_runtime.toolkit import Policy

from toolmason.model.server import Server
from toolmason.model.tool import Tool


class Approval(StrEnum):
    """Calls of a tool for which its server asks a person."""

    ALWAYS = "always"
    SOME = "some"
    """The arguments decide."""
    CODE = "code"
    """A hand-written function decides."""
    NEVER = "never"
    UNKNOWN = "unknown"
    """The list of another server does not contain it; clients may ask."""
    OFF = "off"
    """The policy permits no call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """The effect of a tool: its greatest risk, whether it reaches other systems, and whether a person is asked.

    `is_stated` is false if the server states nothing, so that the worst case counts.
    """

    risk: Risk
    is_open: bool
    approval: Approval
    is_stated: bool = True


def effects_of(server: Server, policy: Policy | None = None) -> dict[str, Effect]:
    """Return the effects of the enabled tools. Without `policy`, that of a server without a policy file applies."""
    applied = policy or Policy()
    return {tool.name: _effect(tool, applied) for tool in server.tools if tool.table.enabled}


def _effect(tool: Tool, policy: Policy) -> Effect:
    hints, risks = tool.hints, tool.implementation.risks
    if not policy.is_enabled(tool.name, is_program=bool(risks)):
        approval = Approval.OFF
    elif not risks:
        # Handlers that only read never ask; the others call `approve_handler`, or do not.
        approval = Approval.NEVER if hints.risk is Risk.READ else Approval.CODE
    else:
        asked = {policy.needs_approval(tool.name, risk) for risk in risks}
        approval = Approval.SOME if len(asked) > 1 else Approval.ALWAYS if asked == {True} else Approval.NEVER
    return Effect(risk=hints.risk, is_open=hints.open_world, approval=approval)


def declared_effects(tools: Iterable[Mapping[str, Any]]) -> dict[str, Effect]:
    """Return the effects of tools in a `tools/list` result. Missing hints have the defaults of MCP."""
    return {tool["name"]: _declared_effect(tool.get("annotations")) for tool in tools}


def _declared_effect(annotations: Any) -> Effect:
    hints = annotations if isinstance(annotations, Mapping) else {}
    is_read_only = hints.get("readOnlyHint") is True
    is_destructive = not is_read_only and hints.get("destructiveHint") is not False
    return Effect(
        risk=Risk.READ if is_read_only else Risk.DESTRUCTIVE if is_destructive else Risk.WRITE,
        is_open=hints.get("openWorldHint") is not False,
        approval=Approval.UNKNOWN,
        is_stated="readOnlyHint" in hints,
    )
