"""`toolmason explain`."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from toolmason.commands.options import CommandLineError


def _complete_code(_context: click.Context, _argument: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from toolmason.diagnostics.rules import RULES

    return [CompletionItem(code, help=RULES[code].title) for code in RULES if code.startswith(incomplete.upper())]


@click.command()
@click.argument("code", shell_complete=_complete_code)
def explain(code: str) -> None:
    """Explain the CODE of a finding.

    Shows the rule, its reason, a bad and a good example.
    """
    from toolmason.diagnostics.explain import UnknownCodeError, explain

    try:
        click.echo(explain(code), nl=False)
    except UnknownCodeError as error:
        raise CommandLineError(str(error)) from error
