"""Providers and models, from `models.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal

from workbench_research.backends.question import Usage

KINDS: Final = ("flash", "pro")
_MILLION: Final = 1_000_000
_HOUR_S: Final = 3_600


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """US dollars per million tokens. `written`: tokens that are written to a cache; None: the same as `input`."""

    input: float
    cached: float
    out: float
    written: float | None = None
    above: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model. `window` and `output` are in tokens, 0 if they are not known.

    `stored` is the price of a million cached tokens for an hour. `long` are the prices above `long.above` tokens.
    """

    name: str
    window: int = 0
    output: int = 0
    temperature: bool = True
    prices: Prices | None = None
    long: Prices | None = None
    stored: float = 0.0

    def cost(self, usage: Usage, *, stored_s: float = 0.0) -> float | None:
        """Return the price of a request in US dollars; None if it is not known.

        `stored_s` is the time for which `usage.cached_now` tokens are kept, if that has a price.
        """
        # A cache that has a price of its own is written before the question, which sends its tokens again.
        asked = usage.sent - usage.cached_now if self.stored else usage.sent
        prices = self.long if self.long is not None and asked > self.long.above else self.prices
        if prices is None:
            return None
        written = prices.input if prices.written is None else prices.written
        plain = max(0, usage.sent - usage.cached - usage.cached_now)
        total = plain * prices.input + usage.cached * prices.cached + usage.written * prices.out
        total += usage.cached_now * (written + self.stored * stored_s / _HOUR_S)
        return total / _MILLION


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A table of `models.toml`, where the fields are explained."""

    name: str
    title: str
    backend: Literal["gemini", "anthropic", "openai", "bedrock", "gemini_cli"]
    url: str
    cache: Literal["explicit", "breakpoints", "prefix", "none"]
    counter: Literal["api", "estimate"]
    source: str
    extra: str = ""
    library: str = ""
    hosts: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    shared_keys: tuple[str, ...] = ()
    url_keys: tuple[str, ...] = ()
    url_example: str = ""
    key_page: str = ""
    cache_from: int = 0
    cache_key: bool = False
    stream_options: bool = True
    output_name: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    context_setting: str = ""
    local: bool = False
    flash: tuple[str, ...] = ()
    pro: tuple[str, ...] = ()
    models: Mapping[str, Model] = field(default_factory=dict, repr=False)

    def model(self, name: str) -> Model:
        """Return a model by the provider's name; one that is not in the table has no window and no prices."""
        return self.models.get(name) or Model(name=name)

    def resolve(self, name: str) -> tuple[str, ...]:
        """Return the provider's models for a kind (`flash`, `pro`), a name of the specifications, or its own name."""
        if name in self.models:
            return (name,)
        kind = name if name in KINDS else _table()[1].get(name, "")
        chosen: tuple[str, ...] = {"flash": self.flash, "pro": self.pro}.get(kind, (name,))
        return chosen


def providers() -> Mapping[str, Provider]:
    """Return all providers by name, in the order in which they are chosen."""
    return _table()[0]


@cache
def _table() -> tuple[Mapping[str, Provider], Mapping[str, str]]:
    text = files(__package__).joinpath("models.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    found: dict[str, Provider] = {}
    for name, table in data["providers"].items():
        models_of = table.pop("models_of", "")
        models = {key: _model(key, value) for key, value in table.pop("models", {}).items()}
        lists = {key: tuple(value) for key, value in table.items() if isinstance(value, list)}
        found[name] = Provider(name=name, models=models, **{**table, **lists})
        if models_of:
            found[name] = replace(found[name], models=found[models_of].models)
    return found, data["aliases"]


def _model(name: str, table: dict[str, Any]) -> Model:
    names = ("input", "cached", "written", "out")
    prices = {key: table.pop(key) for key in names if key in table}
    long = table.pop("long", None)
    return Model(
        name=name,
        prices=Prices(**prices) if prices else None,
        long=Prices(**long) if long else None,
        **table,
    )
