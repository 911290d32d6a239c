"""Versions of Python packages on command lines of upstreams."""

from __future__ import annotations

import pytest

from toolmason.lint.packages import packages


@pytest.mark.parametrize(
    ("spec", "is_exact", "name"),
    [
        ("notes", False, "notes"),
        ("notes==2.1", True, "notes"),
        ("notes == 2.1", True, "notes"),
        ("notes[sql]===2.1", True, "notes"),
        ("notes==2.1; python_version > '3.11'", True, "notes"),
        ("notes>=2,==2.1", True, "notes"),
        ("notes==2.*", False, "notes"),
        ("notes~=2.1", False, "notes"),
        ("notes@2.1", True, "notes"),
        ("notes@latest", False, "notes"),
        ("my.notes[a,b]>=2", False, "my.notes"),
        ("notes @ https://example.com/notes.whl#sha256=" + "0c" * 32, True, "notes"),
        ("notes @ git+https://example.com/notes@main", False, "notes"),
        ("git+https://example.com/notes@" + "0c" * 20, True, "git+https://example.com/notes"),
        ("git+https://example.com/notes@main", False, "git+https://example.com/notes"),
    ],
)
def test_an_exact_version_of_a_python_package_is_recognized(spec: str, is_exact: bool, name: str) -> None:
    (package,) = packages(["uvx", "--from", spec, "notes"])

    assert (package.is_exact, package.plain_name) == (is_exact, name)
