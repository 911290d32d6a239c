"""Restrict the Gemini CLI to reading files of the project: by a policy, by a home of its own, and by the sandbox.

The policy denies every tool that is not on a short list, and arguments that lead out of the project. The home, in the
directory of the run, has none of the user's hooks, extensions, MCP servers, agents and commands, and its settings offer
the model the same short list. The user's settings for sign-in, file filters and models are copied to it, and the files
with an account's keys are linked. The policy or the home must be effective. If the machine has a sandbox, it also
limits the CLI to reading the project, writing to the directory of the run, and starting itself and ripgrep.

An administrator's settings and policies stay in force.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolmason_runtime import ToolError
from toolmason_runtime.programs import Access, isolation

from workbench_research.gemini_files import (
    GEMINI_DIRECTORY,
    SYSTEM_DIRECTORY,
    read_settings,
    read_text,
    users_home,
)
from workbench_research.model_backends.adapter import Program

TOOLS: Final = ("read_file", "list_directory", "glob", "grep_search")
"""All that the model may use for a question about the project."""
WEB_TOOLS: Final = ("google_web_search",)
"""All that the model may use for a question that is answered by a search of the web."""

_PATTERN: Final = r'\x00"pattern":"'
_BAD_SEARCH: Final = (
    # The CLI separates the arguments of a call by NUL, which no value contains: a value cannot imitate an argument.
    # In versions without NUL, no call passes.
    rf'^(?![\s\S]*{_PATTERN}([^\s"\\-]|\\\\|\\"))',
    r':\[*"(\s|\\[a-z])*-',
)
_BAD_GLOB: Final = (
    # Not absolute, no drive, no home, no escapes, no groups; then the patterns that expand to `..` or `/`.
    rf'^(?![\s\S]*{_PATTERN}[^\s"\\:~(|/-][^"\\:~(|]*"\x00)',
    rf'{_PATTERN}[^"]*\.\.',
    rf'{_PATTERN}[^"]*\[[^\]"]*\.',
    rf'{_PATTERN}[^"]*[{{,][\s./,}}]',
    rf'{_PATTERN}[^"]*[\s.][,}}]',
)
_CREDENTIAL_PATHS: Final = r"\.[gG][eE][mM][iI][nN][iI]([/\\\"]|\x00)"
"""The `.gemini` directory, denied if it is inside the project."""


def policy(tools: Sequence[str], *, denied: Sequence[str] = ()) -> str:
    """Return the policy that allows only these tools, and none of them with arguments that match `denied`."""

    def rule(decision: str, priority: int, tool: object, **more: str) -> str:
        values = {"toolName": tool, "decision": decision, "priority": priority, **more}
        return "".join(["[[rule]]\n", *(f"{key} = {json.dumps(value)}\n" for key, value in values.items())])

    no_search = "A pattern must not begin with `-` or white space: write [-] instead."
    no_glob = (
        "Only plain patterns below the directory are allowed: not absolute, without `..`, `\\`, `~`, `:` and groups."
    )
    arguments = [("grep_search", pattern, no_search) for pattern in _BAD_SEARCH]
    arguments += [("glob", pattern, no_glob) for pattern in _BAD_GLOB]
    rules = [
        rule("deny", 997, "*", denyMessage=f"Only these tools are allowed: {', '.join(tools)}."),
        rule("allow", 998, list(tools)),
    ]
    rules += [rule("deny", 999, tool, argsPattern=pattern, denyMessage=message) for tool, pattern, message in arguments]
    message = "These files are the user's own."
    rules += [rule("deny", 999, list(tools), argsPattern=pattern, denyMessage=message) for pattern in denied]
    return "\n".join(rules)


SETTINGS: Final[Mapping[str, Any]] = {
    "admin": {"extensions": {"enabled": False}, "mcp": {"enabled": False}, "skills": {"enabled": False}},
    "advanced": {"ignoreLocalEnv": True},
    "context": {"memoryBoundaryMarkers": []},
    "experimental": {"enableAgents": False},
    "general": {
        "checkpointing": {"enabled": False},
        "enableAutoUpdate": False,
        "enableAutoUpdateNotification": False,
    },
    "hooksConfig": {"enabled": False},
    "mcp": {"allowed": []},
    "privacy": {"usageStatisticsEnabled": False},
    "skills": {"enabled": False},
    "telemetry": {"enabled": False},
}
"""The settings of the home."""

_INHERITED: Final = (
    ("advanced", "dnsResolutionOrder"),
    ("billing",),
    ("context", "fileFiltering"),
    ("fileFiltering",),
    ("general", "previewFeatures"),
    ("model", "name"),
    ("modelConfigs",),
    ("security", "auth"),
    ("selectedAuthType",),
)
_ACCOUNT: Final = ("oauth_creds.json", "google_accounts.json", "gemini-credentials.json", "installation_id")
_MIN_HOME_VERSION: Final = (0, 26)
"""The first version that uses GEMINI_CLI_HOME for all its files."""
_MIN_UNTRUSTED_VERSION: Final = (0, 61)
"""The first version known to answer in a project that GEMINI_CLI_TRUST_WORKSPACE declares untrusted."""
_OVERRIDES_TOOLS: Final = re.compile(
    r'"(?:core|coreTools|discoveryCommand|callCommand|toolDiscoveryCommand|toolCallCommand)"\s*:'
)
"""Settings of an administrator that replace the list of tools in the home."""
_RIPGREP: Final = "/usr/bin:/bin:/usr/local/bin:/opt/homebrew/bin:/usr/sbin:/sbin"
"""Directories from which the CLI starts ripgrep. Otherwise it searches with git, grep or code that follows links."""
_NAMED_FILES: Final = (
    *("GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    *("GEMINI_CLI_SYSTEM_SETTINGS_PATH", "GEMINI_CLI_SYSTEM_DEFAULTS_PATH"),
)
"""Variables whose files and directories the CLI reads."""


@dataclass(frozen=True, slots=True)
class Restriction:
    """How the program is restricted: `policy` and `home` are None if ineffective, `access` is None without a sandbox.

    `tools` are those that are offered. In an untrusted project, the CLI reads neither settings, variables
    nor a `GEMINI.md` by itself; older versions only answer with `--skip-trust`, and send `GEMINI.md`.
    """

    policy: Path | None
    home: Path | None
    is_untrusted: bool
    access: Access | None
    tools: tuple[str, ...]


def restrict(
    program: Program,
    environ: Mapping[str, str],
    directory: Path,
    *,
    project: Path | None = None,
    allowed: Sequence[str] | None = None,
) -> Restriction:
    """Write policy and home to `directory`, which is private, and return how to start the program.

    `allowed` are the tools that the model may use: `TOOLS` (None), or `WEB_TOOLS`.

    Raises:
        ToolError: neither policy nor home would have an effect, or the CLI would block on a `GEMINI.md` that is not a
            file.
    """
    without_policy, without_home = _why_ineffective(program, environ)
    if without_policy and without_home:
        message = f"{program.name} {program.version} is not used, since it could not be prevented from writing"
        raise ToolError(
            f"{message}: {without_policy}; {without_home}. Install a newer one: npm install -g @google/gemini-cli",
            code="GEMINI_CLI_ERROR",
            details={"reasons": [without_policy, without_home]},
        )
    if project is not None and (notes := project / "GEMINI.md").exists() and not notes.is_file():
        raise ToolError(
            f"{notes} is not a regular file, and the CLI would read it: move it away", code="GEMINI_CLI_ERROR"
        )
    offered = TOOLS if allowed is None else allowed
    tools = tuple(tool for tool in offered if not (tool == "grep_search" and not can_search(program)))
    # Only the policy checks arguments.
    tools = tuple(tool for tool in tools if not (tool == "glob" and without_policy))
    theirs = users_home(environ)
    is_untrusted = not without_home and _version(program) >= _MIN_UNTRUSTED_VERSION
    rules = home = None
    if not without_policy:
        rules = directory / "policy.toml"
        denied = (_CREDENTIAL_PATHS,) if project and theirs.resolve().is_relative_to(project.resolve()) else ()
        rules.write_text(policy(tools, denied=denied), encoding="utf-8")
    if not without_home:
        home = directory / "home"
        _create_home(home, theirs, tools, checks_trust=not is_untrusted)
    access = _access(program, environ, directory, project) if project and home and is_sandboxed(program) else None
    return Restriction(rules, home, is_untrusted, access, tools)


def is_sandboxed(program: Program) -> bool:
    """Return whether the program runs in the sandbox: a script for node, as npm installs it, on a machine that has one.

    A launcher of a version manager would need files that only the version manager knows.
    """
    try:
        with Path(program.path).open("rb") as file:
            first = file.readline(200)
    except OSError:
        return False
    return bool(isolation()) and first.startswith(b"#!") and b"node" in first


def can_search(program: Program) -> bool:
    """Return whether text search is safe: Landlock refuses other programs than ripgrep, or the CLI finds ripgrep."""
    return (is_sandboxed(program) and isolation() == "landlock") or shutil.which("rg", path=_RIPGREP) is not None


def read_only_enforced(program: Program, environ: Mapping[str, str]) -> tuple[bool, tuple[str, ...]]:
    """Return whether the program is restricted to reading, and why one of the means has no effect."""
    reasons = _why_ineffective(program, environ)
    return not all(reasons), tuple(filter(None, reasons))


def _why_ineffective(program: Program, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return why a policy and why a home would have no effect; empty if they have."""
    policy = home = ""
    if "admin-policy" not in program.features:
        policy = "this version has no --admin-policy"
    elif policies := sorted((SYSTEM_DIRECTORY / "policies").glob("*.toml")):
        policy = f"it ignores --admin-policy since an administrator's {policies[0]} is in force"
    system_settings = Path(environ.get("GEMINI_CLI_SYSTEM_SETTINGS_PATH") or SYSTEM_DIRECTORY / "settings.json")
    if _version(program) < _MIN_HOME_VERSION:
        home = "this version has no GEMINI_CLI_HOME, so the user's own hooks and settings are in force"
    elif match := _OVERRIDES_TOOLS.search(read_text(system_settings) or ""):
        home = f"{match[0].strip(': ')} in the administrator's {system_settings} overrides the tools of the home"
    return policy, home


def _version(program: Program) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", program.version)[:2]))


def _access(program: Program, environ: Mapping[str, str], directory: Path, project: Path) -> Access:
    """Return the files that the CLI may use, at their real paths."""
    account = users_home(environ) / GEMINI_DIRECTORY
    gcloud = Path(environ.get("HOME") or Path.home()) / ".config" / "gcloud"
    bus = re.findall(r"path=([^,;]+)", environ.get("DBUS_SESSION_BUS_ADDRESS", ""))
    modules = [str(path) for path in Path(os.path.realpath(program.path)).parents if path.name == "node_modules"]
    reads = (project, *modules, SYSTEM_DIRECTORY, gcloud, *bus, *(environ.get(name, "") for name in _NAMED_FILES))
    return Access(
        reads=tuple(os.path.realpath(path) for path in reads if path and Path(path).is_absolute()),
        writes=tuple(os.path.realpath(path) for path in (directory, *(account / name for name in _ACCOUNT))),
        executes=("rg",),
        network=True,
        lists=True,  # it resolves the path of a reference from `/` on
    )


def _create_home(home: Path, theirs: Path, tools: Sequence[str], *, checks_trust: bool) -> None:
    directory = home / GEMINI_DIRECTORY
    directory.mkdir(parents=True)
    for name in _ACCOUNT:
        if (theirs / GEMINI_DIRECTORY / name).is_file():
            _link_or_copy(theirs / GEMINI_DIRECTORY / name, directory / name)
    try:
        users = read_settings(theirs / GEMINI_DIRECTORY / "settings.json")
    except ValueError:  # invalid settings have no effect
        users = {}
    settings = {**SETTINGS, "tools": {"core": list(tools), "sandbox": False}}
    settings["security"] = {"folderTrust": {"enabled": checks_trust}}
    for path, value in _inherited(users):
        target = settings
        for name in path[:-1]:
            target[name] = target = dict(target.get(name, {}))
        target.setdefault(path[-1], value)
    (directory / "settings.json").write_text(json.dumps(settings), encoding="utf-8")


def _link_or_copy(theirs: Path, ours: Path) -> None:
    """Link to a file, so that a renewed token reaches it; copy it where links need a privilege."""
    try:
        ours.symlink_to(theirs.absolute())
    except OSError:
        shutil.copyfile(theirs, ours)
        os.chmod(ours, 0o600)  # noqa: PTH101


def _inherited(settings: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for path in _INHERITED:
        value: Any = settings
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if value is not None:
            yield path, value
