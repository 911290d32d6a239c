"""Confine the program of an upstream to the files and the network of its manifest, with a home directory of its own.

A program that runs in the sandbox of `programs.sandbox` may use, besides its declaration:

- the system's directories and its own installation, with the interpreters that it starts;
- the package that its command line names: the directory of a script, up to its `package.json` or `pyproject.toml`;
- `working_dir`, if the manifest sets it, to read;
- a directory of its own, to read, write and execute. `HOME` is this directory, so the caches of package runners
  (`npx`, `uvx`) and the data of the program are there, apart from those of the user and of other upstreams;
- a temporary directory, which is removed at its end.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from toolmason_runtime.programs.access import Guarded, installation, isolation, resolve_access
from toolmason_runtime.programs.execute import Command
from toolmason_runtime.programs.invocation import Invocation
from toolmason_runtime.programs.launcher_client import Limits
from toolmason_runtime.programs.sandbox import LIBRARIES
from toolmason_runtime.programs.search_path import is_too_wide
from toolmason_runtime.shared.specs.program import Risk
from toolmason_runtime.shared.specs.upstream import Upstream
from toolmason_runtime.transports.bearer_token import state_directory

_PROJECT_FILES: Final = ("package.json", "pyproject.toml")
"""Files at the top of a package, which a script below it needs."""
_MAX_PARENTS: Final = 6
_SCRIPTS: Final = frozenset({".js", ".mjs", ".cjs", ".ts", ".mts", ".py", ".pyz", ".rb", ".jar", ".sh", ".php", ".pl"})

_DENIED: Final = re.compile(
    r"EACCES|EPERM|EROFS|\[Errno (?:13|30)\]|os error 13|permission denied|operation not permitted"
    r"|read-only file system|unable to open database file",
    re.IGNORECASE | re.ASCII,
)
_MISSING: Final = re.compile(r"ENOENT|\[Errno 2\]|os error 2|no such file or directory", re.IGNORECASE | re.ASCII)
"""The errors for a hidden file in `bwrap`."""
_UNREACHABLE: Final = re.compile(
    r"EAI_AGAIN|ENOTFOUND|ENETUNREACH|network is unreachable|name resolution|\bconnect\b|\bdial tcp\b|urlopen",
    re.IGNORECASE | re.ASCII,
)
_NO_MEMORY: Final = re.compile(
    r"out of memory|MemoryError|ENOMEM|cannot allocate memory|std::bad_alloc", re.IGNORECASE | re.ASCII
)
_STARTS: Final = re.compile(r"\bspawn\b|\bexec(?:ve|vp)?\b|fork/exec|subprocess", re.ASCII)
_PATH: Final = re.compile(r"/[^\s'\"`:;,()<>\[\]]{1,200}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """The sandbox and the limits of the program of `upstream`.

    `home` is its own directory; `roots` are the paths for `{roots}`.
    """

    upstream: Upstream
    home: Path
    roots: tuple[str, ...] = ()

    def apply(self, command: Command, *, temp_dir: str, environ: Mapping[str, str]) -> Command:
        """Return the command with its limits and, if this machine has a sandbox, in it.

        `temp_dir` is the real path of its temporary directory, `environ` the server's environment, for `$VAR` in paths.
        """
        upstream = self.upstream
        command = replace(command, limits=Limits(memory_mb=upstream.memory_mb))
        if not isolation():
            return command
        home = make_home(self.home)
        invocation = Invocation(argv=command.argv, cwd=command.cwd, projects=self.roots)
        declared = resolve_access(
            upstream.permissions, Guarded(values={}), invocation, risk=Risk.WRITE, environ=environ
        )
        own = [*_packages(command), *([os.path.realpath(command.cwd)] if command.cwd else [])]
        access = replace(
            declared,
            reads=(*declared.reads, *own),
            writes=(*declared.writes, home, temp_dir),
            executes=(*declared.executes, *_system_programs(), *_installation(command), home),
        )
        # The manifest may pass the user's home on; caches stay in the program's own directory nevertheless.
        variables = {"npm_config_cache": f"{home}/.npm", "XDG_CACHE_HOME": f"{home}/.cache"}
        own_home = {} if {"HOME"} & {*upstream.env, *upstream.pass_env} else {"HOME": home}
        env = {**variables, **command.env, **own_home, "TMPDIR": temp_dir}
        return replace(command, env=env, access=access)


def home_directory(server: str, upstream: str) -> Path:
    """Return the directory of an upstream of a server, which may not exist yet."""
    return state_directory() / "toolmason" / "upstreams" / f"{server or 'server'}.{upstream}"


def make_home(path: Path) -> str:
    """Create the directory of an upstream, and return its real path."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return os.path.realpath(path)


def _system_programs() -> tuple[str, ...]:
    """Return the real paths of the system's directories, whose programs may be started: `npx` starts a shell."""
    return tuple(dict.fromkeys(os.path.realpath(path) for path in LIBRARIES if Path(path).is_dir()))


def _installation(command: Command) -> tuple[str, ...]:
    """Return the directories of the program's installation: `uvx` starts `uv`, and a version manager its programs."""
    executable = shutil.which(command.argv[0], path=command.env.get("PATH"))
    if not executable:
        return ()
    real = Path(os.path.realpath(executable))  # of `node_modules/.bin/notes`, a script in its package
    return (*installation(os.path.abspath(executable)), *([str(_package(real))] if is_script(real) else []))  # noqa: PTH100  links are kept


def _packages(command: Command) -> Iterable[str]:
    """Yield the packages of the paths on a command line: `node /opt/notes/build/index.js` needs `/opt/notes`."""
    for word in command.argv[1:]:
        path = Path(word) if os.path.isabs(word) else Path(command.cwd or os.curdir, word)  # noqa: PTH117  a text
        if is_script(path):
            yield str(_package(Path(os.path.realpath(path))))


def is_script(path: Path) -> bool:
    """Return whether a path of a command line is a file of source code."""
    try:
        return path.suffix in _SCRIPTS and path.is_file()
    except (OSError, ValueError):
        return False


def _package(script: Path) -> Path:
    """Return the directory of a script's package, else of the script; the script itself if that is too wide.

    The packages of Node that it uses are in the outermost `node_modules`.
    """
    if "node_modules" in script.parts:
        return Path(*script.parts[: script.parts.index("node_modules") + 1])
    if is_too_wide(script.parent):
        return script
    for directory in [script.parent, *script.parent.parents][:_MAX_PARENTS]:
        if is_too_wide(directory):
            break
        if any((directory / name).is_file() for name in _PROJECT_FILES):
            return directory
    return script.parent


def sandbox_advice(upstream: Upstream, output: str) -> str:
    """Return the key of the manifest that allows what `output` reports as denied, as a sentence; empty if nothing is.

    `output` is what the program wrote before it ended, or the text of an error.
    """
    if not upstream.command:
        return ""
    table = f"[upstreams.{upstream.name}]"
    if upstream.memory_mb and _NO_MEMORY.search(output):
        return f"Each of its processes has {upstream.memory_mb:,} MiB of memory: `memory_mb` of {table} sets the limit."
    if not (sandbox := isolation()):
        return ""
    denied = _DENIED.search(output) or (_MISSING.search(output) if sandbox == "bwrap" else None)
    if not upstream.permissions.network and _UNREACHABLE.search(output):
        return f"It runs in a sandbox without network: `network = true` in {table} allows it."
    if denied is None:
        return ""
    # The denied path is on the line of the error.
    line = output[output.rfind("\n", 0, denied.start()) + 1 :].partition("\n")[0]
    path = max(_PATH.findall(line), key=len, default="")
    keys = "`executes`" if _STARTS.search(line) else "`reads` or `writes`"
    if path:
        return f"It runs in a sandbox that does not allow {path}: if it needs that, add it to {keys} of {table}."
    return f"It runs in a sandbox: add the paths that it needs to {keys} of {table}."
