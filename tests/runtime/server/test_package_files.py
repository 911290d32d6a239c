"""The files that accompany a server's package are found in a checkout; tests/wheel finds them in a wheel."""

from __future__ import annotations

from pathlib import Path

import pytest
from toolmason_runtime.server.package_files import server_files


def test_in_a_checkout_they_are_next_to_the_package() -> None:
    assert server_files("workbench_server") == Path(__file__).parents[3] / "generated"


def test_directories_of_other_packages_next_to_an_installed_one_are_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for directory in ("notes_server", "docs"):
        (tmp_path / directory).mkdir()
        (tmp_path / directory / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))

    assert server_files("notes_server") == tmp_path / "notes_server"
