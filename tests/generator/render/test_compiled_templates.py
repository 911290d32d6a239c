"""Compiled templates in the `__pycache__` of their package."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import toolmason_templates
from toolmason.render.compiled_templates import CompiledTemplates
from toolmason.render.environment import make_environment

_TEMPLATE = "docs/index.md.jinja"


@pytest.fixture(autouse=True)
def bytecode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory in which Python stores bytecode."""
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return tmp_path


def load(version: str) -> None:
    make_environment(compiled=CompiledTemplates(version)).get_template(_TEMPLATE)


def stored(directory: Path) -> dict[Path, int]:
    return {path: path.stat().st_ino for path in directory.rglob("*") if path.is_file()}


def test_a_template_is_compiled_once_for_each_version(bytecode: Path) -> None:
    load("one")
    first = stored(bytecode)
    load("one")
    again = stored(bytecode)
    load("two")

    assert first == again
    assert stored(bytecode).keys() == first.keys()
    assert stored(bytecode) != first


def test_stored_code_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    load("one")
    monkeypatch.setattr("jinja2.environment.Environment.compile", None)

    load("one")
    with pytest.raises(TypeError):
        load("two")


@pytest.mark.parametrize("damage", [b"", b"one\n", b"one\nj2", b"two\n", b"\0" * 100])
def test_a_damaged_file_is_replaced(damage: bytes, bytecode: Path) -> None:
    load("one")
    (path,) = stored(bytecode)
    whole = path.read_bytes()
    path.write_bytes(damage)
    load("one")

    assert path.read_bytes() == whole


def test_a_cut_file_is_replaced(bytecode: Path) -> None:
    load("one")
    (path,) = stored(bytecode)
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    load("one")

    assert path.read_bytes() == whole


def test_nothing_is_stored_where_python_stores_no_bytecode(bytecode: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    load("one")

    assert not stored(bytecode)


def test_a_directory_that_cannot_be_written_is_no_error(bytecode: Path) -> None:
    first = Path(toolmason_templates.__file__).parts[1]
    bytecode.joinpath(first).touch()
    load("one")

    assert [path.name for path in stored(bytecode)] == [first]
