"""Programs of `select` are compiled as they run, in a limited child process that reads no file."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from toolmason_runtime.apis.select import select
from toolmason_runtime.apis.select_check import compile_errors
from toolmason_runtime.shared.errors import ToolError

pytest.importorskip("jq")

pytestmark = pytest.mark.anyio

MODULES = [
    'import "planted" as $x; $x',
    'import "planted" as $x {search: "./"}; $x',
    'import "planted" as $x {search: "FOLDER"}; $x',
    'import "planted" as $x {search: "~/"}; $x',
    'import "planted" as x; x::f',
    'import "./planted" as x; x::f',
    'include "planted"; f',
    'include "planted" {search: "FOLDER"}; f',
    '# a comment\nimport "planted" as x; x::f',
    'module {name: "x"}; import "planted" as x; x::f',
]
"""Programs that read `planted.json` or `planted.jq` if they are compiled as they are written."""


def programs(folder: Path) -> list[str]:
    return [program.replace("FOLDER", str(folder)) for program in MODULES]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_modules_are_refused_and_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Whoever reads `/dev/zero` never ends.
    for name in ("planted.json", "planted.jq", ".jq"):
        (tmp_path / name).symlink_to("/dev/zero")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    errors = compile_errors([*programs(tmp_path), "."])

    assert all("unexpected" in error for error in errors[:-1]), errors
    assert errors[-1] == ""


@pytest.mark.parametrize("program", MODULES)
async def test_a_server_refuses_the_same_modules(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "planted.jq").write_text("def f: 1;", encoding="utf-8")
    (tmp_path / "planted.json").write_text("1", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ToolError, match="compile error"):
        await select(program.replace("FOLDER", str(tmp_path)), b"{}")


async def test_the_metadata_of_a_module_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "planted.jq").write_text('module {secret: "canary"};', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name in ("planted", "./planted", str(tmp_path / "planted")):
        with pytest.raises(ToolError) as caught:
            await select(f'"{name}" | modulemeta', b"{}")
        assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    "program",
    [
        ".",
        "map({number, title})",
        "def f: def g: 3; g; f",
        'try error("x") catch .',
        "$ENV | length",
        "[inputs]",
        ". # a comment at the end",
        '"import \\"x\\" as $x; ."',
    ],
)
def test_a_program_without_modules_is_accepted(program: str) -> None:
    assert compile_errors([program]) == ("",)


@pytest.mark.parametrize(
    "program",
    ["", " ", "# nothing", ".[", ") | (", "nothing_of_this_name", "$unknown", "[" * 60_000, "if . then " * 6_000],
)
def test_an_invalid_program_has_an_error(program: str) -> None:
    (error,) = compile_errors([program])
    assert error
    assert len(error) <= 500
