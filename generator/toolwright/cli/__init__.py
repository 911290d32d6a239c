"""The command line. Each command imports what it needs when it runs, so that `--help` and completion stay quick."""

from __future__ import annotations

from toolwright.cli.generating import check, generate
from toolwright.cli.group import toolwright
from toolwright.cli.importing import importing
from toolwright.cli.knowing import completion, explain, lint, search, stats
from toolwright.cli.schema import schema
from toolwright.cli.serving import run
from toolwright.cli.starting import init, templates

for _command in (generate, check, run, lint, stats, search, explain, schema, init, importing, templates, completion):
    toolwright.add_command(_command)

__all__ = ["toolwright"]
