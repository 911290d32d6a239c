"""Choose the files of a question: `paths`, `@path` in the question, or the whole project; and name what is left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final

from toolmason_runtime import ToolError

from workbench_handlers.workspace.ignore import ALWAYS_IGNORED, IgnoreCheck, IgnoreRules, rules_above
from workbench_handlers.workspace.open import entries_of, existing, open_directory, open_subdirectory
from workbench_handlers.workspace.packages import NotInstalledError
from workbench_handlers.workspace.probe import is_directory
from workbench_handlers.workspace.roots import Located, RefusedPathError, Root
from workbench_handlers.workspace.scan import Scan
from workbench_handlers.workspace.walk import MAX_DEPTH, kind_of
from workbench_research.analysis.scope import Scope, parse_scope
from workbench_research.context.references import find_references
from workbench_research.file_list import EXCLUDED_DIRECTORIES, readable

MAX_FILES: Final = 50_000
"""Maximum files of one question, before their contents are read."""
MAX_IGNORED: Final = 1_000
"""Maximum ignored files and directories that are named."""

SECRET_NAMES: Final = (
    *(".env", ".env.*", "*.env", ".envrc", ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".htpasswd"),
    *(".git-credentials", ".dockercfg", ".dockerconfigjson", ".s3cfg", ".boto", ".vault-token", "kubeconfig"),
    *(
        "*.pem",
        "*.key",
        "*.p8",
        "*.p12",
        "*.pfx",
        "*.pkcs12",
        "*.jks",
        "*.keystore",
        "*.kdbx",
        "*.ppk",
        "*.asc",
        "*.gpg",
    ),
    *("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "*.ovpn", "*.tfstate", "*.tfstate.backup", "*.tfvars"),
    *("credentials", "credentials.json", "client_secret*.json", "service[-_]account*.json", "*serviceaccount*.json"),
    *("secrets.json", "secrets.toml", "secrets.yaml", "secrets.yml", "*.secrets", "master.key", "credentials.yml.enc"),
)
"""Globs of lower-case names of files whose content is secrets: nearly every line is one, so no part is sent."""
EXAMPLE_NAMES: Final = (
    "*.example",
    "*.sample",
    "*.template",
    "*.dist",
    "*.defaults",
    "*.tmpl",
    "example.env",
    "sample.env",
)
"""Globs of lower-case names of files that show the form of such a file. Their lines are checked as all others are."""

_WILDCARDS: Final = re.compile(r"[*?\[{]")

SECRET_REASON: Final = "files of this name contain secrets"  # noqa: S105  a sentence
IGNORED_REASON: Final = "ignored by .gitignore, or part of version control, of an installed package or of a build"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file or directory that is not sent; directories end with a slash. `reason` is a phrase for the caller."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """The files of a question, each once, in the order of their paths, and what was left out by name.

    `are_named` is false if the question is about the whole project. `warnings` have no names of files.
    """

    files: tuple[Located, ...]
    left_out: tuple[LeftOut, ...] = ()
    are_named: bool = False
    warnings: tuple[str, ...] = ()


def choose(
    root: Root, scan: Scan, *, paths: Sequence[str] = (), question: str = "", exclude: Sequence[str] = ()
) -> Chosen:
    """Choose the files of a question. It blocks.

    `paths` are files, directories and globs; without any, the `@path` references of the question; without these, the
    whole project. Files and directories in `paths` are sent even if an ignore rule excludes them. References are not,
    since questions are often pasted. Links are followed only if a path names them, and only inside of `root`.

    Raises:
        ToolError: PATH_NOT_ALLOWED for paths outside `root`, INVALID_ARGUMENT for missing paths and invalid globs.
        ScanStoppedError: the call was cancelled.
    """
    choice = _Choice(root, scan, parse_scope(root.path, exclude=exclude))
    references = find_references(question, root) if question else ()
    for path in paths:
        choice.add_path(path)
    for reference in references:
        choice.add(reference.located, is_directory=reference.is_directory, obeys_rules=True)
    if not paths and not references:
        choice.add(Located(root, (), "."), is_directory=True)
    files = tuple(file for _, file in sorted(choice.files.items()))
    if len(files) > MAX_FILES:
        choice.warnings.append(f"only the first {MAX_FILES:,} of {len(files):,} files are considered: narrow `paths`")
    if choice.ignored > MAX_IGNORED:
        choice.warnings.append(f"{choice.ignored:,} entries are ignored; the first {MAX_IGNORED:,} are named")
    left_out = tuple(LeftOut(path, reason) for path, reason in sorted(choice.left_out.items()))
    return Chosen(files[:MAX_FILES], left_out, bool(paths or references), tuple(choice.warnings))


def is_secret_name(name: str) -> bool:
    """Return whether a file of this name contains secrets: `.env`, `server.pem`, but not `.env.example`."""
    name = name.casefold()
    return any(fnmatchcase(name, glob) for glob in SECRET_NAMES) and not any(
        fnmatchcase(name, glob) for glob in EXAMPLE_NAMES
    )


def shown(located: Located) -> str:
    """Return the path from the root with forward slashes, as valid UTF-8."""
    return readable("/".join(located.parts)) or "."


@dataclass(slots=True)
class _Choice:
    root: Root
    scan: Scan
    exclude: Scope
    files: dict[tuple[str, ...], Located] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    matched: int = 0
    ignored: int = 0
    _ignore: IgnoreCheck | None = None

    def add_path(self, path: str) -> None:
        """Add the files of an item of `paths`."""
        try:
            located = existing(path, (self.root,))
        except RefusedPathError:
            raise
        except ToolError as error:
            if not _WILDCARDS.search(path):
                raise ToolError(error.message, code="INVALID_ARGUMENT", details={"path": path}) from None
            self._add_glob(path)
            return
        self.add(located, is_directory=is_directory(located.path))

    def _add_glob(self, glob: str) -> None:
        scope = parse_scope(self.root.path, include=(glob,))
        before = self.matched
        self._walk(Located(self.root, (), "."), scope)
        if self.matched == before:
            self.warnings.append(f"no file matches `{readable(glob)}`; ignored files are not searched")

    def add(self, located: Located, *, is_directory: bool, obeys_rules: bool = False) -> None:
        """Add a file, or the files of a directory."""
        if ".git" in located.parts or (obeys_rules and self._is_ignored(located, is_directory=is_directory)):
            self.left_out[shown(located) + "/" * is_directory] = IGNORED_REASON
        elif is_directory:
            self._walk(located, Scope())
        else:
            self._add_file(located)

    def _add_file(self, located: Located) -> None:
        self.matched += 1
        if is_secret_name(located.parts[-1]):
            self.left_out[shown(located)] = SECRET_REASON
        elif self.exclude.covers("/".join(located.parts)):
            self.files[located.parts] = located

    def _is_ignored(self, located: Located, *, is_directory: bool) -> bool:
        if not located.parts:
            return False
        if not ALWAYS_IGNORED.isdisjoint(located.parts):
            return True
        self._ignore = self._ignore or IgnoreCheck(Located(self.root, (), "."))
        try:
            return self._ignore.ignores_file((*located.parts, "any name") if is_directory else located.parts)
        except NotInstalledError:
            return False

    def _walk(self, top: Located, scope: Scope) -> None:
        rules = rules_above(top)
        with open_directory(top) as descriptor:
            self._walk_directory(top, descriptor, rules.entering(top, descriptor), scope, 1)
        if self.scan.is_over:
            self.warnings.append("the time limit of one scan was reached: some files are not considered")

    def _walk_directory(
        self, directory: Located, descriptor: int, rules: IgnoreRules, scope: Scope, depth: int
    ) -> None:
        for entry in entries_of(directory, descriptor):
            self.scan.step()
            if self.scan.is_over:
                return
            kind, located = kind_of(entry), directory.child(entry.name)
            if self._is_excluded(located, rules, is_directory=kind == "directory", is_named=scope.is_whole):
                continue
            if kind == "directory":
                self._walk_subdirectory(located, descriptor, rules, scope, depth)
            elif scope.covers("/".join(located.parts)):
                if kind == "file":
                    self._add_file(located)
                elif kind == "link":
                    self.left_out[shown(located)] = "a symbolic link, which is not followed"

    def _walk_subdirectory(self, located: Located, parent: int, rules: IgnoreRules, scope: Scope, depth: int) -> None:
        if depth >= MAX_DEPTH:
            self.left_out[f"{shown(located)}/"] = f"deeper than {MAX_DEPTH} levels"
            return
        try:
            with open_subdirectory(located, parent) as descriptor:
                self._walk_directory(located, descriptor, rules.entering(located, descriptor), scope, depth + 1)
        except ToolError:  # no permission, deleted, or replaced by a link
            self.left_out[f"{shown(located)}/"] = "cannot be read"

    def _is_excluded(self, located: Located, rules: IgnoreRules, *, is_directory: bool, is_named: bool) -> bool:
        """Return whether a rule excludes an entry. With `is_named`, it is added to those that were left out."""
        name = located.parts[-1]
        is_output = is_directory and name in EXCLUDED_DIRECTORIES
        if not is_output and not rules.ignores(located.parts, is_directory=is_directory):
            return False
        if is_named and name not in ALWAYS_IGNORED:
            self.ignored += 1
            if self.ignored <= MAX_IGNORED:
                self.left_out[shown(located) + "/" * is_directory] = IGNORED_REASON
        return True
