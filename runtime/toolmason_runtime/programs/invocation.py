"""A command line that is ready to run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from toolmason_runtime.programs.sandbox import Access


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """A command line that is ready to run. An empty `cwd` means the server's directory; `stdin` None means no input.

    Programs in `projects`, in `cwd` and in the server's directory are not used although PATH contains them. `access` is
    None if the program is not confined.
    """

    argv: tuple[str, ...]
    cwd: str = ""
    stdin: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    pass_env: tuple[str, ...] = ()
    timeout_s: float = 30.0
    memory_mb: int = 1024
    access: Access | None = None
    projects: tuple[str, ...] = ()
