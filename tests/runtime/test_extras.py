"""Without an extra, a server starts or names the command that installs it. `tests/wheel` installs such servers."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from toolmason_runtime import serving
from toolmason_runtime.shared.extras import APIS, HTTP, MODULES, missing_extra, require_extra

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
LINE = "--http needs an extra: pip install 'toolmason[http]'; in a project, add it to pyproject.toml"


@pytest.mark.parametrize("extra", MODULES)
def test_the_modules_of_an_extra_are_those_of_its_packages(extra: str) -> None:
    owners = packages_distributions()
    names = {re.split(r"[^\w-]", requirement)[0] for requirement in EXTRAS[extra]}

    assert all(names & {owner.lower() for owner in owners[module]} for module in MODULES[extra])
    assert {name for module in MODULES[extra] for name in map(str.lower, owners[module])} >= names


def test_http_contains_apis() -> None:
    assert set(EXTRAS[APIS]) < set(EXTRAS[HTTP])


def test_nothing_is_missing_where_all_is_installed() -> None:
    assert missing_extra("--http", HTTP) == ""
    require_extra("--http", HTTP)


@pytest.mark.parametrize("module", MODULES[HTTP])
def test_each_missing_module_names_the_extra(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)  # to Python, a module that is not installed

    assert missing_extra("--http", HTTP) == LINE
    with pytest.raises(ImportError, match=re.escape(LINE)):
        require_extra("--http", HTTP)


@pytest.mark.parametrize(("name", "module"), [("AsgiApp", "server.asgi"), ("sdk_server", "server.sdk")])
def test_a_name_that_needs_an_extra_names_it(monkeypatch: pytest.MonkeyPatch, name: str, module: str) -> None:
    monkeypatch.delitem(sys.modules, f"toolmason_runtime.{module}", raising=False)
    for absent in ("mcp", "starlette"):
        monkeypatch.setitem(sys.modules, absent, None)
        monkeypatch.setitem(sys.modules, f"{absent}.types", None)

    with pytest.raises(ImportError, match=re.escape(f"`{name}` needs an extra: pip install 'toolmason[http]'")):
        getattr(serving, name)
