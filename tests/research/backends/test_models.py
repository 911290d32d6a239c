from __future__ import annotations

import datetime as dt
import tomllib
from dataclasses import replace
from importlib.resources import files

import pytest

from workbench_research.backends.models import KINDS, Model, Prices, Provider, providers
from workbench_research.backends.question import Usage

ALL = list(providers().values())
PRICES = Prices(input=2.0, cached=0.2, written=2.5, out=10.0)
LONG = Prices(input=4.0, cached=0.4, written=5.0, out=15.0, above=200_000)


@pytest.mark.parametrize("provider", ALL, ids=lambda provider: provider.name)
def test_a_provider_can_be_asked_with_its_table(provider: Provider) -> None:
    assert provider.source.startswith("https://")
    assert provider.local or provider.keys
    assert provider.local or provider.key_page.startswith("https://")
    assert provider.local or provider.hosts
    assert provider.url or provider.name in ("azure", "bedrock")
    assert bool(provider.flash) is not provider.local


@pytest.mark.parametrize("provider", [provider for provider in ALL if not provider.local], ids=lambda it: it.name)
def test_the_models_of_each_kind_have_limits_and_prices(provider: Provider) -> None:
    for name in (name for kind in KINDS for name in provider.resolve(kind)):
        model = provider.model(name)
        assert 100_000 < model.window < 2_000_000
        assert 1_000 < model.output <= model.window
        if provider.name in ("openrouter", "gemini-cli"):  # its answers, or the account, have the price
            continue
        assert model.prices is not None
        assert 0 < model.prices.cached < model.prices.input < model.prices.out
        if model.long is not None:
            assert model.prices.input < model.long.input
            assert 0 < model.long.above < model.window


def test_the_table_has_the_day_of_its_check() -> None:
    table = tomllib.loads(files("workbench_research.backends").joinpath("models.toml").read_text(encoding="utf-8"))
    assert dt.date(2026, 11, 1) <= table["checked"]


@pytest.mark.parametrize(
    ("provider", "name", "models"),
    [
        ("gemini", "gemini-2.5-pro", ("gemini-2.5-pro",)),
        ("gemini", "gemini-2.5-flash", ("gemini-2.5-flash",)),
        ("gemini", "pro", ("gemini-3.1-pro-preview", "gemini-2.5-pro")),
        ("anthropic", "gemini-2.5-pro", ("claude-opus-5-5", "claude-sonnet-5-5")),
        ("anthropic", "gemini-2.5-flash", ("claude-haiku-5-5", "claude-haiku-4-5")),
        ("openai", "gemini-3-pro-preview", ("gpt-6.1-sol", "gpt-5.6-terra")),
        ("groq", "flash", ("openai/gpt-oss-20b",)),
        ("openai", "gpt-9", ("gpt-9",)),
        ("ollama", "qwen3:8b", ("qwen3:8b",)),
    ],
)
def test_names_of_the_specifications_are_models_of_the_provider(
    provider: str, name: str, models: tuple[str, ...]
) -> None:
    assert providers()[provider].resolve(name) == models


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        (Usage(sent=1_000_000, written=100_000), 5.5),
        (Usage(sent=100_000), 0.2),
        (Usage(sent=100_000, cached=90_000), 0.038),
        (Usage(sent=100_000, cached=50_000, cached_now=40_000, written=1_000), 0.14),
        (Usage(sent=200_000), 0.4),
        (Usage(sent=200_001), 0.800004),
        (Usage(), 0.0),
    ],
)
def test_a_request_has_the_price_of_its_tokens(usage: Usage, cost: float) -> None:
    model = Model(name="m", prices=PRICES, long=LONG)
    assert model.cost(usage) == pytest.approx(cost)


def test_a_model_that_is_not_in_the_table_has_no_price() -> None:
    assert providers()["openai"].model("gpt-9").cost(Usage(sent=1)) is None


def test_a_stored_cache_costs_by_its_time() -> None:
    model = Model(name="m", prices=Prices(input=1.0, cached=0.1, out=2.0), stored=6.0)
    assert model.cost(Usage(sent=1_000_000, cached_now=1_000_000), stored_s=600) == pytest.approx(2.0)


def test_tokens_of_a_stored_cache_are_not_counted_twice_for_the_long_price() -> None:
    model = Model(name="m", prices=PRICES, long=LONG, stored=1.0)
    usage = Usage(sent=215_000, cached=105_000, cached_now=105_000)

    fewer = model.cost(replace(usage, sent=210_000))
    assert fewer is not None
    assert model.cost(usage) == pytest.approx(fewer + 5_000 * PRICES.input / 1e6)
