"""The pages of `toolmason COMMAND --help` that are printed without click are those that click writes."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from pytest_regressions.file_regression import FileRegressionFixture

from toolmason import installation
from toolmason.commands import toolmason
from toolmason.shortcuts import print_without_click
from toolmason.shortcuts.help_pages import HELP_FILE, PROMPT, help_page


def commands(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of each command, without those of installed importers."""
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(below, (*words, name))


PAGES = [words for words in commands(toolmason) if words != ("import",)]


def click_help(words: tuple[str, ...]) -> str:
    # CliRunner writes 80 columns wide; click itself leaves the last two of a terminal free.
    result = CliRunner().invoke(toolmason, [*words, "--help"], prog_name="toolmason", terminal_width=78)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.uncovered
@pytest.mark.real_start(reason="the width of a terminal is that of a process")
@pytest.mark.parametrize("words", [(), ("import", "openapi")], ids=" ".join)
def test_a_process_prints_the_page_that_click_prints(words: tuple[str, ...]) -> None:
    environ = {name: value for name, value in os.environ.items() if name != "COLUMNS"}

    def output(**variables: str) -> str:
        command = [sys.executable, "-m", "toolmason", *words, "--help"]
        return subprocess.check_output(command, env=environ | variables, encoding="utf-8", timeout=60)

    assert output() == output(COLUMNS="80")  # with the variable, the page comes from click


def test_the_pages_are_current(file_regression: FileRegressionFixture, tmp_path: Path) -> None:
    text = "".join(f"{PROMPT}{' '.join([*words, '--help'])}\n{click_help(words)}" for words in PAGES)
    file_regression.check(
        text, encoding="utf-8", newline="", fullpath=Path(HELP_FILE), obtained_filename=tmp_path / "help.txt"
    )


@pytest.mark.parametrize("option", ["--help", "-h"])
@pytest.mark.parametrize("words", [(), ("check",), ("schema", "check"), PAGES[-1]], ids=" ".join)
def test_a_page_is_printed_as_by_click(
    words: tuple[str, ...], option: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert print_without_click([*words, option])
    assert capsys.readouterr().out == click_help(words)


@pytest.mark.parametrize(
    "arguments",
    [
        *([], ["--help", "check"], ["chekc", "--help"], ["schema check", "--help"], ["", "--help"], ["check"]),
        *(["import", "--help"], ["check", "--diff", "--help"], ["--", "--help"], ["check\n", "--help"]),
    ],
    ids=repr,
)
def test_anything_else_is_left_to_click(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    assert not print_without_click(arguments)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("columns", [40, 100, 200])
def test_other_widths_are_left_to_click(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.get_terminal_size", lambda _: os.terminal_size((columns, 24)))
    monkeypatch.delenv("COLUMNS", raising=False)
    assert not print_without_click(["--help"])
    monkeypatch.setattr("os.get_terminal_size", lambda _: os.terminal_size((80, 24)))
    assert help_page([])
    monkeypatch.setenv("COLUMNS", "80")
    assert not help_page([])


def test_the_version_is_that_of_the_metadata(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "__file__", str(Path(sysconfig.get_path("purelib"), "toolmason", "x.py")))
    assert print_without_click(["--version"])
    assert capsys.readouterr().out == CliRunner().invoke(toolmason, ["--version"]).output


class FullDisk(io.StringIO):
    """A stream that fails as that of a full disk, or of a closed pipe."""

    def flush(self) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("stream", [None, FullDisk()], ids=["closed", "full disk"])
def test_an_output_that_fails_is_left_to_click(stream: FullDisk | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr("sys.stdout", stream)
    assert not print_without_click(["--help"])
