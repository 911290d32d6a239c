"""Tests that a page names, such as `tests/test_start.py::test_a_name`."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from pages import ROOT


@cache
def names_in(path: Path) -> frozenset[str]:
    """Return the names of the test functions of a module, without importing it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(node.name for node in functions if node.name.startswith("test_"))


def missing(tests: list[str]) -> list[str]:
    """Return the tests that no module has."""
    result = []
    for test in tests:
        path, _, name = test.partition("::")
        file = ROOT / path
        if not (path.startswith("tests/") and file.is_file() and name in names_in(file)):
            result.append(test)
    return result
