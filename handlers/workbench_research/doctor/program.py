"""The Gemini CLI on this machine: its version, and how it authenticates."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from toolmason_runtime import ToolError

from workbench_research.backends.gemini_cli_home import account_type, with_users_file
from workbench_research.backends.keys import NO_KEY
from workbench_research.backends.selection import GEMINI_CLI, Selected

VERSION_TIMEOUT_S: Final = 45.0
"""Seconds for `--version`: Node needs one or two to start, 30 under load."""
GIT_IGNORE: Final = (
    "Files that .gitignore names are not sent to the model. This may prevent analysis of git-ignored files. To analyze "
    "one, name the file itself in `paths`."
)
"""The specification's warning about ignored files."""

_METHODS: Final = {
    "gemini-api-key": "api_key",
    "oauth-personal": "google_login",
    "vertex-ai": "vertex_ai",
    "compute-default-credentials": "compute_adc",
    "cloud-shell": "compute_adc",
    "gateway": "gateway",
}
_VERSION: Final = re.compile(r"(?<![\w.])v?(\d+\.\d+(?:\.\d+)*(?:-[\w.]+)?)")
_MAX_BYTES: Final = 64 * 1024
_MEMORY_MB: Final = 8192


def auth_method(selected: Selected | None, environ: Mapping[str, str]) -> str:
    """Return how the provider that is asked authenticates, as `health_check` names it."""
    if selected is None:
        return "none"
    if selected.provider.name == GEMINI_CLI and not selected.endpoint.url:
        return _METHODS.get(account_type(with_users_file(environ)), "unknown")
    return "none" if selected.endpoint.key.value == NO_KEY else "api_key"


async def program_version(program: str, environ: Mapping[str, str]) -> str:
    """Run the program at a path for its version.

    Raises:
        ToolError: it failed, printed none or took too long.
    """
    from toolmason_runtime.programs import Command, Invocation, Limits, base_environment, run

    from workbench_research.backends.gemini_cli import launch_argv

    argv = (*launch_argv(program), "--version")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:

        def executor(_invocation: Invocation, given: Mapping[str, str]) -> Command:
            # Not in the project, and not with the user's home: the program writes files even then.
            env = {**base_environment(given), "GEMINI_CLI_HOME": home}
            env["PATH"] = os.pathsep.join([env.get("PATH", os.defpath), str(Path(program).parent)])
            limits = Limits.above(VERSION_TIMEOUT_S, memory_mb=_MEMORY_MB)
            return Command(argv=argv, env=env, cwd=home, timeout_s=VERSION_TIMEOUT_S, limits=limits)

        outcome = await run(
            Invocation(argv=argv), executor=executor, environ=environ, max_memory_bytes=_MAX_BYTES, max_file_bytes=0
        )
        try:
            if outcome.timed_out:
                message = f"`{program} --version` did not finish within {VERSION_TIMEOUT_S:.0f} s"
                raise ToolError(message, code="GEMINI_CLI_ERROR", details={"reason": "TIMEOUT"})
            found = _VERSION.search("\n".join("".join(each.texts()) for each in (outcome.stdout, outcome.stderr)))
            if outcome.is_failure or found is None:
                message = f"{program} cannot be used: --version ended with exit code {outcome.exit_code}"
                raise ToolError(message, code="GEMINI_CLI_ERROR", details={"reason": "UNUSABLE"})
            return found[1]
        finally:
            outcome.close()
