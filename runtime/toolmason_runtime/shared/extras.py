"""Optional dependencies of servers: the modules of each extra, and the message for a missing one."""

from __future__ import annotations

TYPE_CHECKING = False  # see `boot`: importing `typing` takes long
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Final

APIS: Final = "apis"
CLI: Final = "cli"
CODE: Final = "code"
HTTP: Final = "http"
MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    APIS: ("httpcore2",),
    CLI: ("click", "rich"),
    CODE: ("pydantic_monty",),
    HTTP: ("h11", "httpcore2", "httpx2", "jwt", "mcp", "opentelemetry", "starlette", "uvicorn"),
}
"""Extra of toolmason -> the modules of its packages that the runtime imports."""
CONTAINED: Final[Mapping[str, str]] = {HTTP: APIS, "duckdb": "sql", "mysql": "sql", "postgresql": "sql"}
"""Extra -> the extra that it contains."""
USERS: Final[Mapping[str, str]] = {APIS: "a tool with `api`", HTTP: "a tool with `upstream`"}
"""Extra -> the tools that need it on every transport."""


def contained_in(extras: Iterable[str]) -> frozenset[str]:
    """Return the extras that `extras` contain."""
    return frozenset(CONTAINED[extra] for extra in extras if extra in CONTAINED)


def needs_extra(subject: str, extra: str) -> str:
    """Return the line for a missing package of `extra`, the same in servers, tools of databases and Workbench.

    Example: `--http needs an extra: pip install 'toolmason[http]'; in a project, add it to pyproject.toml`.
    """
    return f"{subject} needs an extra: pip install 'toolmason[{extra}]'; in a project, add it to pyproject.toml"


def missing_extra(feature: str, extra: str) -> str:
    """Return an error line if a package of `extra` is not installed; empty otherwise."""
    from importlib.util import find_spec

    if all(find_spec(module) for module in MODULES[extra]):
        return ""
    return needs_extra(feature, extra)


def require_extra(feature: str, extra: str) -> None:
    """Check that the packages of `extra` are installed.

    Raises:
        ImportError: one is missing.
    """
    if problem := missing_extra(feature, extra):
        raise ImportError(problem)
