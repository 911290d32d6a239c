"""The configuration of each client for the server that is installed here, as a new file."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from toolmason_runtime.install import load_facts, new_configuration
from toolmason_runtime.programs import SearchPath, working_directory

PACKAGE: Final = "workbench_server"


class ClientFile(NamedTuple):
    """A client's configuration: its path in the project or the client's directory, and its text."""

    path: str
    content: str


def client_names() -> tuple[str, ...]:
    """Return the names of the clients that have a configuration, sorted."""
    return tuple(sorted(load_facts(PACKAGE).clients))


def client_files(environ: Mapping[str, str], directory: Path) -> Mapping[str, ClientFile]:
    """Return the configuration of each client by its name.

    The command is an absolute path where PATH does not contain it, and for a client without projects: it does not have
    the user's PATH. `directory` is the one that such a client allows the server to read.
    """
    facts = load_facts(PACKAGE)
    path = SearchPath.of(environ, (directory, *working_directory())).find(facts.command)
    sibling = Path(sys.executable).with_name(facts.command)
    absolute = path or str(sibling)
    command = facts.command if path or not sibling.exists() else absolute
    launches = {True: [command], False: [absolute, "--root", str(directory)]}
    return {
        name: ClientFile(*new_configuration(client, facts.server, launches[bool(client.project)]))
        for name, client in sorted(facts.clients.items())
    }
