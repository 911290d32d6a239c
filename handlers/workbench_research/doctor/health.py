"""The result of `health_check`: whether research tools work, and which problems they have."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio
import anyio.to_thread
from toolmason_runtime import ToolError
from toolmason_runtime.programs import describe_isolation, isolation_warnings

from workbench_research.doctor.program import GIT_IGNORE
from workbench_research.packages import require_for_questions

_log = logging.getLogger(__name__)

CHECK_TIMEOUT_S: Final = 10.0
"""Seconds that one check may take."""
PROBE_TIMEOUT_S: Final = 70.0
"""Seconds for asking the programs for their versions; each attempt has its own, shorter timeout."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreHealth:
    """The store of long answers: `memory` or `redis`, whether it answers, and the problem if not."""

    kind: str
    is_reachable: bool
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthParts:
    """The parts of a server that `health` checks. Functions are called only for diagnostics, except `retry`.

    `version` runs the program for its version, `store` asks the store for a sign of life, and `retry` reads the retry
    settings. `models` are the names to try in order for each kind of tool, `operations` the running ones as JSON, and
    `unconfined` the programs that declare no access. `upstreams` are warnings about MCP servers whose tools changed.
    `backend` is the provider that is asked, and `program` the path of the Gemini CLI if it is that; both may be empty.
    `select_problem` is why nothing can be asked, and `backends` returns the state of each provider.
    """

    server_name: str
    server_version: str
    project_root: Path
    version: Callable[[], Awaitable[str]]
    retry: Callable[[], object]
    retry_statistics: Callable[[], Mapping[str, Any]]
    store: Callable[[], Awaitable[StoreHealth]]
    models: Mapping[str, Sequence[str]]
    operations: Sequence[Mapping[str, Any]] = ()
    unconfined: Sequence[str] = ()
    upstreams: Sequence[str] = ()
    backend: str = ""
    program: str = ""
    is_on_path: bool = False
    auth_method: str = "none"
    select_problem: str = ""
    backends: Callable[[], Sequence[Mapping[str, Any]]] = tuple
    check_timeout_s: float = CHECK_TIMEOUT_S
    probe_timeout_s: float = PROBE_TIMEOUT_S


@dataclass(slots=True)
class _Findings:
    """`problems` make research tools fail; `incomplete` are checks that could not be completed."""

    problems: list[str] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)

    def require(self, check: Callable[[], object]) -> None:
        """Run a check that raises `ToolError` if research tools cannot answer."""
        try:
            check()
        except ToolError as error:
            self.problems.append(f"research tools cannot answer: {error.message}")

    async def run(
        self, name: str, check: Callable[[], Awaitable[Value]], timeout_s: float, *, is_refusal_a_problem: bool = False
    ) -> Value | None:
        """Run a check; return None if it fails or takes too long. Unexpected errors are in the log only."""
        try:
            with anyio.move_on_after(timeout_s):
                return await check()
            self.incomplete.append(f"{name} took longer than {timeout_s:g} s")
        except ToolError as error:
            if is_refusal_a_problem:
                self.problems.append(error.message)
            else:
                self.incomplete.append(f"{name} failed: {error.message}")
        except Exception:  # noqa: BLE001  the other checks are still worth their result
            _log.exception("%s failed", name)
            self.incomplete.append(f"{name} failed; the server's log has the reason")
        return None


async def health(*, include_diagnostics: bool, parts: HealthParts) -> dict[str, Any]:
    """Return `ok`, `degraded` if research tools will fail, or `error` if a check could not be completed.

    The model is not asked, so nothing is billed.
    """
    answer: dict[str, Any] = {
        "tool": "health_check",
        "status": "ok",
        "server": {"name": parts.server_name, "version": parts.server_version},
    }
    findings = _Findings()
    findings.require(require_for_questions)
    findings.require(parts.retry)
    if parts.select_problem:
        findings.problems.insert(0, f"research tools cannot answer: {parts.select_problem}")
    if include_diagnostics:
        answer["diagnostics"] = await _diagnostics(parts, findings)
    if findings.problems or findings.incomplete:
        status = "error" if findings.incomplete else "degraded"
        answer |= {"status": status, "problems": [*findings.problems, *findings.incomplete]}
    return answer


async def _diagnostics(parts: HealthParts, findings: _Findings) -> dict[str, Any]:
    """Return the known details, and add the problems that they show to `findings`."""
    version = None
    if parts.program:
        version = await findings.run(
            "the version check", parts.version, parts.probe_timeout_s, is_refusal_a_problem=True
        )
    store = await findings.run("the check of the store", parts.store, parts.check_timeout_s)
    if store and not store.is_reachable:
        default = f"the {store.kind} store of long answers, which WORKBENCH_STORE names, does not answer"
        findings.problems.append(store.problem or default)
    backend = {"name": parts.backend, "program": parts.program or None, "version": version}
    backends = await findings.run("the check of the providers", partial(_rows, parts), parts.check_timeout_s)
    return _without_none(
        {
            "projectRoot": str(parts.project_root),
            "geminiOnPath": parts.is_on_path,
            "geminiVersion": version,
            "backend": _without_none(backend) if parts.backend else None,
            "backends": [dict(row) for row in backends or ()],
            "authConfigured": bool(parts.backend),
            "authMethod": parts.auth_method,
            # No backend has a tool that writes, and files are chosen by the rules of .gitignore.
            "readOnlyModeEnforced": True if parts.backend else None,
            "gitIgnoreRespected": True if parts.backend else None,
            "models": {kind: [name or "auto" for name in names] for kind, names in parts.models.items()},
            "retry": dict(parts.retry_statistics()),
            "store": {"kind": store.kind, "reachable": store.is_reachable} if store else None,
            "operations": [dict(operation) for operation in parts.operations],
            "isolation": describe_isolation(),
            "warnings": [
                *([GIT_IGNORE] if parts.program else ()),
                *isolation_warnings(parts.unconfined),
                *parts.upstreams,
            ],
        }
    )


async def _rows(parts: HealthParts) -> Sequence[Mapping[str, Any]]:
    return await anyio.to_thread.run_sync(parts.backends, abandon_on_cancel=True)


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
