"""Render the files of a typed client of any server."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from jinja2 import Environment

from toolmason.model.checksum import checksum_file
from toolmason.model.rendered_file import RenderedFile
from toolmason.render.environment import make_environment
from toolmason.render.renderer import finish
from toolmason.render.typed_clients.files import Language, client_files, client_variables
from toolmason.render.typed_clients.tools import TypedClient


def render_client(client: TypedClient, languages: Iterable[Language]) -> tuple[RenderedFile, ...]:
    """Return the signed files of a client, with the hashes of those that cannot carry one.

    Raises:
        SyntaxError: a file is invalid Python; the message has the file and the position.
    """
    files = finish(client_texts(client, languages, make_environment()))
    listing = checksum_file(files)
    return (*files, listing) if listing else files


def client_texts(
    client: TypedClient, languages: Iterable[Language], environment: Environment
) -> dict[PurePosixPath, str]:
    """Return the text of each file before formatting and signing."""
    variables = client_variables(client)
    return {
        path: _encodable(environment.get_template(template).render(variables).strip("\n") + "\n")
        for path, template in client_files(languages, client.package)
    }


def _encodable(text: str) -> str:
    """Replace unpaired surrogates, which JSON of others may have, by question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")
