"""A new project, laid out as this one is: it generates, serves and passes its own tests at once."""

from __future__ import annotations

import keyword
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolwright import origin
from toolwright.project import Project
from toolwright.render import make_environment

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

LONGEST_NAME = 32
"""Characters of a server's name that leave room for those of its tools."""

_TAKEN = frozenset(
    {"mcp", "pydantic", "jsonschema", "snowballstemmer", "toolwright", "toolwright_runtime", "toolwright_templates"}
)
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


def project_names(wanted: str) -> ProjectNames:
    """Make the names of a project called `wanted`, any text.

    `My Server` gives the server `my-server`, the package `my_server` and the handlers `my_tools`;
    `notes` gives `notes`, `notes_server` and `notes`.

    Raises:
        InitError: nothing in `wanted` can start a name, or it is too long.
    """
    server = re.sub(r"[^a-z0-9]+", "-", wanted.lower()).strip("-")
    if not re.match("[a-z]", server):
        raise InitError(
            f"`{wanted}` cannot name a server: it needs ASCII letters or digits, a letter first; "
            "say another name with --name"
        )
    if len(server) > LONGEST_NAME:
        raise InitError(
            f"`{server}` is too long for a server: clients put it before each tool's name and take 64 characters "
            f"in all; say one of at most {LONGEST_NAME} with --name"
        )
    base = server.replace("-", "_")
    stem = base.removesuffix("_server")
    own = base == stem and not _is_taken(base)
    return ProjectNames(
        server=server,
        title=server.replace("-", " ").capitalize(),
        package=f"{stem}_server",
        handlers=base if own else f"{stem}_tools",
    )


def _is_taken(name: str) -> bool:
    return name in sys.stdlib_module_names or name in _TAKEN or keyword.iskeyword(name)


def lay_out(names: ProjectNames) -> dict[str, str]:
    """Give the files of a new project as text by path, without what is generated."""
    environment = make_environment()
    paths = {"server": names.server, "handlers": names.handlers}
    return {
        place.format(**paths): environment.get_template(f"init/{template}").render(names=names, origin=origin)
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
    with tempfile.TemporaryDirectory(prefix="toolwright-init-") as staging:
        # Not the temporary folder itself: only its owner may enter that, and the copy would take this over.
        root = Path(staging).resolve() / "project"
        for path, text in lay_out(names).items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="\n")
        generate(Project(root, root / "manifest" / f"{names.server}.toml"))
        _require_empty(folder)
        shutil.copytree(root, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".toolwright"))
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
