"""What an import of the public modules costs, and the names that they export."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"argparse", "logging", "asyncio", "pydantic"}
LAZY = ["toolmason_runtime", "toolmason_runtime.serving", "toolmason_runtime.programs", "toolmason_runtime.install"]


@pytest.mark.parametrize("module", LAZY)
def test_an_import_loads_no_heavy_module(module: str) -> None:
    code = f"import sys, {module}; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert HEAVY & set(result.stdout.split()) == set()


@pytest.mark.parametrize("name", LAZY)
def test_each_exported_name_resolves_and_is_typed(name: str) -> None:
    module = importlib.import_module(name)
    exports = {(source, export) for source, names in module.EXPORTS.items() for export in names}
    assert all(
        getattr(module, export) is getattr(importlib.import_module(source), export) for source, export in exports
    )

    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    typed = {
        (str(node.module), alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed == exports


WITHOUT_UNIX = """
import importlib, pkgutil, sys

import mcp.server.lowlevel, mcp.client.stdio, starlette.applications, uvicorn  # they have variants for each system

for name in ("fcntl", "resource", "pwd"):
    sys.modules[name] = None
for top in ("toolmason_runtime", "workbench_handlers", "workbench_research", "workbench_server"):
    package = importlib.import_module(top)
    for module in pkgutil.walk_packages(package.__path__, f"{top}."):
        if module.name != "toolmason_runtime.programs.launcher":  # a program of its own, for Linux
            importlib.import_module(module.name)
"""


def test_every_module_imports_without_the_modules_of_unix() -> None:
    subprocess.run([sys.executable, "-I", "-c", WITHOUT_UNIX], check=True)


def test_windows_serves_with_the_sdk_by_default_and_other_systems_with_the_lean_engine() -> None:
    code = (
        "import sys; sys.platform = sys.argv[1]; import toolmason_runtime.server.flags as flags;"
        "print(flags.DEFAULT_ENGINE)"
    )
    engines = [
        subprocess.run(
            [sys.executable, "-I", "-c", code, platform], capture_output=True, encoding="utf-8", check=True
        ).stdout.strip()
        for platform in ("win32", "darwin", "linux")
    ]
    assert engines == ["sdk", "lean", "lean"]
