"""Without an extra, a server starts or names the command that installs it. `tests/wheel` installs such servers."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Mapping
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from toolmason_runtime import serving
from toolmason_runtime.shared.extras import APIS, HTTP, MODULES, missing_extra, require_extra

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
LINE = "--http needs an extra: pip install 'toolmason[http]'; in a project, add it to pyproject.toml"


def _name(requirement: str) -> str:
    return re.split(r"[^\w-]", requirement)[0]


def _with_modules(name: str, owners: Mapping[str, list[str]]) -> set[str]:
    """Return a distribution; for one without modules, those of its requirements that have some."""
    owning = {owner.lower() for all_owners in owners.values() for owner in all_owners}
    return {name} if name in owning else {_name(each) for each in requires(name) or ()} & owning


@pytest.mark.parametrize("extra", MODULES)
def test_the_modules_of_an_extra_are_those_of_its_packages(extra: str) -> None:
    owners = packages_distributions()
    # Without a package that has a marker, the extra works too.
    required = [requirement for requirement in EXTRAS[extra] if ";" not in requirement]
    names = {part for requirement in required for part in _with_modules(_name(requirement), owners)}

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
