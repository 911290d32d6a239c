"""Create a new project that generates, serves and passes its own tests."""

from __future__ import annotations

import keyword
import re
import shutil
import sys
import tempfile
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution, packages_distributions
from pathlib import Path
from typing import Final

from toolmason.model.requirements import is_required_by, normal_extras, normal_name, parse_requirement
from toolmason.project import Project
from toolmason.render.environment import make_environment
from toolmason.scaffold import install_source
from toolmason.scaffold.publishing import NOTHING, Publishing
from toolmason.write import LOCK
from toolmason.write.cache import record_path
from toolmason.write.content_cache import content_cache_path

LAYOUT: Final[Mapping[str, str]] = {
    "README.md": "README.md.jinja",
    "pyproject.toml": "pyproject.toml.jinja",
    "noxfile.py": "noxfile.py.jinja",
    ".gitattributes": "gitattributes.jinja",
    ".gitignore": "gitignore.jinja",
    "manifest/{server}.toml": "manifest.toml.jinja",
    "handlers/{handlers}/__init__.py": "handlers_init.py.jinja",
    "handlers/{handlers}/py.typed": "",
    "handlers/{handlers}/text.py": "handlers_text.py.jinja",
    "requirements/tools.txt": "tools.txt.jinja",
    "templates/README.md": "templates_README.md.jinja",
    "tests/test_server.py": "test_server.py.jinja",
}
"""Path in a new project -> template below `init/`; empty for an empty file."""

MAX_NAME_LENGTH = 32
"""Maximum characters of a server's name, which is a prefix of its tool names in clients."""

OWN_PACKAGES: Final = frozenset(
    {
        "toolmason",
        "toolmason_runtime",
        "toolmason_templates",
        "workbench_handlers",
        "workbench_research",
        "workbench_server",
    }
)
"""Packages in the wheel of toolmason, which an editable installation does not list."""
DEVELOPMENT_PACKAGES: Final = frozenset({"hatchling", "mypy", "nox", "pip", "pytest"})
"""Distributions that build, test and check a new project."""
EXTRAS: Final = (
    "apis",
    "cli",
    "code",
    "duckdb",
    "graphql",
    "http",
    "jq",
    "mysql",
    "postgresql",
    "research",
    "research-bedrock",
    "semantic",
    "sql",
    "telemetry",
    "toolkit",
    "workbench",
)
"""Extras of toolmason."""

_IGNORED = frozenset({".git"})
"""Entries of a directory that counts as empty."""


class InitError(Exception):
    """The project cannot be created. Nothing was written."""


class DirectoryNotEmptyError(InitError):
    """The directory of the new project is not empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectNames:
    """Names of a new project: the server, its title, the generated package and the package of handlers."""

    server: str
    title: str
    package: str
    handlers: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservedNames:
    """Names that a new project cannot use: normalized distributions, commands, modules."""

    distributions: frozenset[str]
    commands: frozenset[str]
    modules: frozenset[str]

    def allow_module(self, name: str) -> bool:
        """Return whether a new package may have this name."""
        is_ours = name.startswith("toolmason")
        return not (is_ours or name in self.modules or name in sys.stdlib_module_names or keyword.iskeyword(name))


def project_names(text: str) -> ProjectNames:
    """Return the names of a project for any `text`.

    `My Server` becomes the server `my-server`, the package `my_server` and the handlers `my_tools`; `notes` becomes
    `notes`, `notes_server` and `notes`. Accents are removed; other characters separate words.

    Raises:
        InitError: `text` has letters outside ASCII, does not start with a letter, is too long, or is reserved.
    """
    server = _server_name(text)
    base = server.replace("-", "_")
    stem = base.removesuffix("_server")
    reserved = reserved_names()
    package = f"{stem}_server"
    handlers = base if base == stem and reserved.allow_module(base) else f"{stem}_tools"
    modules = (package, handlers)
    if server in reserved.distributions | reserved.commands or not all(
        reserved.allow_module(module) for module in modules
    ):
        raise InitError(
            f"`{server}` is reserved: toolmason, a dependency, or one of their commands or modules has that name; "
            "choose another with --name"
        )
    title = server.replace("-", " ").capitalize()
    return ProjectNames(server=server, title=title, package=package, handlers=handlers)


def _server_name(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text).lower()
    plain = "".join(char for char in letters if not unicodedata.combining(char))
    server = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    if not re.match("[a-z]", server) or any(char.isalnum() and not char.isascii() for char in plain):
        raise InitError(
            f"`{text}` cannot name a server: use ASCII letters and digits, starting with a letter; "
            "choose another name with --name"
        )
    if len(server) > MAX_NAME_LENGTH:
        raise InitError(
            f"`{server}` is too long: clients put it before each tool's name and accept 64 characters in total; "
            f"choose a name of at most {MAX_NAME_LENGTH} with --name"
        )
    return server


@cache
def reserved_names() -> ReservedNames:
    """Return the names of toolmason, the dependencies of a new project, and their commands and modules.

    Dependencies that are not installed contribute only their own names.
    """
    required = _requirements()
    layout_modules = (Path(path).stem for path in LAYOUT if path.endswith(".py") and not path.startswith("handlers/"))
    scripts = (package.entry_points.select(group="console_scripts") for package in required.values() if package)
    modules = (
        module
        for module, owners in packages_distributions().items()
        if not required.keys().isdisjoint(map(normal_name, owners))
    )
    return ReservedNames(
        distributions=frozenset(required),
        commands=frozenset(script.name for group in scripts for script in group),
        modules=OWN_PACKAGES.union(modules, layout_modules),
    )


def _requirements() -> dict[str, Distribution | None]:
    """Return the transitive dependencies of a new project by normalized name; None if not installed."""
    required: dict[str, Distribution | None] = {}
    pending = [("toolmason", extra) for extra in ("", *EXTRAS)] + [(name, "") for name in DEVELOPMENT_PACKAGES]
    seen = set[tuple[str, str]]()
    while pending:
        requirement = name, extra = pending.pop()
        if requirement in seen:
            continue
        seen.add(requirement)
        try:
            required[name] = installed = distribution(name)
        except PackageNotFoundError:
            required[name] = None
        else:
            pending += _dependencies(installed, extra)
    return required


def _dependencies(installed: Distribution, extra: str) -> Iterator[tuple[str, str]]:
    """Yield name and extra of each requirement of a distribution with an extra, for all systems."""
    for text in installed.requires or ():
        if (requirement := parse_requirement(text)) and is_required_by(requirement, extra):
            name = normal_name(requirement.name)
            yield from ((name, selected) for selected in ("", *normal_extras(requirement)))


def lay_out(names: ProjectNames, publishing: Publishing = NOTHING) -> dict[str, str]:
    """Return path -> text of the files of a new project, without the generated ones."""
    environment = make_environment()
    paths = {"server": names.server, "handlers": names.handlers}
    variables = {"names": names, "origin": install_source, "publishing": publishing}
    return {
        path.format(**paths): environment.get_template(f"init/{template}").render(variables) if template else ""
        for path, template in {**LAYOUT, **publishing.layout}.items()
    }


def init(
    directory: Path,
    names: ProjectNames,
    *,
    publishing: Publishing = NOTHING,
    generate: Callable[[Project], None],
) -> Project:
    """Create a project in `directory`, which may not exist, and run `generate` for it.

    The project is built in a temporary directory, so a failure leaves `directory` unchanged.

    Raises:
        DirectoryNotEmptyError: `directory` is not empty.
        InitError: `directory` is a file, or cannot be written.
    """
    require_empty(directory)
    with tempfile.TemporaryDirectory(prefix="toolmason-init-") as staging:
        # A subdirectory: the temporary directory itself is private, and the copy would keep its mode.
        root = Path(staging).resolve() / "project"
        for path, text in lay_out(names, publishing).items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="\n")
        staged = Project(root, root / "manifest" / f"{names.server}.toml")
        generate(staged)
        # The staging directory is deleted, and so are its files in the cache.
        for cached in filter(None, (record_path(staged), content_cache_path(staged))):
            cached.unlink(missing_ok=True)
        require_empty(directory)
        try:
            shutil.copytree(root, directory, dirs_exist_ok=True, ignore=shutil.ignore_patterns(LOCK))
        except OSError as error:
            raise InitError(f"{directory} cannot be written: {error.strerror or error}") from error
    home = directory.resolve()
    return Project(home, home / "manifest" / f"{names.server}.toml")


def require_empty(directory: Path) -> None:
    """Check that a project can be created in `directory`.

    Raises:
        DirectoryNotEmptyError: it is not empty.
        InitError: it is a file or a broken link.
    """
    if directory.is_symlink() and not directory.exists():
        raise InitError(f"{directory} is a broken link")
    if directory.exists() and not directory.is_dir():
        raise InitError(f"{directory} is a file")
    names = sorted(path.name for path in directory.iterdir()) if directory.exists() else []
    names = [name for name in names if name not in _IGNORED]
    if names:
        listing = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        raise DirectoryNotEmptyError(f"{directory} is not empty: it contains {listing}; nothing was written")
