"""The translator stops at what it does not know, and keeps the meaning of what it does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from npm_package import SOURCE
from translator import Program, to_js_pattern, translate
from translator.program import UnsupportedError

SEMANTICS = '''\
"""Values whose meaning differs between the languages."""

from __future__ import annotations

import re
from typing import Any, NamedTuple


class Pair(NamedTuple):
    left: Any
    right: Any = None


def results() -> list[Any]:
    order = {"10": 1, "b": 2, "2": 3}
    order |= {"2": 4}
    text = "a\\U0001f600b"
    keyed = {(1, "a"): "first", ("1", "a"): "second"}
    first, *others = [1, 2, 3]
    listed: list[int] = []
    same = listed
    listed += [1]
    pair = Pair("x")
    return [
        list(order), len(text), text[1:], text[-1], text.find("b"), [] or "empty", "" or [], bool([0]), 1 == True,
        [1] == [1.0], {"a": [1]} == {"a": [1]}, (1, "a") in keyed, keyed[("1", "a")], others, same, f"{None} {True} {1.5}",
        2**53 + 1, 10**20 - 10**20, f"{1e-07}", -7 // 2, sorted([3, 1, 2], reverse=True), "x" in "xyz", pair[1], pair,
        pair == Pair("x", None), pair._replace(right=2)[1], "a,b".partition(","), " a\\u3000".strip(), "7" < "8" < "9",
        {1, 2} <= {1, 2, 3}, {1, 2} - {2}, [*"ab"], [x for xs in [[1], [2, 3]] for x in xs if x > 1], max([1, 5], [2]),
        [0, [1]] * 2, "ab" * 3, [0] * -1, "ab" * -1,
        [re.search(rf"x{re.escape(text)}$", f"x{text}") is not None for text in ("-1e-07", "a.b", "[^]", "(/)", "#&~ ")],
    ]
'''  # noqa: E501
TABLE = """\
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class FromTable:
    left: int
    right: int = 1


@dataclass(frozen=True, kw_only=True)
class Other:
    inner: int


def f(table: dict[str, Any]) -> Any:
    return Other(inner=FromTable(**table).left).inner
"""
UNSUPPORTED = {
    "async": "async def f() -> None: ...",
    "lambda with a default": "def f() -> None:\n    raise",
    "class decorator": "def f() -> None:\n    with open('x'): pass",
    "else of for": "def f() -> None:\n    for x in []:\n        pass\n    else:\n        pass",
    "unknown global": "def f() -> object:\n    return breakpoint()",
    "unknown format": "def f(x: float) -> str:\n    return f'{x:.2f}'",
    "other keyword": "def g(a: int) -> int:\n    return a\ndef f() -> int:\n    return g(b=1)",
    "matrix": "def f(a: object) -> object:\n    return a @ a",
    "set pattern": "def f(a: object) -> int:\n    match a:\n        case [1, *_]:\n            return 1\n    return 2",
}


PLAIN = """\
const plain = (value) => {
  if (value instanceof Set || value instanceof $Tuple) return [...value];
  return typeof value === "bigint" ? String(value) : value;
};
console.log(JSON.stringify(results().map(plain)));
"""


def module_name(source: str) -> str:
    return f"translated_{zlib.crc32(source.encode())}"


def javascript(directory: Path, source: str, monkeypatch: pytest.MonkeyPatch) -> str:
    name = module_name(source)
    (directory / f"{name}.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(str(directory))
    roots = [(name, "results" if "def results" in source else "f")]
    return translate(Program({name: directory / f"{name}.py"}), roots, ())


def test_values_have_the_meaning_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = javascript(tmp_path, SEMANTICS, monkeypatch)
    module = sys.modules[module_name(SEMANTICS)]
    runtime = (SOURCE / "src" / "runtime.js").read_text(encoding="utf-8")
    (tmp_path / "run.mjs").write_text(f"{runtime}\n{code}\n{PLAIN}", encoding="utf-8")
    ran = subprocess.run(["node", str(tmp_path / "run.mjs")], check=True, capture_output=True, encoding="utf-8")
    wanted = [list(value) if isinstance(value, set) else value for value in module.results()]
    wanted = [str(value) if type(value) is int and abs(value) > 2**53 else value for value in wanted]

    assert json.loads(ran.stdout) == json.loads(json.dumps(wanted))


def test_fields_that_are_filled_from_a_table_keep_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Terser shortens the names of attributes, but not the keys of a mapping."""
    name = module_name(TABLE)
    (tmp_path / f"{name}.py").write_text(TABLE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    program = Program({name: tmp_path / f"{name}.py"})
    translate(program, [(name, "f")], ())

    assert program.table_fields == {"left", "right"}


@pytest.mark.parametrize("source", UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_an_unknown_construct_is_an_error_with_its_line(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UnsupportedError, match=r"translated_\d+\.py:\d+: "):
        javascript(tmp_path, source, monkeypatch)


@pytest.mark.parametrize(
    ("pattern", "flags", "translated"),
    [
        (r"(?P<a>\d)(?P=a)", re.ASCII, r"(?<a>\d)\k<a>"),
        (r"(?<![\w.])x\d", 0, r"(?<![\p{L}\p{N}_.])x[\p{Nd}]"),
        (r" a  [ #] # note", re.VERBOSE | re.ASCII, "a[ #]"),
        (r"[a\-]*+\-\"", 0, r'[a\-]*-"'),
    ],
)
def test_patterns_of_python_become_those_of_javascript(pattern: str, flags: int, translated: str) -> None:
    assert to_js_pattern(pattern, flags) == translated


@pytest.mark.parametrize("pattern", [r"\s", r"a\Z", r"\B"])
def test_an_unknown_escape_is_an_error(pattern: str) -> None:
    with pytest.raises(ValueError, match="is not translated"):
        to_js_pattern(pattern)
