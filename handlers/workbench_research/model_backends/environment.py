"""The environment of the program: the variables that it needs to run and to sign in, and no others."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from toolmason_runtime.programs import base_environment, is_outside

from workbench_research.gemini_files import GEMINI_DIRECTORY, parse_dotenv, read_bounded

_PASSED_PREFIXES: Final = ("GEMINI_", "GOOGLE_", "CLOUDSDK_", "XDG_")
_PASSED_NAMES: Final = {
    # Network and certificates. NODE_OPTIONS and NODE_TLS_REJECT_UNAUTHORIZED are excluded: the first runs code in the
    # program, the second sends the key to any host.
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS", "NODE_USE_SYSTEM_CA"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR"),
    # Sources of credentials: the desktop's keyring, Cloud Shell, the Code Assist service.
    *("DBUS_SESSION_BUS_ADDRESS", "CLOUD_SHELL", "CODE_ASSIST_ENDPOINT"),
}
_EXCLUDED_PREFIXES: Final = (
    # These run other programs, run elsewhere, or record questions.
    *("GEMINI_SANDBOX", "GEMINI_CLI_IDE_", "GEMINI_PTY_INFO", "GEMINI_CLI_ACTIVITY_LOG", "GEMINI_CONTEXT_TRACE_DIR"),
    *("GEMINI_SYSTEM_MD", "GEMINI_WRITE_SYSTEM_MD", "GEMINI_TELEMETRY_", "GEMINI_DEBUG_LOG_FILE"),
    *("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES",),
    # Trust and settings files are determined by this server.
    *("GEMINI_CLI_TRUST", "GEMINI_RESTRICTED_MODE", "GEMINI_CLI_HOME", "GEMINI_CLI_NO_RELAUNCH"),
    *("GEMINI_CLI_INTEGRATION_TEST", "GEMINI_CLI_WORKTREE_HANDLED"),
)

_NAME: Final = re.compile(r"(?<![A-Za-z0-9_.-])([A-Za-z0-9_.-]++)(?=[\s\ufeff]*=|:)")
"""A possible variable name, followed by `=` or `:`. The lookbehind and the possessive quantifier keep it linear."""
_LINE_END: Final = re.compile("[\r\n\u2028\u2029]")


def child_environment(environ: Mapping[str, str], program: str, project: Path | None = None) -> dict[str, str]:
    """Return the environment for the program at this path, whose interpreter is often beside it.

    PATH directories that are relative or inside `project` are removed, so that no file of the project is run.
    """
    result = base_environment(environ) | {name: value for name, value in environ.items() if _is_passed_on(name)}
    directories = [*result.get("PATH", os.defpath).split(os.pathsep), str(Path(program).parent)]
    result["PATH"] = os.pathsep.join(path for path in directories if is_outside(path, project))
    for name in ("TMPDIR", "TEMP", "TMP"):
        result[name] = environ.get("TMPDIR") or environ.get(name) or ""
    # No colours, and no browser window for a sign-in.
    return {name: value for name, value in result.items() if value} | {"NO_COLOR": "1", "NO_BROWSER": "true"}


def user_variables(home: Path) -> dict[str, str]:
    """Return the variables for the program in the user's own `.env` file."""
    for path in (home / GEMINI_DIRECTORY / ".env", home / ".env"):
        try:
            text = read_bounded(path)
        except FileNotFoundError:
            continue
        except OSError:
            break
        return {name: value for name, value in parse_dotenv(text).items() if _is_passed_on(name)}
    return {}


def project_variables(directory: Path, home: Path) -> frozenset[str]:
    """Return the names of the variables in `.env` files of a project or of a directory above it.

    Gemini CLI reads `.gemini/.env` of a trusted directory: a proxy or another API address in it would receive the
    user's key. The CLI does not set variables that are set already, so callers set these to an empty value. Files in
    `home` are the user's own and do not count.

    Raises:
        ToolError: such a file is too long, or is not a regular file.
    """
    names: set[str] = set()
    real = directory.resolve()
    users = {home.resolve() / ".env", home.resolve() / GEMINI_DIRECTORY / ".env"}
    for parent in (real, *real.parents):
        for path in {parent / ".env", parent / GEMINI_DIRECTORY / ".env"} - users:
            names |= _file_variables(path)
    return frozenset(names)


def _file_variables(path: Path) -> set[str]:
    try:
        text = read_bounded(path)
    except OSError:
        return set()
    # Extra names, such as those in a value of several lines, are harmless.
    lines = (line for line in _LINE_END.split(text) if not line.lstrip("\ufeff \t").startswith("#"))
    return {name for line in lines for name in _NAME.findall(line)} | parse_dotenv(text).keys()


def _is_passed_on(name: str) -> bool:
    name = name.upper()
    return name in _PASSED_NAMES or (name.startswith(_PASSED_PREFIXES) and not name.startswith(_EXCLUDED_PREFIXES))
