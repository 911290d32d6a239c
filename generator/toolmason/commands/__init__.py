"""The command line. Commands import other packages when they run, so that `--help` and completion are fast."""

from __future__ import annotations

from toolmason.commands.add import add
from toolmason.commands.audit_log import audit
from toolmason.commands.call import call, inspect
from toolmason.commands.cli import cli
from toolmason.commands.client import client
from toolmason.commands.completion import completion
from toolmason.commands.dev import dev
from toolmason.commands.diff import diff
from toolmason.commands.embed import embed
from toolmason.commands.eval import evaluate_search
from toolmason.commands.explain import explain
from toolmason.commands.fmt import fmt
from toolmason.commands.generate import check, generate
from toolmason.commands.import_ import importing
from toolmason.commands.init import init
from toolmason.commands.lint import lint
from toolmason.commands.options import toolmason
from toolmason.commands.publish import publish
from toolmason.commands.release import release
from toolmason.commands.rename import move, rename
from toolmason.commands.report import report
from toolmason.commands.run import run
from toolmason.commands.schema import schema
from toolmason.commands.search import search
from toolmason.commands.stats import stats
from toolmason.commands.templates import templates
from toolmason.commands.upgrade import upgrade

for _command in (
    generate,
    check,
    diff,
    release,
    publish,
    report,
    dev,
    run,
    call,
    cli,
    inspect,
    lint,
    fmt,
    add,
    upgrade,
    stats,
    search,
    embed,
    evaluate_search,
    explain,
    audit,
    schema,
    init,
    rename,
    move,
    importing,
    client,
    templates,
    completion,
):
    toolmason.add_command(_command)

__all__ = ["toolmason"]
