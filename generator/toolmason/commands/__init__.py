"""The command line. Each command imports what it needs when it runs, so that `--help` and completion stay quick."""

from __future__ import annotations

from toolmason.commands.generate import check, generate
from toolmason.commands.import_ import importing
from toolmason.commands.inspect import completion, explain, lint, search, stats
from toolmason.commands.new import init, templates
from toolmason.commands.options import toolmason
from toolmason.commands.run import run
from toolmason.commands.schema import schema

for _command in (generate, check, run, lint, stats, search, explain, schema, init, importing, templates, completion):
    toolmason.add_command(_command)

__all__ = ["toolmason"]
