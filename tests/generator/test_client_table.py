"""The facts about clients reach running servers, with a source each."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from pytest_regressions.file_regression import FileRegressionFixture
from toolmason_runtime.shared import client_table as table

from toolmason.clients import Client, client_table, clients

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
