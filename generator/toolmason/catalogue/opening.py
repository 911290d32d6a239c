"""The prepared answers to the first requests of a session: `opening.json`, which `toolmason_runtime.boot` reads."""

from __future__ import annotations

import json
from binascii import crc32
from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolmason_runtime.shared.catalogue import Catalogue
from toolmason_runtime.shared.opening import (
    CLASSIC_VARIANT,
    DEFAULT_VARIANT,
    FLAGS_MEMBER,
    FORMAT,
    INSTRUCTIONS,
    NO_COMMANDS_VARIANT,
    PREFIXED,
)
from toolmason_runtime.shared.selection import Selection
from toolmason_runtime.shared.server_info import MEMBERS
from toolmason_runtime.shared.styles import CLASSIC
from toolmason_runtime.toolkit import Dispatcher, KnownClient, OptionSpec, ProgramSettings, prepared_flags

from toolmason.clients import CLAUDE_CODE
from toolmason.model.server import Option

_SERVER: Final = {"name", "version", *MEMBERS, "command_prefix_env", "expose_all_env"}
"""The members of the server that the answers need."""


def opening(
    catalogue_text: str, postings: str = "", options: Sequence[Option] = (), *, catalogue: Catalogue | None = None
) -> str:
    """Return the text of `opening.json` for those of `catalogue.json` and `semantic.postings`, one member a line.

    `options` are those of the server. `catalogue` is the parsed `catalogue_text`, if the caller has it.

    It is an empty object if a template of the project has changed the form of the catalogue.
    """
    try:
        if catalogue is None:
            catalogue = json.loads(catalogue_text)
        flags = prepared_flags(catalogue, [_option_spec(option) for option in options])
        members = {FLAGS_MEMBER: flags, **_members(catalogue)}
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return "{}"
    checksums = {"catalogue": crc32(catalogue_text.encode())}
    if postings:
        checksums["postings"] = crc32(postings.encode())
    members = {"format": FORMAT, **checksums, **members}
    body = "{\n" + "".join(f"{_json(name)}: {_json(value)},\n" for name, value in members.items())
    return f'{body}"checksum": {crc32(body.encode())}\n}}'


def _option_spec(option: Option) -> OptionSpec:
    """Return an option as the server declares it, without its texts and default."""
    table = option.table
    return OptionSpec(
        name=option.field,
        flag=option.flag,
        env=table.env,
        type=table.type,
        required=table.required,
        secret=table.secret,
        implicit=table.implicit,
    )


def _members(catalogue: Catalogue) -> dict[str, Any]:
    style = catalogue["discovery"]["style"]
    variants = {
        DEFAULT_VARIANT: Selection(style),
        CLASSIC_VARIANT: Selection(CLASSIC),
        NO_COMMANDS_VARIANT: Selection(style, command_prompts=False),
    }
    answers = {variant: _answers(catalogue, selection) for variant, selection in variants.items()}
    default = answers[DEFAULT_VARIANT]
    # A variant has the answers of the default, so an answer for prefixed names is left out only in all of them.
    needless = {name for name in default if all(_is_needless(name, own) for own in answers.values())}
    return {
        _key(variant, name): value
        for variant, own in answers.items()
        for name, value in own.items()
        if name not in needless and (variant == DEFAULT_VARIANT or value != default.get(name))
    }


def _is_needless(name: str, answers: Mapping[str, Any]) -> bool:
    """Return whether an answer for prefixed names is that for bare names."""
    return name.startswith(PREFIXED) and answers.get(name) == answers.get(name.removeprefix(PREFIXED))


def _key(variant: str, name: str) -> str:
    return f"{variant} {name}" if variant else name


def _answers(catalogue: Catalogue, selection: Selection) -> dict[str, Any]:
    """Return the description of the server, the methods, the instructions, and the first page of each list."""
    dispatcher = Dispatcher(
        _without_environment(catalogue), selection=selection, load_index=dict, commands=ProgramSettings()
    )
    lists = [method for method in dispatcher.methods if method.endswith("/list") and method != "skills/list"]
    server: dict[str, Any] = {name: value for name, value in catalogue["server"].items() if name in _SERVER}
    if "apps" in catalogue:
        server["apps"] = True
    answers = {
        "server": server,
        "methods": list(dispatcher.methods),
        **_of_client(dispatcher, lists, CLAUDE_CODE),
        **{PREFIXED + name: value for name, value in _of_client(dispatcher, lists, "").items()},
    }
    # Break the reference cycle with its methods: without garbage collection, a large catalogue would stay in memory.
    vars(dispatcher).clear()
    return answers


def _of_client(dispatcher: Dispatcher, lists: Sequence[str], client: str) -> dict[str, Any]:
    """Return the answers with the names that `client` sees; an empty name is that of an unknown client."""
    return {
        INSTRUCTIONS: dispatcher.instructions(client),
        **{method: _listed(dispatcher, method, client) for method in lists},
    }


def _without_environment(catalogue: Catalogue) -> Any:
    """Return a catalogue whose names of prompts do not depend on the environment of the generator."""
    server = {name: value for name, value in catalogue["server"].items() if name != "command_prefix_env"}
    return {**catalogue, "server": server}


def _listed(dispatcher: Dispatcher, method: str, client: str) -> Any:
    """Return the answer to `client`; an empty name is that of an unknown client."""
    work = dispatcher.dispatch(method, {}, KnownClient(client))  # type: ignore[arg-type]  # no handler runs
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError(f"{method} needs an event loop")


def _json(value: Any) -> str:
    """Return a value as the server sends it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
