"""The choice of a provider from settings and keys, and what each provider lacks. No library is imported."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from toolmason_runtime import ToolError

from workbench_research.backends.gemini_cli_home import COMMAND, PROGRAM, cli_endpoint, find_program
from workbench_research.backends.keys import (
    OFFLINE,
    RESEARCH,
    URL,
    Endpoint,
    EndpointError,
    Environ,
    endpoint,
    find_key,
    is_loopback,
    is_offline,
    named,
)
from workbench_research.backends.models import KINDS, Provider, providers
from workbench_research.backends.protocol import Backend
from workbench_research.packages import is_installed

MODELS: Final[Mapping[str, str]] = {"flash": "WORKBENCH_FLASH_MODELS", "pro": "WORKBENCH_PRO_MODELS"}
"""The variable of each kind of model, with names that are separated by commas."""
GEMINI_CLI: Final = "gemini-cli"
"""The program that is asked if no other provider can be."""
BACKEND: Final = "WORKBENCH_BACKEND"
"""The older variable of the Gemini CLI: `gemini` or `auto`."""
INSTALL: Final = "npm install -g @google/gemini-cli"

_OF_PROGRAM: Final = (BACKEND, COMMAND, "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA")
"""Variables by which a user has chosen the Gemini CLI, if `WORKBENCH_RESEARCH` names nothing."""
_TROUBLESHOOTING: Final = f"""\
Gemini CLI not found on PATH
→ Install: {INSTALL}
→ Docs: https://github.com/google-gemini/gemini-cli
→ Note: since 2026-06-18 Gemini CLI serves only paid API keys and enterprise accounts"""

_PROBE_S: Final = 0.5
_MAX_PROBE_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """A provider that can be asked. `model` is the one that the user named, or empty."""

    provider: Provider
    endpoint: Endpoint
    model: str = ""

    def models(self, name: str, environ: Environ) -> tuple[str, ...]:
        """Return the models to try in order, for `flash`, `pro`, a name of the specifications or the provider's name.

        The user's choice in `WORKBENCH_RESEARCH` comes first, then `WORKBENCH_FLASH_MODELS` or
        `WORKBENCH_PRO_MODELS`, then the table.
        """
        if self.model:
            return (self.model,)
        names = (item.strip() for item in environ.get(MODELS.get(name, ""), "").split(","))
        chosen = (
            [item for item in names if item and (item != "auto" or item in self.provider.models)]
            if name in KINDS
            else []
        )
        return tuple(dict.fromkeys(model for item in chosen or [name] for model in self.provider.resolve(item)))

    def backend(self, environ: Environ) -> Backend:
        """Return the backend. Its library is imported when the first question is asked."""
        about: dict[str, Any] = {"provider": self.provider, "endpoint": self.endpoint, "environ": environ}
        match self.provider.backend:
            case "gemini":
                from workbench_research.backends.gemini import GeminiBackend

                return GeminiBackend(**about)
            case "anthropic":
                from workbench_research.backends.anthropic import AnthropicBackend

                return AnthropicBackend(**about)
            case "openai":
                from workbench_research.backends.openai import OpenAIBackend

                return OpenAIBackend(**about)
            case "bedrock":
                from workbench_research.backends.bedrock import BedrockBackend

                return BedrockBackend(**about)
            case "gemini_cli":
                from workbench_research.backends.gemini_cli import GeminiCliBackend

                return GeminiCliBackend(**about)


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Whether a provider can be asked. `step` is the next step if not, or what would use it."""

    name: str
    title: str
    is_ready: bool
    detail: str = ""
    step: str = ""


def select(environ: Environ) -> Selected:
    """Return what is asked: as `choose`, and the Gemini CLI also if one of its own variables is set.

    Raises:
        ToolError: nothing can be asked. The message has the next step.
    """
    is_program = names_program(environ)
    if is_program and (value := environ.get(BACKEND, "").strip()).lower() not in ("", "gemini", "auto"):
        message = f"{BACKEND} is {value!r}: set it to gemini or auto, and start the server again"
        raise ToolError(message, code="GEMINI_CLI_ERROR", details={"reason": "SETTING"})
    return choose({**environ, RESEARCH: GEMINI_CLI} if is_program and not named(environ)[0] else environ)


def names_program(environ: Environ) -> bool:
    """Return whether the settings name the Gemini CLI."""
    name, _ = named(environ)
    return name == GEMINI_CLI or (not name and any(environ.get(each, "").strip() for each in _OF_PROGRAM))


def choose(environ: Environ) -> Selected:
    """Return the provider to ask. It may read the system's key store and ask local servers: call it in a thread.

    PATH must have no directory of a project, which could choose the Gemini CLI: see `SearchPath.narrow`.

    Raises:
        ToolError: none can be asked. The message has the next step.
    """
    name, model = named(environ)
    if name:
        return _choose_named(name, model, environ)
    if environ.get(URL, "").strip():
        raise ToolError(f"set {RESEARCH} to provider/model for the server in {URL}", code="AUTH_MISSING")
    problems: list[str] = []
    for provider in providers().values():
        if provider.local or provider.name == GEMINI_CLI or not _has_own_key(provider, environ):
            continue
        found = _inspect(provider, environ)
        if isinstance(found, Endpoint):
            return Selected(provider=provider, endpoint=found)
        problems.append(f"{provider.title}: {found}")
    cli = providers()[GEMINI_CLI]
    if isinstance(found := _inspect(cli, environ), Endpoint):
        return Selected(provider=cli, endpoint=found)
    raise ToolError(_nothing_to_ask(problems, environ), code="AUTH_MISSING")


def readiness(environ: Environ, *, asks_local: bool = True) -> tuple[Readiness, ...]:
    """Return the state of each provider, in the order of the table. Call it in a thread."""
    running = dict(local_servers(environ)) if asks_local else {}
    return tuple(_readiness(provider, environ, running) for provider in providers().values())


def local_servers(environ: Environ) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the local providers whose servers answer on this machine, with their models."""
    local = [provider for provider in providers().values() if provider.local]
    with ThreadPoolExecutor(len(local)) as pool:
        answers = pool.map(lambda provider: _models_of(_local_url(provider, environ)), local)
        yield from ((provider.name, models) for provider, models in zip(local, answers, strict=True) if models)


def _choose_named(name: str, model: str, environ: Environ) -> Selected:
    provider = providers().get(name)
    if provider is None:
        known = ", ".join(providers())
        raise ToolError(f"{RESEARCH} names {name!r}, which is not a provider: use {known}", code="AUTH_MISSING")
    if not model and not provider.pro:
        models = _models_of(_local_url(provider, environ))
        example = models[0] if models else "MODEL"
        raise ToolError(f"{RESEARCH} must name a model as well: {name}/{example}", code="AUTH_MISSING")
    if name == GEMINI_CLI and not find_program(environ):
        message = f"`{PROGRAM}` is not on PATH (directories of the project do not count): install it with `{INSTALL}`"
        if environ.get(COMMAND, "").strip():
            message = f"{COMMAND} names a program that does not exist: correct it, or install one with `{INSTALL}`"
        raise ToolError(message, code="GEMINI_CLI_NOT_FOUND", details={"troubleshooting": _TROUBLESHOOTING})
    found = _inspect(provider, environ)
    if not isinstance(found, Endpoint):
        raise ToolError(f"{provider.title} cannot be asked: {found}", code="AUTH_MISSING")
    model = provider.resolve(model)[0] if model else ""
    return Selected(provider=provider, endpoint=found, model=model)


def _inspect(provider: Provider, environ: Environ) -> Endpoint | str:
    """Return the endpoint of a provider, or the next step."""
    try:
        if provider.backend == "gemini_cli":
            return cli_endpoint(provider, environ)
        found = endpoint(provider, environ)
    except EndpointError as error:
        return str(error)
    if not is_installed(provider.library):
        return _install(provider)
    return found


def _has_own_key(provider: Provider, environ: Environ) -> bool:
    key = find_key(provider, environ)
    return key is not None and key.variable in provider.keys


def _readiness(provider: Provider, environ: Environ, running: Mapping[str, tuple[str, ...]]) -> Readiness:
    found = _inspect(provider, environ)
    is_named = named(environ)[0] == provider.name
    detail, step = "", ""
    if isinstance(found, str):
        return Readiness(name=provider.name, title=provider.title, is_ready=False, step=found)
    if provider.local:
        models = running.get(provider.name, ())
        url = _local_url(provider, environ)
        detail = f"answers on {url} with {_list(models)}" if models else f"no answer on {url}"
        if not models:
            step = "start its server"
        elif not is_named:
            step = f"set {RESEARCH}={provider.name}/{models[0]} to use it"
        return Readiness(name=provider.name, title=provider.title, is_ready=bool(models), detail=detail, step=step)
    detail = f"key in {found.key}" if found.key.variable else f"server {found.url} without a key"
    if not found.url and not found.key.variable:
        detail = "an account that is signed in"
    return Readiness(name=provider.name, title=provider.title, is_ready=True, detail=detail)


def _nothing_to_ask(problems: Iterable[str], environ: Environ) -> str:
    if is_offline(environ):
        start = f"{OFFLINE} allows only servers on this machine, and {RESEARCH} names none"
    else:
        start = (
            "; ".join(problems)
            or "no model can be asked: set a key, such as GEMINI_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY"
        )
    found = [
        f"{providers()[name].title} answers on this machine: set {RESEARCH}={name}/{models[0]} to use it"
        for name, models in local_servers(environ)
    ]
    return "; ".join([start, *found, "`toolmason-workbench doctor` prints the next step for each provider"])


def _install(provider: Provider) -> str:
    return f"install its library: pip install 'toolmason[{provider.extra}]'"


def _local_url(provider: Provider, environ: Environ) -> str:
    """Return the base URL of a local server: that of the settings only for the provider that they name."""
    with suppress(EndpointError):
        if named(environ)[0] == provider.name:
            return endpoint(provider, environ).url
    return provider.url


def _models_of(url: str) -> tuple[str, ...]:
    """Return the names of the models of a server on this machine; empty if it does not answer in this format."""
    parts = urlsplit(url)
    if not is_loopback(url) or parts.scheme != "http":
        return ()
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=_PROBE_S)
    try:
        connection.request("GET", f"{parts.path}/models", headers={"Accept": "application/json"})
        response = connection.getresponse()
        data = json.loads(response.read(_MAX_PROBE_BYTES)) if response.status == http.client.OK else {}
        return tuple(str(model["id"]) for model in data["data"] if model.get("id"))
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError, AttributeError):
        return ()
    finally:
        connection.close()


def _list(models: tuple[str, ...]) -> str:
    shown = ", ".join(models[:3])
    return shown if len(models) <= 3 else f"{shown} and {len(models) - 3} more"
