"""What the program is given of the server's environment: what it needs to run and to sign in, and nothing else."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from toolmason_runtime.programs import base_environment, is_outside

from workbench_handlers.model_backends.gemini_files import FOLDER, assigned, read_bounded

_PREFIXES: Final = ("GEMINI_", "GOOGLE_", "CLOUDSDK_", "XDG_")
_NAMES: Final = {
    # How the network is reached, and whom to believe there. NODE_OPTIONS and NODE_TLS_REJECT_UNAUTHORIZED are not
    # among them: one runs code in the program, the other sends the key to whoever answers.
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS", "NODE_USE_SYSTEM_CA"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR"),
    # Where an account's key may lie: the keyring of the desktop, Google's own shell, the Code Assist service.
    *("DBUS_SESSION_BUS_ADDRESS", "CLOUD_SHELL", "CODE_ASSIST_ENDPOINT"),
}
_KEPT_BACK: Final = (
    # Ways to run something else, somewhere else, or to write down what was asked.
    *("GEMINI_SANDBOX", "GEMINI_CLI_IDE_", "GEMINI_PTY_INFO", "GEMINI_CLI_ACTIVITY_LOG", "GEMINI_CONTEXT_TRACE_DIR"),
    *("GEMINI_SYSTEM_MD", "GEMINI_WRITE_SYSTEM_MD", "GEMINI_TELEMETRY_", "GEMINI_DEBUG_LOG_FILE"),
    *("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES",),
    # What is trusted and what is read is decided here.
    *("GEMINI_CLI_TRUST", "GEMINI_RESTRICTED_MODE", "GEMINI_CLI_HOME", "GEMINI_CLI_NO_RELAUNCH"),
    *("GEMINI_CLI_INTEGRATION_TEST", "GEMINI_CLI_WORKTREE_HANDLED"),
)

_NAME: Final = re.compile(r"(?<![A-Za-z0-9_.-])([A-Za-z0-9_.-]++)(?=[\s\ufeff]*=|:)")
_LINE_END: Final = re.compile("[\r\n\u2028\u2029]")


def child_environment(environ: Mapping[str, str], program: str, project: Path | None = None) -> dict[str, str]:
    """Give the environment for a program of this path, whose interpreter often lies beside it.

    What is in `project` must not be run: folders of PATH that lie in it, or that are relative, are left out.
    """
    given = base_environment(environ) | {name: value for name, value in environ.items() if _is_for_it(name)}
    folders = [*given.get("PATH", os.defpath).split(os.pathsep), str(Path(program).parent)]
    given["PATH"] = os.pathsep.join(each for each in folders if is_outside(each, project))
    for name in ("TMPDIR", "TEMP", "TMP"):
        given[name] = environ.get("TMPDIR") or environ.get(name) or ""
    # No colours, and no window in which somebody should sign in.
    return {name: value for name, value in given.items() if value} | {"NO_COLOR": "1", "NO_BROWSER": "true"}


def set_by_user(home: Path) -> dict[str, str]:
    """Give the variables for the program that the user's own `.env` sets."""
    for path in (home / FOLDER / ".env", home / ".env"):
        try:
            text = read_bounded(path)
        except FileNotFoundError:
            continue
        except OSError:
            break
        return {name: value for name, value in assigned(text).items() if _is_for_it(name)}
    return {}


def set_by_project(folder: Path, home: Path) -> frozenset[str]:
    """Give the names of the variables that a project would set for the Gemini CLI, or a folder above it.

    The CLI has to be told that it may work in the folder, and reads `.gemini/.env` there from then on: a proxy or
    another address for the API in it would send the key to whoever wrote it. What is set already, it does not set.
    Files in `home` are the user's own.

    Raises:
        ToolError: such a file is too long to tell, or no file that ends.
    """
    names: set[str] = set()
    real = folder.resolve()
    users = {home.resolve() / ".env", home.resolve() / FOLDER / ".env"}
    for each in (real, *real.parents):
        for path in ({each / ".env", each / FOLDER / ".env"}) - users:
            names |= _names(path)
    return frozenset(names)


def _names(path: Path) -> set[str]:
    try:
        text = read_bounded(path)
    except OSError:
        return set()
    # More than what is really set may be found, as in a value of several lines, and does no harm.
    lines = (each for each in _LINE_END.split(text) if not each.lstrip("\ufeff \t").startswith("#"))
    return {name for each in lines for name in _NAME.findall(each)} | assigned(text).keys()


def _is_for_it(name: str) -> bool:
    wanted = name.upper()
    return wanted in _NAMES or (wanted.startswith(_PREFIXES) and not wanted.startswith(_KEPT_BACK))
