"""The verdict on tools: which issues fail, by severity and by the share of clients that they concern."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from toolmason.audit.audit import AuditedTool, Issue
from toolmason.schema import Finding, Severity, Target
from toolmason.schema.hosts import hosts
from toolmason.schema.providers import providers
from toolmason.schema.usage import clients

DEFAULT_MAX_SHARE: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What makes a tool incompatible: an issue of at least the severity `threshold` that concerns enough clients.

    These are more than the share `max_share` of all clients, or one of the named `clients` or `providers`. An issue of
    a provider's target concerns everybody.
    """

    threshold: Severity = Severity.BREAKS
    max_share: float = DEFAULT_MAX_SHARE
    clients: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()

    @property
    def limited(self) -> tuple[str, ...]:
        """The named providers and clients, whose limits for one request apply."""
        return tuple(dict.fromkeys((*self.providers, *self.clients)))

    def fails(self, issue: Issue) -> bool:
        """Return whether the issue counts and makes its tool incompatible."""
        return self.is_severe(issue) and (share_of(issue) > self.max_share or self._concerns_named(issue.finding))

    def tolerates(self, issue: Issue) -> bool:
        """Return whether the issue would fail, but for the few clients that it concerns."""
        return self.is_severe(issue) and not self.fails(issue)

    def is_severe(self, issue: Issue) -> bool:
        """Return whether the issue counts and is as severe as `threshold`."""
        return not issue.accepted and issue.finding.severity.rank <= self.threshold.rank

    def accepts(self, tool: AuditedTool) -> bool:
        """Return whether no issue of the tool fails."""
        return not any(map(self.fails, tool.issues))

    def _concerns_named(self, finding: Finding) -> bool:
        if finding.concerns_all:
            return bool(self.clients or self.providers)
        used = {provider for name in self.clients for provider in clients()[name].providers}
        return not {*used, *self.providers}.isdisjoint(finding.providers) or not {*self.clients}.isdisjoint(
            finding.clients
        )


def share_of(issue: Issue) -> float:
    """Return the share of clients that an issue concerns, from 0 to 1."""
    return issue.finding.share if set(issue.targets) == {Target.MCP} else 1.0


def share_of_failures(tools: Sequence[AuditedTool], policy: Policy) -> float:
    """Return the share of clients that the worst severe issue of some tool concerns; 0 without one."""
    return max((share_of(issue) for tool in tools for issue in tool.issues if policy.is_severe(issue)), default=0.0)


def concern_text(issue: Issue) -> str:
    """Return whom an issue concerns, such as "3 % of clients: google-genai for Python"."""
    share = f"{percent(share_of(issue))} of clients"
    named = [*titles(issue.finding.clients, issue.finding.providers)]
    return f"{share}: {', '.join(named)}" if named and set(issue.targets) == {Target.MCP} else share


def titles(client_keys: Collection[str], provider_keys: Collection[str]) -> list[str]:
    """Return the names of clients, and of providers as the place where a client's user fails."""
    rows = {key: row.title for key, row in providers().providers.items()} | {
        key: host.title for key, host in hosts().items()
    }
    return [clients()[key].title for key in client_keys] + [f"users of {rows[key]}" for key in provider_keys]


def percent(share: float) -> str:
    """Return a share as a percentage: at least 1 % unless it is 0."""
    return f"{max(1, round(share * 100)) if share else 0} %"
