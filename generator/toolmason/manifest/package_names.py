"""The names that a package of a server cannot have, since Python, its tools or an operating system use them."""

from __future__ import annotations

import sys
from typing import Final

MAX_NAME_CHARS: Final = 100
"""Maximum characters of each part of a package: file systems accept names of 255 bytes."""

_STARTUP: Final = frozenset({"antigravity", "sitecustomize", "this", "usercustomize"})
"""Modules that Python imports by itself at its start, and those that do something when they are imported."""
_TOOLS: Final = frozenset(
    {
        *("_distutils_hack", "build", "conftest", "distutils", "easy_install", "ensurepip", "noxfile", "pip"),
        *("pkg_resources", "pytest", "setup", "setuptools", "site_packages", "test", "tests", "uv", "venv", "wheel"),
    }
)
"""Modules of installers, and those that test runners collect or import before others."""
_REQUIRED: Final = frozenset(
    {
        *(
            "annotated_types",
            "anthropic",
            "anyio",
            "attr",
            "attrs",
            "certifi",
            "click",
            "cryptography",
            "dotenv",
            "email_validator",
        ),
        *(
            "h11",
            "httpcore",
            "httpcore2",
            "httpx",
            "httpx2",
            "httpx_sse",
            "httptools",
            "idna",
            "importlib_metadata",
            "jinja2",
            "jq",
            "jsonref",
        ),
        *(
            "jsonschema",
            "jsonschema_specifications",
            "jwt",
            "markupsafe",
            "mcp",
            "mcp_types",
            "msgspec",
            "multipart",
            "opentelemetry",
        ),
        *("botocore", "detect_secrets", "google", "keyring", "openai", "tree_sitter"),
        *("packaging", "pathspec", "pydantic", "pydantic_core", "pydantic_settings", "python_multipart", "redis"),
        *("referencing", "regex", "rpds", "rust_regex", "six", "sniffio", "snowballstemmer", "sse_starlette"),
        *(
            "starlette",
            "tenacity",
            "tomlkit",
            "typer",
            "typing_extensions",
            "typing_inspection",
            "uvicorn",
            "uvloop",
            "yaml",
        ),
    }
)
"""Modules of the packages that a server, or its extras, import: a package of the same name would replace them."""
_SPECIAL: Final = frozenset({"__init__", "__main__", "__pycache__"})
DEVICE_NAMES: Final = frozenset(
    {"con", "prn", "aux", "nul", *(f"{name}{number}" for name in ("com", "lpt") for number in range(1, 10))}
)
"""Device names of Windows, reserved with any suffix.

https://learn.microsoft.com/windows/win32/fileio/naming-a-file
"""
_STANDARD: Final = frozenset(
    {
        *(name.casefold() for name in sys.stdlib_module_names),
        # Of other versions of Python than this one.
        *("asynchat", "asyncore", "binhex", "cgi", "cgitb", "compression", "formatter", "imp", "macpath", "parser"),
        *("smtpd", "symbol", "tomllib", "annotationlib", "pathlib", "zoneinfo", "graphlib", "xdrlib", "crypt"),
    }
)


def package_name_problem(name: str) -> str:
    """Return the reason why a package cannot have a dotted name; empty if it can. Case makes no difference.

    Case-insensitive file systems, those of macOS and Windows, find a package under every spelling.
    """
    parts = [part.casefold() for part in name.split(".")]
    for part in parts:
        if len(part) > MAX_NAME_CHARS:
            return f"a name of {len(part):,} characters; at most {MAX_NAME_CHARS} are allowed"
        if part in _SPECIAL:
            return f"`{part}` is a name with a meaning for Python"
        if part in DEVICE_NAMES:
            return f"`{part}` is a device on Windows"
    top = parts[0]
    if top in _STARTUP:
        return f"Python imports `{top}` by itself"
    if top in _STANDARD or top in _REQUIRED or top.startswith("toolmason"):
        return f"`{top}` is the name of another package"
    if top in _TOOLS:
        return f"`{top}` is the name of a module that installers or test runners import"
    return ""
