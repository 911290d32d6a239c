"""What `health_check` answers: whether research tools can work here, and what stands in their way."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import anyio
import anyio.to_thread
from toolmason_runtime import ToolError
from toolmason_runtime.programs.access import describe_isolation, isolation_warnings

from workbench_handlers.model_backends.choice import located
from workbench_handlers.setup.auth import Auth
from workbench_handlers.setup.checks import INSTALL_GEMINI, RUN_INIT, Place, auth_on, missing, program_on_path
from workbench_handlers.setup.configuration import Environ
from workbench_handlers.setup.ignore_warnings import for_health_check
from workbench_handlers.workspace.packages import require_for_questions

_log = logging.getLogger(__name__)

CHECK_S: Final = 10.0
"""Seconds that one check may take: whoever asks how things are does not want to wait for what hangs."""
PROBE_S: Final = 45.0
"""Seconds for asking the programs what they are: each answer has a bound of its own, which names what hangs."""

Value = TypeVar("Value")


class ProgramFound(Protocol):
    """What is known of a program that was asked for its version."""

    @property
    def path(self) -> str:
        """Where it is."""

    @property
    def name(self) -> str:
        """`gemini` or `agy`."""

    @property
    def version(self) -> str:
        """What it says of itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreHealth:
    """Where long answers are kept: `memory` or `redis`, whether it answers, and what is wrong if not."""

    kind: str
    is_reachable: bool
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Held:
    """Whether all that the program can do is read (None: not known), and what is worth knowing of that."""

    is_read_only: bool | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthParts:
    """All that `health` looks at. What is called is called only with diagnostics.

    `find` runs the program for its version, `held` says what holds it to reading, and
    `store` asks the store for a sign of life. `retry`, which is called in any case, reads the settings for trying
    again, and fails if they allow no attempt. `models` are the names that are tried in order for each kind of tool,
    `operations` what is being worked on, as JSON, and `unconfined` the programs that declare no access.
    """

    server_name: str
    server_version: str
    project_root: Path
    environ: Environ
    find: Callable[[], Awaitable[ProgramFound]]
    held: Callable[[ProgramFound], Awaitable[Held]]
    retry: Callable[[], object]
    retry_statistics: Callable[[], Mapping[str, Any]]
    store: Callable[[], Awaitable[StoreHealth]]
    models: Mapping[str, Sequence[str]]
    operations: Sequence[Mapping[str, Any]] = ()
    unconfined: Sequence[str] = ()
    check_s: float = CHECK_S
    probe_s: float = PROBE_S


class _Broken(Exception):  # noqa: N818  it is no error of whoever asks
    """A check could not be carried out."""


async def health(*, include_diagnostics: bool, parts: HealthParts) -> dict[str, Any]:
    """Say how things are: `ok`, `degraded` if research tools will fail, `error` if that could not be found out.

    Nothing is asked of the model, so nothing is charged for.
    """
    answer: dict[str, Any] = {
        "tool": "health_check",
        "status": "ok",
        "server": {"name": parts.server_name, "version": parts.server_version},
    }
    broken: list[str] = []
    seen = await _part("the look at the installation", partial(_in_thread, _look, parts), parts, broken)
    if seen is None:
        return answer | {"status": "error", "problems": broken}
    place, auth, is_on_path = seen
    problems = [*_missing(place, parts.environ), *_refused(require_for_questions), *_refused(parts.retry)]
    program = await _found(parts, problems, broken) if include_diagnostics and place else None
    if program and place and program.name != place.name:
        # The first on PATH cannot do it, and another one can.
        place = Place(program.name, program.path)
        auth = await anyio.to_thread.run_sync(auth_on, parts.environ, parts.project_root, place)
    if place and auth.configured is False:
        problems.append(f"research tools cannot answer, as `{place.name}` is not authenticated: {auth.hint}")
    if include_diagnostics:
        answer["diagnostics"] = await _diagnostics(
            place, program, auth, parts, is_on_path=is_on_path, problems=problems, broken=broken
        )
    if problems or broken:
        answer |= {"status": "error" if broken else "degraded", "problems": [*problems, *broken]}
    return answer


async def _in_thread(look: Callable[[HealthParts], Value], parts: HealthParts) -> Value:
    return await anyio.to_thread.run_sync(look, parts, abandon_on_cancel=True)


def _look(parts: HealthParts) -> tuple[Place | None, Auth, bool]:
    place = program_on_path(parts.environ)
    return place, auth_on(parts.environ, parts.project_root, place), located("gemini", parts.environ) is not None


def _missing(place: Place | None, environ: Environ) -> list[str]:
    if place:
        return []
    return [f"research tools cannot answer, as {missing(environ)}. To install Gemini CLI: {INSTALL_GEMINI}; {RUN_INIT}"]


def _refused(check: Callable[[], object]) -> list[str]:
    try:
        check()
    except ToolError as error:
        return [f"research tools cannot answer, as {error.message}"]
    return []


async def _diagnostics(
    place: Place | None,
    program: ProgramFound | None,
    auth: Auth,
    parts: HealthParts,
    *,
    is_on_path: bool,
    problems: list[str],
    broken: list[str],
) -> dict[str, Any]:
    """Give the details, without those that cannot be known, and add to `problems` and `broken` what they show."""
    held = None
    if program:
        check = partial(parts.held, program)
        held = await _part("the check of read-only mode", check, parts, broken)
    if held and held.is_read_only is False:
        problems.append("read-only mode cannot be enforced with this program")
    store = await _part("the check of the store", parts.store, parts, broken)
    if store and not store.is_reachable:
        unnamed = f"the {store.kind} store of long answers, which WORKBENCH_STORE names, does not answer"
        problems.append(store.problem or unnamed)
    is_gemini = bool(place and place.name == "gemini")
    ignoring = for_health_check(parts.environ) if is_gemini else ()
    known = {
        "projectRoot": str(parts.project_root),
        "geminiOnPath": is_on_path,
        "geminiVersion": program.version if program and is_gemini else None,
        "backend": _without_none({"name": place.name, "program": place.path, "version": program and program.version})
        if place
        else None,
        "authConfigured": auth.configured,
        "authMethod": auth.method,
        "readOnlyModeEnforced": held and held.is_read_only,
        "gitIgnoreRespected": bool(ignoring) if is_gemini else None,
        "models": {kind: [name or "auto" for name in names] for kind, names in parts.models.items()},
        "retry": dict(parts.retry_statistics()),
        "store": {"kind": store.kind, "reachable": store.is_reachable} if store else None,
        "operations": [dict(each) for each in parts.operations],
        "isolation": describe_isolation(),
        "warnings": [
            *ignoring,
            *_of_auth(auth),
            *isolation_warnings(parts.unconfined),
            *(held.notes if held else ()),
        ],
    }
    return _without_none(known)


def _of_auth(auth: Auth) -> list[str]:
    """Give what is worth knowing of an authentication that may work."""
    if auth.configured is False or not auth.hint:
        return []
    found = f"{auth.found}; " if auth.configured is None and auth.found else ""
    text = f"{found}{auth.hint}"
    return [f"{text[0].upper()}{text[1:]}."]


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


async def _found(parts: HealthParts, problems: list[str], broken: list[str]) -> ProgramFound | None:
    """Ask the program what it is. That it cannot be used is a finding; that asking fails otherwise is a bug."""
    try:
        return await _bounded("the question for the version", parts.find, parts.probe_s)
    except ToolError as error:
        problems.append(error.message)
    except _Broken as error:
        broken.append(str(error))
    return None


async def _part(
    what: str, check: Callable[[], Awaitable[Value]], parts: HealthParts, broken: list[str]
) -> Value | None:
    """Carry out a check; None if it cannot be carried out, which is then in `broken`."""
    try:
        return await _bounded(what, check, parts.check_s)
    except ToolError as error:
        broken.append(f"{what} failed: {error.message}")
    except _Broken as error:
        broken.append(str(error))
    return None


async def _bounded(what: str, check: Callable[[], Awaitable[Value]], seconds: float) -> Value:
    """Carry out a check.

    Raises:
        ToolError: it says so.
        _Broken: it takes too long, or it fails in a way that is nobody else's business; the log has it.
    """
    try:
        with anyio.move_on_after(seconds):
            return await check()
    except ToolError:
        raise
    except Exception as error:
        _log.exception("%s failed", what)
        raise _Broken(f"{what} failed; the server's log says why") from error
    raise _Broken(f"{what} took longer than {seconds:g} s")
