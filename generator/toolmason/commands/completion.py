"""`toolmason completion`."""

from __future__ import annotations

import click

from toolmason.commands.options import toolmason

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the completion script of SHELL.

    \b
    bash:  eval "$(toolmason completion bash)"         in ~/.bashrc
    zsh:   eval "$(toolmason completion zsh)"          in ~/.zshrc
    fish:  toolmason completion fish | source          in ~/.config/fish/config.fish
    """  # noqa: D301 - \b makes click keep the line breaks
    from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

    kind: type[ShellComplete] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}[shell]
    # Not `BashComplete.source()`, which runs bash to check its version: the script may be for another machine.
    click.echo(ShellComplete.source(kind(toolmason, {}, "toolmason", "_TOOLMASON_COMPLETE")))
