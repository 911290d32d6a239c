"""A new project, laid out as this one is: it generates, serves and passes its own tests at once."""

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

from toolmason.project import Project
from toolmason.render.environment import make_environment
from toolmason.scaffold import install_source
from toolmason.write import LOCK
from toolmason.write.cache import record_path

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
    "templates/README.md": "templates_README.md.jinja",
    "tests/test_server.py": "test_server.py.jinja",
}
"""What a project starts with, and the template of each file below `init/`; none for an empty file."""

MAX_NAME_LENGTH = 32
"""Characters of a server's name that leave room for those of its tools."""

OWN_MODULES: Final = frozenset(
    {"toolmason", "toolmason_runtime", "toolmason_templates", "workbench_handlers", "workbench_server"}
)
"""What the wheel of toolmason holds; an editable installation does not tell."""
INSTALLED_BESIDE: Final = frozenset({"hatchling", "mypy", "nox", "pip", "pytest"})
"""Distributions that a new project is built, tested and checked with."""
EXTRAS: Final = ("toolkit", "workbench")
"""Those of toolmason."""

_REQUIREMENT: Final = re.compile(r"([\w.-]+)\s*(?:\[([^]]*)\])?(?:[^;]*;.*\bextra\s*==\W*([\w.-]+))?")
"""A requirement of a distribution (PEP 508): its name, its extras, and the extra with which alone it is required."""

_IGNORED = frozenset({".git"})
"""What may stand in a folder that counts as empty: `git init` first is as good an order."""


class InitError(Exception):
    """The project cannot be laid out as asked. Nothing was written."""


class NotEmpty(InitError):  # noqa: N818 - says what is the case, as FileExistsError does
    """There is something where the project would go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectNames:
    """The names of a new project: of the server, its title, the generated package and the hand-written one."""

    server: str
    title: str
    package: str
    handlers: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenNames:
    """Names of what every server comes with: distributions as pip compares them, commands, modules."""

    distributions: frozenset[str]
    commands: frozenset[str]
    modules: frozenset[str]

    def allow_module(self, name: str) -> bool:
        """Tell whether a new package may have this name."""
        return not (name in self.modules or name in sys.stdlib_module_names or keyword.iskeyword(name))


def project_names(wanted: str) -> ProjectNames:
    """Make the names of a project called `wanted`, any text.

    `My Server` gives the server `my-server`, the package `my_server` and the handlers `my_tools`;
    `notes` gives `notes`, `notes_server` and `notes`. Letters lose their accents; other characters separate words.

    Raises:
        InitError: `wanted` has letters that are not ASCII, or cannot start a name; or it is too long, or the name of
            something that every server comes with.
    """
    server = _server_name(wanted)
    base = server.replace("-", "_")
    stem = base.removesuffix("_server")
    taken = taken_names()
    package = f"{stem}_server"
    handlers = base if base == stem and taken.allow_module(base) else f"{stem}_tools"
    modules = (package, handlers)
    if server in taken.distributions | taken.commands or not all(taken.allow_module(each) for each in modules):
        raise InitError(
            f"`{server}` is taken by what every server comes with: toolmason, what that needs, or their commands "
            "and modules; say another name with --name"
        )
    title = server.replace("-", " ").capitalize()
    return ProjectNames(server=server, title=title, package=package, handlers=handlers)


def _server_name(wanted: str) -> str:
    letters = unicodedata.normalize("NFKD", wanted).lower()
    plain = "".join(each for each in letters if not unicodedata.combining(each))
    server = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    if not re.match("[a-z]", server) or any(each.isalnum() and not each.isascii() for each in plain):
        raise InitError(
            f"`{wanted}` cannot name a server: it needs ASCII letters or digits, a letter first; "
            "say another name with --name"
        )
    if len(server) > MAX_NAME_LENGTH:
        raise InitError(
            f"`{server}` is too long for a server: clients put it before each tool's name and take 64 characters "
            f"in all; say one of at most {MAX_NAME_LENGTH} with --name"
        )
    return server


@cache
def taken_names() -> TakenNames:
    """Give the names of toolmason, of all that it and a new project need, and of their commands and modules.

    Of what is required but not installed here, only the name is known.
    """
    found = _requirements()
    laid_out = (Path(place).stem for place in LAYOUT if place.endswith(".py") and not place.startswith("handlers/"))
    scripts = (each.entry_points.select(group="console_scripts") for each in found.values() if each)
    modules = (
        module
        for module, owners in packages_distributions().items()
        if not found.keys().isdisjoint(_normal(owner) for owner in owners)
    )
    return TakenNames(
        distributions=frozenset(found),
        commands=frozenset(script.name for group in scripts for script in group),
        modules=OWN_MODULES.union(modules, laid_out),
    )


def _requirements() -> dict[str, Distribution | None]:
    """Follow what is required, from toolmason on, by normal name; None for what is not installed here."""
    found: dict[str, Distribution | None] = {}
    pending = [("toolmason", each) for each in ("", *EXTRAS)] + [(name, "") for name in INSTALLED_BESIDE]
    seen = set[tuple[str, str]]()
    while pending:
        wanted = name, extra = pending.pop()
        if wanted in seen:
            continue
        seen.add(wanted)
        try:
            found[name] = known = distribution(name)
        except PackageNotFoundError:
            found[name] = None
        else:
            pending += _required(known, extra)
    return found


def _required(known: Distribution, extra: str) -> Iterator[tuple[str, str]]:
    """Give what a distribution with one of its extras requires on any system: each name without, and with an extra."""
    for requirement in known.requires or ():
        if (parts := _REQUIREMENT.match(requirement)) and (parts[3] or "") == extra:
            yield _normal(parts[1]), ""
            yield from ((_normal(parts[1]), each.strip()) for each in (parts[2] or "").split(",") if each)


def _normal(name: str) -> str:
    """Give the name of a distribution as pip compares it.

    https://packaging.python.org/en/latest/specifications/name-normalization/
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def lay_out(names: ProjectNames) -> dict[str, str]:
    """Give the files of a new project as text by path, without what is generated."""
    environment = make_environment()
    paths = {"server": names.server, "handlers": names.handlers}
    return {
        place.format(**paths): environment.get_template(f"init/{template}").render(names=names, origin=install_source)
        if template
        else ""
        for place, template in LAYOUT.items()
    }


def init(folder: Path, names: ProjectNames, *, generate: Callable[[Project], None]) -> Project:
    """Lay out a project in `folder`, which is made if need be, and have `generate` fill its `generated/`.

    All is made elsewhere first, so a failure leaves `folder` as it was.

    Raises:
        NotEmpty: `folder` holds something.
        InitError: `folder` is a file.
    """
    _require_empty(folder)
    with tempfile.TemporaryDirectory(prefix="toolmason-init-") as staging:
        # Not the temporary folder itself: only its owner may enter that, and the copy would take this over.
        root = Path(staging).resolve() / "project"
        for path, text in lay_out(names).items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="\n")
        staged = Project(root, root / "manifest" / f"{names.server}.toml")
        generate(staged)
        # Nothing is to be remembered of a folder that goes away.
        if record := record_path(staged):
            record.unlink(missing_ok=True)
        _require_empty(folder)
        shutil.copytree(root, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(LOCK))
    home = folder.resolve()
    return Project(home, home / "manifest" / f"{names.server}.toml")


def _require_empty(folder: Path) -> None:
    if folder.is_symlink() and not folder.exists():
        raise InitError(f"{folder} is a link that leads nowhere")
    if folder.exists() and not folder.is_dir():
        raise InitError(f"{folder} is a file")
    held = sorted(path.name for path in folder.iterdir() if path.name not in _IGNORED) if folder.exists() else []
    if held:
        shown = ", ".join(held[:3]) + (f" and {len(held) - 3} more" if len(held) > 3 else "")
        raise NotEmpty(f"{folder} is not empty: it holds {shown}; nothing was written")
