"""The facts about clients reach running servers, with a source each."""

from __future__ import annotations

import copy
import datetime as dt
import re
import tomllib
from pathlib import Path

import pytest
from pytest_regressions.file_regression import FileRegressionFixture
from toolmason_runtime.shared import client_table as table

import toolmason.clients
import toolmason.schema.providers
import toolmason.targets
from toolmason.clients import Client, client_table, clients
from toolmason.targets import Target

MODULE = Path(table.__file__)
WITH_SESSION = [client for client in clients().values() if client.session]


def test_the_table_of_the_runtime_is_current(file_regression: FileRegressionFixture, tmp_path: Path) -> None:
    obtained = tmp_path / MODULE.name
    file_regression.check(client_table(), encoding="utf-8", newline="", fullpath=MODULE, obtained_filename=obtained)


@pytest.mark.parametrize("client", WITH_SESSION, ids=lambda client: client.key)
def test_each_client_has_a_source_and_a_name_that_no_other_has(client: Client) -> None:
    assert client.session is not None
    assert client.session.source
    assert isinstance(client.session.checked, dt.date)
    others = [
        name.casefold()
        for other in WITH_SESSION
        if other is not client and other.session
        for name in other.session.client_info
    ]
    assert {name.casefold() for name in client.session.client_info}.isdisjoint(others)


@pytest.mark.parametrize("client", WITH_SESSION, ids=lambda client: client.key)
def test_a_client_prefixes_if_the_form_of_its_names_has_the_server(client: Client) -> None:
    if client.names is not None and client.session is not None:
        assert client.session.prefixes == ("{server}" in client.names.form or "{label}" in client.names.form)


@pytest.mark.parametrize("client", WITH_SESSION, ids=lambda client: client.key)
def test_the_size_of_an_answer_is_known_in_one_known_unit(client: Client) -> None:
    assert client.session is not None
    assert set(client.session.answer) <= {"characters", "bytes", "tokens"}
    assert client.session.answer_size is None or 4_000 <= client.session.answer_size <= 500_000


TABLES = tomllib.loads(Path(toolmason.clients.__file__).with_name("clients.toml").read_text("utf-8"))


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("goose", "title"),
        ("kiro", "checked"),
        ("cursor.configuration", "source"),
        ("cursor.configuration", "checked"),
        ("codex.session", "client_info"),
        ("opencode.names", "form"),
        ("gemini-cli.commands", "source"),
        ("gemini-cli.withheld", "pattern"),
        ("claude-code.plugin", "checked"),
    ],
)
def test_a_table_without_a_required_key_is_named(place: str, name: str) -> None:
    key, _, part = place.partition(".")
    table = copy.deepcopy(TABLES[key])
    del (table[part] if part else table)[name]
    with pytest.raises(ValueError, match=re.escape(f"clients.toml: [{place}] lacks `{name}`")):
        toolmason.clients._client(key, table)


def test_an_unknown_key_of_a_table_is_named() -> None:
    table = {**TABLES["cursor"], "configuration": {**TABLES["cursor"]["configuration"], "sauce": "x"}}
    with pytest.raises(ValueError, match=re.escape("[cursor.configuration] has the unknown key `sauce`")):
        toolmason.clients._client("cursor", table)


@pytest.mark.parametrize("target", Target)
def test_a_target_without_its_rows_is_named(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    file = Path(toolmason.schema.providers.__file__).with_name("providers.toml")
    data = tomllib.loads(file.read_text("utf-8"))
    del data["targets"][target]
    with pytest.raises(ValueError, match=re.escape(f"providers.toml lacks [targets.{target}]")):
        toolmason.schema.providers._TableReader(data).providers()
    monkeypatch.setattr(toolmason.targets, "_REQUESTS", {})
    with pytest.raises(ValueError, match=f"the target `{target}` has no row in `_REQUESTS`"):
        _ = target.request
