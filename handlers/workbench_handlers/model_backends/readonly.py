"""Holds the Gemini CLI to reading files of the project, by two means that do not depend on each other.

A policy denies every tool that is not on a short list, and arguments that lead out of the project. And the CLI is
given a home of its own, in the folder of the run: there are neither the user's hooks, extensions, MCP servers, agents
and commands nor the folders they trust, and the settings there offer the model the same short list. Of the user's
settings only those are taken over that say how to sign in, which files are left out and which model is asked; the
files that hold an account's keys are linked to.

Text is searched only by a ripgrep that the CLI trusts. Without one it takes `git grep`, then `grep`, then code of its
own: the first runs what a pattern that begins with `-O` names, the others follow links out of the project.

The settings and policies that an administrator made for the whole machine are left as they are.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolmason_runtime import ToolError

from workbench_handlers.model_backends.adapter import Program
from workbench_handlers.model_backends.environment import read_bounded

TOOLS: Final = ("read_file", "list_directory", "glob", "grep_search")
"""All that the model may use."""

_PATTERN: Final = r'\x00"pattern":"'
_BAD_SEARCH: Final = (
    # The CLI puts NUL around each argument of a call, and a value has none: nothing in a value passes for an argument.
    # Where that is not so, no call passes at all.
    rf'^(?![\s\S]*{_PATTERN}([^\s"\\-]|\\\\|\\"))',
    r':\[*"(\s|\\[a-z])*-',
)
_BAD_GLOB: Final = (
    # Not absolute, no drive, no home, no escapes, no groups; then whatever becomes `..` or `/` once it is expanded.
    rf'^(?![\s\S]*{_PATTERN}[^\s"\\:~(|/-][^"\\:~(|]*"\x00)',
    rf'{_PATTERN}[^"]*\.\.',
    rf'{_PATTERN}[^"]*\[[^\]"]*\.',
    rf'{_PATTERN}[^"]*[{{,][\s./,}}]',
    rf'{_PATTERN}[^"]*[\s.][,}}]',
)
_USERS_OWN: Final = r"\.[gG][eE][mM][iI][nN][iI]([/\\\"]|\x00)"
"""Where the home lies in what may be read, the files of the user's sign-in are out of bounds."""


def policy(tools: Sequence[str], *, keep_out: Sequence[str] = ()) -> str:
    """Give the policy that allows these tools alone, and none of them with arguments that match `keep_out`."""

    def rule(decision: str, priority: int, tool: object, pattern: str = "", why: str = "") -> str:
        lines = ["[[rule]]", f"toolName = {json.dumps(tool)}", f'decision = "{decision}"', f"priority = {priority}"]
        lines += [f"argsPattern = {json.dumps(pattern)}"] if pattern else []
        lines += [f"denyMessage = {json.dumps(why)}"] if why else []
        return "\n".join(lines) + "\n"

    rules = [rule("deny", 997, "*", why="Only reading the project is allowed."), rule("allow", 998, list(tools))]
    no_search = "A pattern must not begin with `-` or white space: write [-] instead."
    no_glob = "Only plain patterns below the folder are allowed: not absolute, without `..`, `\\`, `~`, `:` and groups."
    rules += [rule("deny", 999, "grep_search", each, no_search) for each in _BAD_SEARCH]
    rules += [rule("deny", 999, "glob", each, no_glob) for each in _BAD_GLOB]
    rules += [rule("deny", 999, list(tools), each, "These files are the user's own.") for each in keep_out]
    return "\n".join(rules)


POLICY: Final = policy(TOOLS)

GUARD: Final = """\
"use strict";
// The CLI sends what is called GEMINI.md unasked, links out of the project and files above it included.
const fs = require("node:fs");
const path = require("node:path");
const { ChildProcess } = require("node:child_process");

const { access } = fs.promises;
fs.promises.access = async function (file, ...rest) {
  if (path.basename(String(file)).toLowerCase() === "gemini.md") {
    throw Object.assign(new Error(`ENOENT: ${file} is left out`), { code: "ENOENT" });
  }
  return access.call(this, file, ...rest);
};

// Neither is safe with arguments that a model chose.
const { spawn } = ChildProcess.prototype;
ChildProcess.prototype.spawn = function (options) {
  if (/^(git|grep)(\\.exe)?$/i.test(path.basename(String(options.file)))) {
    throw new Error(`${options.file} is not run`);
  }
  return spawn.call(this, options);
};
require("node:module").syncBuiltinESMExports();
"""
"""What Node loads before the CLI."""

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
    "security": {"folderTrust": {"enabled": True}},
    "skills": {"enabled": False},
    "telemetry": {"enabled": False},
    "tools": {"core": list(TOOLS), "sandbox": False},
}
"""What the home says. The project is not trusted, so that its own settings and variables are not read."""

_TAKEN_OVER: Final = (
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
_KNOWS_HOME: Final = (0, 26)
"""The first version that is sure to look for everything below GEMINI_CLI_HOME."""
_OUTSIDE_STRINGS: Final = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)


_DECIDES_TOOLS: Final = (
    *(("tools", each) for each in ("core", "discoveryCommand", "callCommand")),
    *((each,) for each in ("coreTools", "toolDiscoveryCommand", "toolCallCommand")),
)
"""Settings of a machine that stand above those of the home, and widen what a model is offered."""

_TRUSTED: Final = (
    *("/usr/bin", "/bin", "/usr/local/bin", "/opt/homebrew/bin", "/opt/homebrew/Cellar", "/usr/local/Cellar"),
    *("/usr/sbin", "/sbin"),
)
"""Where the CLI takes a ripgrep from."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Where an administrator's policies and settings lie."""

    policies: Path
    settings: Path | None = None

    @classmethod
    def this(cls) -> Machine:
        """Give the places on this machine."""
        folders = {"darwin": "/Library/Application Support/GeminiCli", "win32": "C:\\ProgramData\\gemini-cli"}
        folder = Path(folders.get(sys.platform, "/etc/gemini-cli"))
        return cls(folder / "policies", folder / "settings.json")


@dataclass(frozen=True, slots=True)
class Restriction:
    """What holds the program to reading: a policy's file to name, and a home to give; None where it would not count.

    `guard` is what Node has to load first. `tools` are those of `TOOLS` that can be offered.
    """

    policy: Path | None
    home: Path | None
    guard: Path
    tools: tuple[str, ...]


def restrict(
    program: Program,
    environ: Mapping[str, str],
    folder: Path,
    *,
    project: Path | None = None,
    search_path: str = "",
    machine: Machine | None = None,
) -> Restriction:
    """Write to `folder`, which is nobody else's, what holds the program to reading `project`.

    `search_path` is the PATH that the program will have.

    Raises:
        ToolError: nothing would hold it.
    """
    without_policy, without_home = _reasons(program, machine or Machine.this(), environ)
    if without_policy and without_home:
        message = f"{program.name} {program.version} is not asked, since nothing would keep it from writing"
        raise ToolError(
            f"{message}: {without_policy}; {without_home}. Install a newer one: npm install -g @google/gemini-cli",
            code="GEMINI_CLI_ERROR",
            details={"reasons": [without_policy, without_home]},
        )
    left_out = set() if trusted_ripgrep(program, search_path, project) else {"grep_search"}
    # Only the policy looks at arguments.
    left_out |= {"glob"} if without_policy else set()
    tools = tuple(each for each in TOOLS if each not in left_out)
    theirs = users_home(environ)
    rules = home = None
    if not without_policy:
        rules = folder / "policy.toml"
        keep_out = (_USERS_OWN,) if project is not None and _within(theirs, project) else ()
        rules.write_text(policy(tools, keep_out=keep_out), encoding="utf-8")
    if not without_home:
        home = folder / "home"
        _furnish(home, theirs, tools)
    guard = folder / "guard.cjs"
    guard.write_text(GUARD, encoding="utf-8")
    return Restriction(rules, home, guard, tools)


def read_only_enforced(
    program: Program, environ: Mapping[str, str], *, machine: Machine | None = None
) -> tuple[bool, tuple[str, ...]]:
    """Tell whether the program is held to reading, and which of the means does not count and why."""
    if program.name != "gemini":
        # Its only means is a mode, which it has or has not; without it, it is not asked.
        return "plan" in program.features, () if "plan" in program.features else ("it has no mode for reading only",)
    reasons = _reasons(program, machine or Machine.this(), environ)
    return not all(reasons), tuple(each for each in reasons if each)


def trusted_ripgrep(program: Program, search_path: str, project: Path | None) -> bool:
    """Tell whether the CLI finds a ripgrep that it would run, as it looks for one."""
    arch = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(platform.machine().lower(), platform.machine())
    name = f"rg-{sys.platform}-{arch}{'.exe' if sys.platform == 'win32' else ''}"
    beside = Path(program.path).resolve().parent
    if any((beside / place / name).is_file() for place in (".", "vendor/ripgrep")):
        return True
    found = shutil.which("rg", path=search_path) if search_path else None
    if found is None:
        return False
    real = Path(found).resolve()
    if project is not None and project.resolve() != Path(real.anchor) and _within(real, project):
        return False
    if sys.platform == "win32":
        names = ("SystemRoot", "ProgramFiles", "ProgramFiles(x86)")
        trusted = tuple(os.environ[each] for each in names if each in os.environ)
    else:
        trusted = _TRUSTED
    return any(real.is_relative_to(each) for each in trusted)


def _within(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _reasons(program: Program, machine: Machine, environ: Mapping[str, str]) -> tuple[str, str]:
    """Give why a policy and why a home would not count; empty where they do."""
    policy = home = ""
    if "admin-policy" not in program.features:
        policy = "this version has no --admin-policy"
    elif found := _policies(machine.policies):
        policy = f"it ignores --admin-policy since an administrator's {found} is in force"
    if _number(program.version) < _KNOWS_HOME:
        home = "this version has no GEMINI_CLI_HOME, so the user's own hooks and settings are in force"
    else:
        named = environ.get("GEMINI_CLI_SYSTEM_SETTINGS_PATH")
        place = Path(named) if named else machine.settings
        if place is not None and (found := _widening(place)):
            home = f"{found} in the administrator's {place} stands above what the home allows"
    return policy, home


def _widening(path: Path) -> str:
    """Name the setting of a machine that decides which tools there are; empty if there is none."""
    try:
        text = read_bounded(path)
    except FileNotFoundError:
        return ""
    except OSError:
        return "something that cannot be read"
    settings = _parsed(text)
    if settings is None:
        return "something that cannot be understood"
    for names in _DECIDES_TOOLS:
        value: Any = settings
        for name in names:
            value = value.get(name) if isinstance(value, dict) else None
        if value is not None:
            return ".".join(names)
    return ""


def _policies(folder: Path) -> str:
    try:
        return next((str(each) for each in sorted(folder.iterdir()) if each.name.endswith(".toml")), "")
    except OSError:
        return ""  # the CLI finds none there either


def _number(version: str) -> tuple[int, ...]:
    found = re.search(r"\d+(?:\.\d+)+", version)
    return tuple(map(int, found[0].split("."))) if found else ()


def users_home(environ: Mapping[str, str]) -> Path:
    """Give the folder in which the user's `.gemini` lies."""
    name = "USERPROFILE" if sys.platform == "win32" else "HOME"
    return Path(environ.get("GEMINI_CLI_HOME") or environ.get(name) or Path.home())


def _furnish(home: Path, theirs: Path, tools: Sequence[str]) -> None:
    folder = home / ".gemini"
    folder.mkdir(parents=True)
    for name in _ACCOUNT:
        if (theirs / ".gemini" / name).is_file():
            _give(theirs / ".gemini" / name, folder / name)
    ours = _merged({"tools": {"core": list(tools)}}, SETTINGS)
    settings = _merged(ours, _taken_over(_settings(theirs / ".gemini" / "settings.json")))
    (folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")


def _give(theirs: Path, ours: Path) -> None:
    """Link to a file: a token that is renewed must reach it. Where links need a privilege, it is copied."""
    try:
        ours.symlink_to(theirs.absolute())
    except OSError:
        shutil.copyfile(theirs, ours)
        os.chmod(ours, 0o600)  # noqa: PTH101  as it was written


def _settings(path: Path) -> dict[str, Any]:
    """Read settings; those that cannot be read are none."""
    try:
        return _parsed(read_bounded(path)) or {}
    except OSError:
        return {}


def _parsed(text: str) -> dict[str, Any] | None:
    """Give the object that a text is, which may hold comments."""
    try:
        found = json.loads(_OUTSIDE_STRINGS.sub(lambda each: each[0] if each[0].startswith('"') else "", text))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _taken_over(settings: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for path in _TAKEN_OVER:
        value: Any = settings
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if value is not None:
            for name in reversed(path):
                value = {name: value}
            kept = _merged(kept, value)
    return kept


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Give both; what both have is `one`'s, unless it is an object in both."""
    both = {**other, **one}
    for name in one.keys() & other.keys():
        if isinstance(one[name], dict) and isinstance(other[name], dict):
            both[name] = _merged(one[name], other[name])
    return both
