"""Lint rules on the prompts of commands: text that a client does not send to the model unchanged."""

from __future__ import annotations

from collections.abc import Iterator

from toolmason_runtime.toml.problems import quoted

from toolmason.clients import Effect, clients
from toolmason.lint.finding import Finding
from toolmason.model.server import Server


def check_prompt_commands(server: Server) -> Iterator[Finding]:
    """TM541: some clients run a part of a prompt as a command; its text may come from others."""
    hint = "describe the command in words, or put a space after `!`"
    yield from _findings(server, "run", "TM541", "run as a command by", hint)


def check_prompt_files(server: Server) -> Iterator[Finding]:
    """TM542: some clients send a file that a prompt names; others send the name only."""
    yield from _findings(server, "read", "TM542", "read as a file by", "name the file without the sign before it")


def check_prompt_placeholders(server: Server) -> Iterator[Finding]:
    """TM543: only `{arguments}` is replaced in every client."""
    hint = "use `{arguments}` for the user's text, or other words"
    yield from _findings(server, "replace", "TM543", "replaced by", hint)


def _findings(server: Server, effect: Effect, code: str, words: str, hint: str) -> Iterator[Finding]:
    for command in server.commands:
        for text, titles in _live_texts(command.prompt, effect).items():
            yield Finding(
                code=code,
                tool="",
                message=f"the prompt of `{command.name}` contains {quoted(text)}, {words} {_list(titles)}",
                hint=hint,
                at=("commands", command.base_name, "prompt"),
                value=True,
            )


def _live_texts(prompt: str, effect: Effect) -> dict[str, list[str]]:
    """Return the texts with an effect and, for each, the titles of the clients in the order of `clients.toml`."""
    found: dict[str, list[str]] = {}
    for client in clients().values():
        for text in client.live.texts(effect, prompt) if client.live else ():
            found.setdefault(text, []).append(client.title)
    return found


def _list(titles: list[str]) -> str:
    return titles[0] if len(titles) == 1 else f"{', '.join(titles[:-1])} and {titles[-1]}"
