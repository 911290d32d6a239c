"""Starts the `sample` server."""

from __future__ import annotations

import sys

from toolwright_runtime.command import main

from sample_server.catalogue import CATALOGUE
from sample_server.server import OPTIONS, load_index

if __name__ == "__main__":
    sys.exit(main(catalogue=CATALOGUE, load_index=load_index, options=OPTIONS, prog="sample", version="1.2.3"))
