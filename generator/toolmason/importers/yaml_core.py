"""Scalars of YAML 1.2, which OpenAPI and most programs use: PyYAML reads version 1.1, in which `no` is false.

`on`, `off`, `yes`, `no`, `12:30:45`, `1_000` and dates are strings, and `010` is ten.
"""

from __future__ import annotations

import re
from typing import Any, Final

_TAG: Final = "tag:yaml.org,2002:"
_FLOAT: Final = (
    r"^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
)
_SCALARS: Final = (
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    ("int", r"^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$", list("-+0123456789")),
    ("float", _FLOAT, list("-+0123456789.")),
    ("merge", r"^<<$", ["<"]),
)
"""Tag, form and first characters of each scalar (https://yaml.org/spec/1.2.2/#103-core-schema), and merge keys."""


def use_core_schema(loader: Any) -> None:
    """Change a loader class of PyYAML so that it resolves plain scalars as YAML 1.2 does."""
    loader.yaml_implicit_resolvers = {}
    for name, form, first in _SCALARS:
        loader.add_implicit_resolver(_TAG + name, re.compile(form), first)
    loader.add_constructor(f"{_TAG}int", lambda owner, node: core_int(owner.construct_scalar(node)))


def core_int(text: str) -> int:
    """Return the value of an integer: `0o17` is octal, `017` is seventeen.

    Raises:
        ValueError: it has too many digits.
    """
    return int(text, 0) if text[:2] in {"0o", "0x"} else int(text)
