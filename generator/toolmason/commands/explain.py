"""`toolmason explain`."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from toolmason.commands.options import CommandLineError


def _complete_code(_context: click.Context, _argument: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from toolmason.diagnostics.rules import RULES
    from toolmason.publishing.names import PROFILES

    if profile := next((name for name in PROFILES if incomplete.startswith(f"{name}/")), ""):
        from toolmason.publishing.profiles import load_profile

        rules = (rule for rule in load_profile(profile).rules if rule.code.startswith(incomplete))
        return [CompletionItem(rule.code, help=rule.requires) for rule in rules]
    return [CompletionItem(code, help=RULES[code].title) for code in RULES if code.startswith(incomplete.upper())]


@click.command()
@click.argument("code", shell_complete=_complete_code)
def explain(code: str) -> None:
    """Explain the CODE of a finding.

    Shows the rule, its reason, a bad and a good example; for a rule of a profile, such as mcp-registry/version, its fix
    and its source.
    """
    from toolmason.diagnostics.explain import UnknownCodeError, explain
    from toolmason.publishing.profiles import explain_rule, find_rule

    if rule := find_rule(code):
        click.echo(explain_rule(rule), nl=False)
        return
    try:
        click.echo(explain(code), nl=False)
    except UnknownCodeError as error:
        raise CommandLineError(str(error)) from error
