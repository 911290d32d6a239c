"""The files of a typed client, for a manifest and for any server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from toolmason.render.typed_clients.tools import TypedClient

Language = Literal["python", "typescript"]
LANGUAGES: Final[tuple[Language, ...]] = ("python", "typescript")
DIRECTORY: Final = "typed-clients"
"""Directory below `generated/`."""
TEMPLATES: Final = "typed_clients"

_FILES: Final[Mapping[Language, Mapping[str, str]]] = {
    "python": {
        "pyproject.toml": "pyproject.toml",
        "{package}/__init__.py": "init.py",
        "{package}/_connection.py": "connection.py",
        "{package}/client.py": "client.py",
        "{package}/errors.py": "errors.py",
        "{package}/params.py": "params.py",
        "{package}/py.typed": "py.typed",
        "{package}/results.py": "results.py",
    },
    "typescript": {
        "package.json": "package.json",
        "tsconfig.json": "tsconfig.json",
        **{
            f"src/{name}.ts": f"{name}.ts"
            for name in ("client", "connection", "errors", "index", "params", "results", "schemas")
        },
    },
}
"""Path in the directory of a language -> template."""


def client_files(languages: Iterable[Language], package: str) -> Iterator[tuple[PurePosixPath, str]]:
    """Yield the path of each file, with the directory of its language, and its template."""
    for language in languages:
        for path, template in _FILES[language].items():
            name = f"{TEMPLATES}/{language}/{template}.jinja"
            yield PurePosixPath(language, path.format(package=package)), name


def client_variables(client: TypedClient) -> dict[str, Any]:
    """Return the variables of the templates."""
    # Imported here: most servers have no typed client, but `plan` needs the names of its files.
    from toolmason.render.typed_clients.python_source import python_client
    from toolmason.render.typed_clients.typescript_source import typescript_client

    return {"client": client, "python": python_client(client), "typescript": typescript_client(client)}
