"""Names that no package of a server can have."""

from __future__ import annotations

import re
import sys
from importlib.metadata import requires

import pytest

from toolmason.manifest.package_names import MAX_NAME_CHARS, package_name_problem

REFUSED = [
    *("sitecustomize", "usercustomize", "antigravity", "this", "site", "os", "json", "Json", "asyncio", "tomllib"),
    *("imp", "distutils", "cgi", "toolmason", "toolmason_runtime", "toolmason_extra", "mcp", "mcp_types", "pydantic"),
    *("pydantic_core", "starlette", "uvicorn", "anyio", "jq", "yaml", "httpx2", "pip", "setuptools", "pkg_resources"),
    *("_distutils_hack", "conftest", "test", "tests", "setup", "noxfile", "pytest", "__init__", "__main__"),
    *("con", "NUL", "aux", "prn", "com1", "lpt9", "a" * (MAX_NAME_CHARS + 1)),
    *("os.path", "json.tool", "books.aux", "books.__main__", "books.con.tools", "pip.tools", "TESTS.books"),
]


@pytest.mark.parametrize("name", REFUSED, ids=lambda name: name[:30])
def test_a_package_that_python_its_tools_or_a_system_uses_is_refused(name: str) -> None:
    assert package_name_problem(name)


@pytest.mark.parametrize("name", sorted(sys.stdlib_module_names))
def test_every_module_of_the_standard_library_is_refused(name: str) -> None:
    assert package_name_problem(name)


@pytest.mark.parametrize(
    "name",
    ["notes", "notes_server", "json_tools", "library.tools", "books.os", "books.test", "console", "com10", "site_a"],
)
def test_other_packages_are_accepted(name: str) -> None:
    assert package_name_problem(name) == ""


MODULES = {"pyjwt": "jwt", "opentelemetry-api": "opentelemetry", "python-multipart": "python_multipart"}
"""Distribution -> the module that it installs under another name."""


def test_every_dependency_of_a_server_is_refused() -> None:
    lines = [*(requires("toolmason") or ()), *(requires("mcp") or ())]
    served = [line for line in lines if not re.search(r"extra == .(?!http)|'win32'", line)]
    names = [re.split(r"[^A-Za-z0-9_-]", line)[0] for line in served]
    modules = {MODULES.get(name, name.replace("-", "_")) for name in names}

    assert modules >= {"httpx2", "mcp", "pydantic", "starlette"}
    assert [module for module in modules if not package_name_problem(module)] == []
