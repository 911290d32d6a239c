"""`toolmason fmt`: the files that it formats, lists and shows, and its exit codes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from toolmason.commands import toolmason

Toolmason = Callable[..., Result]
UNFORMATTED = 'edition=1\r\ninclude = ["tools/*.toml"]\r\n[server]\r\npackage = "p"\r\nname = "n"\r\n'
FORMATTED = 'edition = 1\r\ninclude = ["tools/*.toml"]\r\n\r\n[server]\r\nname = "n"\r\npackage = "p"\r\n'


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with an unformatted manifest in two files, as the working directory."""
    (tmp_path / "manifest" / "tools").mkdir(parents=True)
    (tmp_path / "manifest" / "n.toml").write_text(UNFORMATTED, encoding="utf-8", newline="")
    (tmp_path / "manifest" / "tools" / "b.toml").write_text("[tools.b]\nhandler='x:b'\nsummary='B'", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fmt(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(toolmason, ["fmt", *arguments], input=text)


def shown(*parts: str) -> str:
    return str(Path(*parts))


def test_a_new_project_is_formatted(run: Toolmason) -> None:
    result = run("fmt", "--check")
    assert result.output == ""
    assert result.exit_code == 0


def test_all_files_of_the_manifest_are_formatted(directory: Path) -> None:
    main, included = shown("manifest", "n.toml"), shown("manifest", "tools", "b.toml")
    assert fmt("--check").output == f"{main}\n{included}\n"
    assert fmt("--check").exit_code == 1
    assert fmt("--diff").exit_code == 0
    assert "+summary = 'B'" in fmt("--diff").output
    assert fmt("--diff", "--check").exit_code == 1
    assert (directory / "manifest" / "n.toml").read_bytes() == UNFORMATTED.encode()

    result = fmt()
    assert result.output == f"{main}: formatted\n{included}: formatted\n"
    assert result.exit_code == 0
    assert (directory / "manifest" / "n.toml").read_bytes() == FORMATTED.encode()
    assert (directory / "manifest" / "tools" / "b.toml").read_bytes() == b"[tools.b]\nsummary = 'B'\nhandler = 'x:b'\n"
    assert fmt().output == "all files are formatted\n"
    assert fmt("--check").exit_code == 0


def test_a_file_that_is_not_toml_is_reported_and_the_others_are_formatted(directory: Path) -> None:
    (directory / "bad.toml").write_text("[tools.c]\nhandler =\n", encoding="utf-8")
    result = fmt("bad.toml", "missing.toml", "manifest", shown("manifest", "n.toml"))
    assert result.exit_code == 1
    assert "bad.toml:2:10: error[TM103]: not TOML: invalid value" in result.stderr
    assert "missing.toml: not formatted: No such file or directory" in result.stderr
    assert "manifest: not formatted: it is a directory" in result.stderr
    assert result.stdout == f"{shown('manifest', 'n.toml')}: formatted\n"
    assert (directory / "bad.toml").read_bytes() == b"[tools.c]\nhandler =\n"
    assert fmt("bad.toml").stdout == fmt("missing.toml").stdout == ""


@pytest.mark.usefixtures("directory")
def test_stdin_is_formatted_to_stdout() -> None:
    assert fmt("-", text="a=1").stdout_bytes == b"a = 1\n"
    result = fmt("-", text="a=")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("stdin:1:3: error: not TOML")


def test_wrong_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert fmt("x.toml", "--manifest", "y.toml").exit_code == 2
    assert "no manifest/*.toml" in fmt().stderr
    assert fmt().exit_code == 2
