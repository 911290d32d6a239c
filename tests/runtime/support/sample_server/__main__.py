"""Starts the `sample` server."""

from __future__ import annotations

import sys

from toolmason_runtime.server.command import Command, Subcommand

from sample_server.catalogue import CATALOGUE
from sample_server.server import OPTIONS, load_index

SUBCOMMANDS = (Subcommand("greet", "Say 100 % hello", "sample_server.greeting:main"),)

if __name__ == "__main__":
    sys.exit(
        Command(
            catalogue=CATALOGUE,
            load_index=load_index,
            options=OPTIONS,
            subcommands=SUBCOMMANDS,
            startup_check="sample_server.greeting:check",
            prog="sample",
            version="1.2.3",
        ).run()
    )
