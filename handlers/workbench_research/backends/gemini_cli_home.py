"""Account and home of the Gemini CLI: who is signed in, and a home without anything else that the user has set up."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from toolmason_runtime.programs import SearchPath

from workbench_research.backends.keys import (
    NO_KEY,
    OFFLINE,
    URL,
    Endpoint,
    EndpointError,
    Environ,
    Key,
    endpoint,
    is_offline,
    named,
)
from workbench_research.backends.models import Provider

COMMAND: Final = "WORKBENCH_GEMINI_COMMAND"
"""The variable that names another executable than `PROGRAM`."""
PROGRAM: Final = "gemini"
HOME: Final = "home"
POLICY: Final = "policy.toml"
EMPTY: Final = "empty"
"""Names in the directory of a run; `EMPTY` is the working directory."""

_INSTALL: Final = "npm install -g @google/gemini-cli"
_DIRECTORY: Final = ".gemini"
_KEY: Final = "GEMINI_API_KEY"
_URL: Final = "GOOGLE_GEMINI_BASE_URL"
_ACCOUNT: Final = ("oauth_creds.json", "google_accounts.json", "gemini-credentials.json", "installation_id")
"""Files in `.gemini` of an account that is signed in."""
_KEY_TYPE: Final = "gemini-api-key"
_SIGN_IN_TYPE: Final = "oauth-personal"
_VERTEX_TYPE: Final = "vertex-ai"
_PASSED: Final = frozenset(
    (
        # Accounts, as the CLI documents them. Their base URLs are those of `endpoint`.
        *(_KEY, "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA", "GOOGLE_CLOUD_ACCESS_TOKEN"),
        *("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_PROJECT_ID", "GOOGLE_CLOUD_LOCATION", "GOOGLE_APPLICATION_CREDENTIALS"),
        *("CLOUDSDK_CONFIG", "CLOUD_SHELL", "GEMINI_FORCE_ENCRYPTED_FILE_STORAGE", "DBUS_SESSION_BUS_ADDRESS"),
        *("XDG_RUNTIME_DIR", "GEMINI_CLI_SYSTEM_SETTINGS_PATH", "GEMINI_CLI_SYSTEM_DEFAULTS_PATH"),
        # Network and certificates. NODE_OPTIONS and NODE_TLS_REJECT_UNAUTHORIZED are excluded: the first runs code in
        # the program, the second sends the key to any host.
        *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS", "NODE_USE_SYSTEM_CA"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR"),
    )
)
_ASSIGNMENT: Final = re.compile(r"^[^\S\n]*+(?:export\s++)?(\w++)[^\S\n]*=[^\S\n]*([^\n]*+)$", re.MULTILINE)
_SELECTED: Final = re.compile(r'"selectedType"\s*:\s*"([\w-]+)"')
_MAX_BYTES: Final = 256 * 1024

_SETTINGS: Final[Mapping[str, Any]] = {
    "admin": {"extensions": {"enabled": False}, "mcp": {"enabled": False}, "skills": {"enabled": False}},
    "advanced": {"ignoreLocalEnv": True},
    # An empty list: no directory above the working directory is searched for context files.
    "context": {"memoryBoundaryMarkers": [], "includeDirectoryTree": False},
    "experimental": {"enableAgents": False},
    # One attempt: retries are those of this server.
    "general": {
        "maxAttempts": 1,
        "retryFetchErrors": False,
        "enableAutoUpdate": False,
        "enableAutoUpdateNotification": False,
    },
    "hooksConfig": {"enabled": False},
    "mcp": {"allowed": []},
    "privacy": {"usageStatisticsEnabled": False},
    "skills": {"enabled": False},
    "telemetry": {"enabled": False},
}


def find_program(environ: Environ) -> str:
    """Return the path of the program; empty if there is none.

    Relative directories of PATH do not count. The caller removes those of projects, which could choose the program.
    """
    command = environ.get(COMMAND, "").strip() or PROGRAM
    if Path(command).name != command:
        return shutil.which(str(Path(command).expanduser().absolute())) or ""
    return SearchPath.of(environ, ()).find(command) or ""


def cli_endpoint(provider: Provider, environ: Environ) -> Endpoint:
    """Return the key of the program, or an empty endpoint for an account that is signed in. Call it in a thread.

    Raises:
        EndpointError: it is not installed, has no account, or must not be used.
    """
    if not find_program(environ):
        raise EndpointError(f"install it ({_INSTALL}), or set {COMMAND} to its path")
    environ = with_users_file(environ)
    has_url = environ.get(_URL) or (named(environ)[0] == provider.name and environ.get(URL))
    if has_url or (environ.get(_KEY) and account_type(environ) == _KEY_TYPE):
        return endpoint(provider, environ)
    if is_offline(environ):
        raise EndpointError(f"{OFFLINE} allows only servers on this machine")
    if not account_type(environ):
        raise EndpointError(
            f"set {_KEY} (a key: {provider.key_page}), or run `{PROGRAM}` and sign in with the account of a company"
        )
    return Endpoint(url="", key=Key("", NO_KEY))


def account_type(environ: Environ) -> str:
    """Return the kind of account: the user's `security.auth.selectedType`, else by variables; empty if none."""
    directory = _users_directory(environ)
    if match := _SELECTED.search(_read(directory / "settings.json")):
        return match[1]
    if environ.get("GOOGLE_GENAI_USE_VERTEXAI") == "true":
        return _VERTEX_TYPE
    if environ.get(_KEY):
        return _KEY_TYPE
    is_signed_in = any((directory / name).is_file() for name in _ACCOUNT[:3])
    return _SIGN_IN_TYPE if is_signed_in or environ.get("GOOGLE_GENAI_USE_GCA") == "true" else ""


def with_users_file(environ: Environ) -> dict[str, str]:
    """Return the environment, with the account's variables of the user's `.env` file for those that are not set."""
    directory = _users_directory(environ)
    text = _read(directory / ".env") or _read(directory.parent / ".env")
    values = {name: value.strip().strip("'\"") for name, value in _ASSIGNMENT.findall(text) if name in {*_PASSED, _URL}}
    return {**values, **{name: value for name, value in environ.items() if value}}


def prepare(
    environ: Environ, program: str, found: Endpoint, directory: Path, *, tools: tuple[str, ...] = ()
) -> dict[str, str]:
    """Write home, policy and working directory to `directory`, which is private, and return the program's environment.

    `tools` are all that the model may use. PATH gets the directory of the program, where its interpreter often is.
    """
    from toolmason_runtime.programs import base_environment

    environ = with_users_file(environ)
    home = directory / HOME
    env = base_environment(environ) | {name: value for name, value in environ.items() if name.upper() in _PASSED}
    searched = SearchPath.of(env, ()).searched
    env |= {"PATH": os.pathsep.join([*searched, str(Path(program).parent)]), "GEMINI_CLI_HOME": str(home)}
    env |= dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(directory))
    # No colours, no browser window for a sign-in, no second process for a larger heap. The working directory is ours.
    env |= {
        "NO_COLOR": "1",
        "NO_BROWSER": "true",
        "GEMINI_CLI_NO_RELAUNCH": "true",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }
    if found.url:
        env |= {_KEY: found.key.value, _URL: found.url}
    _create_home(home / _DIRECTORY, _users_directory(environ), _KEY_TYPE if found.url else account_type(environ), tools)
    (directory / POLICY).write_text(_policy(tools), encoding="utf-8")
    # The CLI takes variables from the first `.env` file at or above the working directory: this one.
    (directory / EMPTY / _DIRECTORY).mkdir(parents=True)
    (directory / EMPTY / _DIRECTORY / ".env").touch()
    return env


def _policy(tools: tuple[str, ...]) -> str:
    """Return the policy of an administrator that denies all tools but these."""
    rules = '[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 998\n'
    for tool in tools:
        rules += f'\n[[rule]]\ntoolName = "{tool}"\ndecision = "allow"\npriority = 999\n'
    return rules


def _tools(tools: tuple[str, ...]) -> dict[str, Any]:
    """Return the settings that offer only these tools, should the policy be ignored."""
    return {"core": list(tools), "sandbox": False}


def _create_home(directory: Path, theirs: Path, kind: str, tools: tuple[str, ...]) -> None:
    directory.mkdir(parents=True)
    for name in _ACCOUNT:
        if (theirs / name).is_file():
            _link_or_copy(theirs / name, directory / name)
    security = {"auth": {"selectedType": kind} if kind else {}, "folderTrust": {"enabled": False}}
    settings = {**_SETTINGS, "security": security, "tools": _tools(tools)}
    (directory / "settings.json").write_text(json.dumps(settings), encoding="utf-8")


def _link_or_copy(theirs: Path, ours: Path) -> None:
    """Link to a file, so that a renewed token reaches it; copy it where links need a privilege."""
    try:
        ours.symlink_to(theirs.absolute())
    except OSError:
        shutil.copyfile(theirs, ours)
        os.chmod(ours, 0o600)  # noqa: PTH101


def _users_directory(environ: Environ) -> Path:
    name = "USERPROFILE" if sys.platform == "win32" else "HOME"
    return Path(environ.get("GEMINI_CLI_HOME") or environ.get(name) or Path.home()) / _DIRECTORY


def _read(path: Path) -> str:
    """Return the beginning of a regular file; empty if it cannot be read."""
    with suppress(OSError):
        if path.is_file():
            with path.open("rb") as file:
                return file.read(_MAX_BYTES).decode("utf-8", "replace")
    return ""
