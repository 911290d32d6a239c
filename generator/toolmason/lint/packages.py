"""The packages that `npx`, `uvx`, `docker run` and similar programs download and start, and their versions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Final, Literal

from toolmason_runtime.shared.specs.pins import HASH_LENGTH, REVIEW_COMMAND, hash_in
from toolmason_runtime.shared.specs.upstream import Upstream

from toolmason.kinds.upstream.implementation import upstream_of
from toolmason.lint.finding import Finding, about_tool
from toolmason.model.server import Server
from toolmason.model.tool import Tool

if TYPE_CHECKING:
    from packaging.requirements import Requirement

Kind = Literal["npm", "python", "image", "deno", "go"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A package on a command line. `index` is its word, which contains `spec` at its end."""

    kind: Kind
    spec: str
    index: int

    @property
    def is_exact(self) -> bool:
        """Whether the word means one version; a local path, or a variable, counts as one."""
        if "$" in self.spec or self.spec.startswith((".", "/", "~", "file:")):
            return True
        requirement = _parse_requirement(self.spec) if self.kind == "python" else None
        if requirement and any(
            specifier.operator in {"==", "==="} and not specifier.version.endswith(".*")
            for specifier in requirement.specifier
        ):
            return True
        return any(pattern.search(self.spec) for pattern in _EXACT[self.kind])

    @property
    def example(self) -> str:
        """The form of the word with an exact version."""
        name = _name(self)
        if ":" in name and self.kind in {"npm", "python"}:  # a repository
            return f"{name}{'#' if self.kind == 'npm' else '@'}COMMIT"
        return {"npm": f"{name}@1.2.3", "python": f"{name}==1.2.3", "image": f"{name}@sha256:..."}.get(
            self.kind, f"{name}@{'v' if self.kind == 'go' else ''}1.2.3"
        )

    def with_version(self, version: str) -> str:
        """Return the specification with an exact version."""
        return f"{_name(self)}{'==' if self.kind == 'python' else '@'}{version}"

    @property
    def plain_name(self) -> str:
        """The package's name in its registry, without version and extras."""
        return re.sub(r"\[[^\[\]]*\]", "", _name(self))


_COMMIT: Final = re.compile(r"[#@][0-9a-f]{40}(?:\Z|#)")
_SEMVER: Final = re.compile(r"(?<!\A)@v?\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?\Z")
_EXACT: Final[dict[Kind, tuple[re.Pattern[str], ...]]] = {
    "npm": (_SEMVER, _COMMIT),
    "python": (
        re.compile(r"\A[\w.\-]+(?:\[[^\]]*\])?@v?\d[0-9A-Za-z.!+]*\Z"),
        re.compile(r"#(?:[^#]*&)?sha256=[0-9a-f]{64}"),
        _COMMIT,
    ),
    "image": (re.compile(r"@sha256:[0-9a-f]{64}\Z"),),
    "deno": (_SEMVER, re.compile(r"@v?\d+\.\d+\.\d[^@]*\Z")),
    "go": (re.compile(r"@v\d+\.\d+\.\d[^@]*\Z"), re.compile(r"@[0-9a-f]{12,40}\Z")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Runner:
    """A package runner. `names` are its options with a package as value, `values` those with another value.

    Where `flags` are given, all other options have a value, as in `docker run`.
    """

    kind: Kind
    names: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    flags: frozenset[str] | None = None


_NPX: Final = _Runner(
    kind="npm",
    names=frozenset({"-p", "--package"}),
    values=frozenset({"-c", "--call", "--registry", "--cache", "--userconfig", "-w", "--workspace", "--loglevel"}),
)
_UVX: Final = _Runner(
    kind="python",
    names=frozenset({"--from", "--with", "-w"}),
    values=frozenset(
        {
            *("--python", "-p", "--index", "--default-index", "--index-url", "-i", "--extra-index-url", "--find-links"),
            *("-f", "--index-strategy", "--with-requirements", "--with-editable", "--cache-dir", "--directory"),
            *("--env-file", "-c", "--constraints", "--prerelease", "--resolution", "--exclude-newer", "--color"),
            *("--link-mode", "--config-file", "--project", "--overrides", "--build-constraints", "-b"),
        }
    ),
)
_PIPX: Final = _Runner(
    kind="python",
    names=frozenset({"--spec", "--with"}),
    values=frozenset({"--python", "--pip-args", "--index-url", "-i", "--fetch-python"}),
)
_DOCKER: Final = _Runner(
    kind="image",
    flags=frozenset(
        {
            *("-i", "--interactive", "-t", "--tty", "-it", "-ti", "--rm", "--init", "-d", "--detach", "--privileged"),
            *("--read-only", "-P", "--publish-all", "--no-healthcheck", "--oom-kill-disable", "-q", "--quiet"),
            *("--sig-proxy", "--disable-content-trust", "--help"),
        }
    ),
)
_DENO: Final = _Runner(kind="deno", values=frozenset({"-c", "--config", "--import-map", "-L", "--log-level", "--cert"}))
_GO: Final = _Runner(kind="go", values=frozenset({"-exec", "-tags", "-mod", "-C", "-ldflags"}))
_RUNNERS: Final[dict[tuple[str, ...], _Runner]] = {
    ("npx",): _NPX,
    ("npm", "exec"): _NPX,
    ("npm", "x"): _NPX,
    ("pnpx",): _NPX,
    ("pnpm", "dlx"): _NPX,
    ("yarn", "dlx"): _NPX,
    ("bunx",): _NPX,
    ("bun", "x"): _NPX,
    ("uvx",): _UVX,
    ("uv", "tool", "run"): _UVX,
    ("pipx", "run"): _PIPX,
    ("docker", "run"): _DOCKER,
    ("docker", "container", "run"): _DOCKER,
    ("podman", "run"): _DOCKER,
    ("podman", "container", "run"): _DOCKER,
    ("nerdctl", "run"): _DOCKER,
    ("deno", "run"): _DENO,
    ("deno", "x"): _DENO,
    ("go", "run"): _GO,
}


def check_package_versions(server: Server) -> Iterator[Finding]:
    """TM531: without an exact version, each start of an upstream may run code that nobody has looked at."""
    for tool, upstream in _first_tools(server):
        for package in packages(upstream.command):
            if not package.is_exact:
                yield Finding(
                    code="TM531",
                    tool=tool.name,
                    message=f"`{upstream.name}` starts any version of `{package.plain_name}`",
                    hint=f"write the exact version, such as `{package.example}`",
                    at=("upstreams", upstream.name, "command", package.index),
                    value=True,
                )


def check_tool_hashes(server: Server) -> Iterator[Finding]:
    """TM532: without a hash, a changed tool of an upstream is not noticed."""
    for tool in server.tools:
        if (found := upstream_of(tool)) is None:
            continue
        if len(pin := hash_in(found.tool.upstream.pins.get(found.tool.original, ""))) < HASH_LENGTH:
            problem = f"has only {len(pin)} digits in its `upstream_hash`" if pin else "has no `upstream_hash`"
            message = f"`{tool.name}` {problem}, so a change of the upstream's tool may not be noticed"
            hint = f"compare the tool, then run `{REVIEW_COMMAND} --approve {tool.name}`"
            yield about_tool(tool, "TM532", message, hint, *(["upstream_hash"] if pin else []), value=bool(pin))


def _first_tools(server: Server) -> Iterator[tuple[Tool, Upstream]]:
    """Yield the first tool of each upstream, and the upstream."""
    seen: set[str] = set()
    for tool in server.tools:
        found = upstream_of(tool)
        if found and (upstream := found.tool.upstream).name not in seen:
            seen.add(upstream.name)
            yield tool, upstream


def packages(command: Sequence[str]) -> Iterator[Package]:
    """Yield the packages that a command line downloads and starts; none if it uses no known package runner."""
    start = _wrapper_length(command)
    words = [_program(command[start]) if start < len(command) else "", *command[start + 1 :]]
    for names, runner in _RUNNERS.items():
        # Options such as `--silent` may precede the subcommand.
        position = _subcommand_end(words, names)
        if position:
            for package in _packages_of(runner, command, start + position):
                if not (package.kind == "deno" and not package.spec.startswith(("npm:", "jsr:", "http"))):
                    yield package
            return


def _packages_of(runner: _Runner, command: Sequence[str], start: int) -> Iterator[Package]:
    """Yield the packages among the options, and the first argument if no option names its package."""
    is_named = False
    index = start
    while index < len(command):
        word = command[index]
        option, equals, value = word.partition("=")
        if word == "--":
            index += 1
            break
        if not word.startswith("-"):
            break
        if option in runner.names:
            index += 0 if equals else 1
            spec = value if equals else command[index] if index < len(command) else ""
            yield Package(kind=runner.kind, spec=spec, index=index)
            is_named = is_named or option not in {"--with", "-w"}
        elif not equals and (option in runner.values or (runner.flags is not None and option not in runner.flags)):
            index += 1
        index += 1
    if not is_named and index < len(command):
        yield Package(kind=runner.kind, spec=command[index], index=index)


def _wrapper_length(command: Sequence[str]) -> int:
    """Return the number of words before the package runner: `env NAME=value` or `cmd /c`."""
    name = _program(command[0]) if command else ""
    if name == "cmd" and len(command) > 1 and command[1].lower() == "/c":
        return 2
    if name == "env":
        return 1 + next((index for index, word in enumerate(command[1:]) if not re.match(r"-|\w+=", word)), 0)
    return 0


def _subcommand_end(words: Sequence[str], names: tuple[str, ...]) -> int:
    """Return the number of words up to the end of a subcommand; 0 if the command line is another one."""
    if words[0] != names[0]:
        return 0
    index = 0
    for name in names[1:]:
        index += 1
        while index < len(words) and words[index].startswith("-"):
            index += 1
        if index >= len(words) or words[index] != name:
            return 0
    return index + 1


def _program(word: str) -> str:
    """Return the name of a program without directory and the extension of Windows."""
    name = PureWindowsPath(word).name if "\\" in word else PurePosixPath(word).name
    return re.sub(r"(?i)\.(?:cmd|exe|bat|ps1)\Z", "", name)


def _parse_requirement(spec: str) -> Requirement | None:
    # Imported here, with `packaging`: few manifests name a package of Python.
    from toolmason.model.requirements import parse_requirement

    return parse_requirement(spec)


def _name(package: Package) -> str:
    """Return the part of a specification before its version."""
    spec = package.spec
    if package.kind == "python":
        if requirement := _parse_requirement(spec):
            extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
            return f"{requirement.name}{extras}"
        return re.split("[=<>!~;@]", spec, maxsplit=1)[0].rstrip()
    if package.kind == "image":
        head, slash, last = spec.partition("@")[0].rpartition("/")
        return f"{head}{slash}{last.partition(':')[0]}"
    prefix, rest = (spec[:4], spec[4:]) if package.kind == "deno" and spec[:4] in {"npm:", "jsr:"} else ("", spec)
    at = rest.find("@", 1)
    return prefix + (rest if at < 0 else rest[:at])
