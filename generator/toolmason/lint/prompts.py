"""Lint rules on commands, prompts and workflows: text that a client does not send to the model unchanged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from toolmason_runtime.shared.toml.positions import KeyPath
from toolmason_runtime.shared.toml.problems import quoted

from toolmason.clients import Effect, clients
from toolmason.lint.finding import Finding
from toolmason.model.server import Server, SlashCommand


class _Text(NamedTuple):
    """A text of the manifest: its name in messages, its key path and its content."""

    name: str
    at: KeyPath
    content: str


def check_prompt_commands(server: Server) -> Iterator[Finding]:
    """TM541: some clients run a part of a prompt as a command; its text may come from others."""
    hint = "describe the command in words, or put a space after `!`"
    yield from _findings(_all_texts(server), "run", "TM541", "run as a command by", hint)


def check_prompt_files(server: Server) -> Iterator[Finding]:
    """TM542: some clients send a file that a prompt names; others send the name only."""
    hint = "name the file without the sign before it"
    yield from _findings(_command_texts(server.commands), "read", "TM542", "read as a file by", hint)


def check_prompt_placeholders(server: Server) -> Iterator[Finding]:
    """TM543: only `{arguments}` is replaced in every client."""
    hint = "use `{arguments}` for the user's text, or other words"
    yield from _findings(_command_texts(server.commands), "replace", "TM543", "replaced by", hint)


def _command_texts(commands: Iterable[SlashCommand]) -> Iterator[_Text]:
    for command in commands:
        for key in ("summary", "prompt"):
            yield _Text(f"the {key} of `{command.name}`", (*command.at, key), getattr(command, key))


def _all_texts(server: Server) -> Iterator[_Text]:
    """Return the texts of commands, prompts and workflows. opencode runs commands in prompts of a server, too."""
    yield from _command_texts(server.commands)
    for prompt in server.prompts:
        if not prompt.command:
            yield from (_Text(f"the text of `{prompt.name}`", message.at, message.text) for message in prompt.messages)
    for workflow in server.workflows:
        name = f"the workflow `{workflow.name}`"
        yield _Text(name, (*workflow.at, "description"), workflow.description)
        for index, step in enumerate(workflow.steps):
            at = (*workflow.at, "steps", index)
            yield from (_Text(name, (*at, key), getattr(step, key)) for key in ("title", "text"))


def _findings(texts: Iterable[_Text], effect: Effect, code: str, words: str, hint: str) -> Iterator[Finding]:
    for name, at, content in texts:
        for text, titles in _live_texts(content, effect).items():
            message = f"{name} contains {quoted(text)}, {words} {_list(titles)}"
            yield Finding(code=code, tool="", message=message, hint=hint, at=at, value=True)


def _live_texts(text: str, effect: Effect) -> dict[str, list[str]]:
    """Return the parts with an effect and, for each, the titles of the clients in the order of `clients.toml`."""
    parts: dict[str, list[str]] = {}
    for client in clients().values():
        for part in client.live.texts(effect, text) if client.live else ():
            parts.setdefault(part, []).append(client.title)
    return parts


def _list(titles: list[str]) -> str:
    return titles[0] if len(titles) == 1 else f"{', '.join(titles[:-1])} and {titles[-1]}"
