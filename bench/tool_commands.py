"""`python -m bench.tool_commands --fastmcp PROGRAM --mcporter PROGRAM`: the table of `docs/tool-commands.md`.

Each program makes a command line of Workbench, with its tools as an unknown client sees them, and is then measured: the
start, the tokens of its help, and one call. PROGRAM is the path of `fastmcp` or `mcporter`; without it, the row is left
out. The interpreter of a file is that of its program.
"""

# ruff: noqa: T201  a command prints

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import NamedTuple

from toolmason_runtime.shared.tokens import estimate_tokens

from bench.rounds import alternate

ROOT = Path(__file__).parents[1]
RUNS = 15
SERVER = [sys.executable, "-m", "workbench_server", "--classic", "--root", str(ROOT)]


class Contestant(NamedTuple):
    """The command line of a program, its arguments for the list of commands, the help of one, and a call."""

    command: list[str]
    listing: list[str]
    help_of_one: list[str]
    call: list[str]


def contestants(folder: Path, *, fastmcp: Path | None, mcporter: Path | None) -> dict[str, Contestant]:
    """Make the command lines in `folder`."""
    call = ["--path", str(ROOT / "README.md")]
    own = folder / "own.py"
    make([sys.executable, "-m", "toolmason", "cli", "-o", str(own), "--", *SERVER])
    found = {
        "`toolmason-workbench`": Contestant(
            [sys.executable, "-m", "workbench_server"],
            ["tools", "--help"],
            ["git", "log", "--help"],
            ["--root", str(ROOT), "files", "get-file-info", *call],
        ),
        "`toolmason cli`": Contestant(
            [sys.executable, str(own)], ["--help"], ["git-log", "--help"], ["get-file-info", *call]
        ),
    }
    if fastmcp:
        theirs = folder / "fastmcp_cli.py"
        configuration = folder / "mcp.json"
        entry = {"command": SERVER[0], "args": SERVER[1:]}
        configuration.write_text(json.dumps({"mcpServers": {"workbench": entry}}), encoding="utf-8")
        make([str(fastmcp), "generate-cli", str(configuration), str(theirs), "--force"])
        python = str(fastmcp.with_name("python"))
        git_log = named(theirs.read_text(encoding="utf-8"), "git_log")
        info = named(theirs.read_text(encoding="utf-8"), "get_file_info")
        found["`fastmcp generate-cli`"] = Contestant(
            [python, str(theirs)], ["call-tool", "--help"], ["call-tool", git_log, "--help"], ["call-tool", info, *call]
        )
        found["`fastmcp call`"] = Contestant(
            [str(fastmcp)],
            ["list", str(configuration)],
            ["list", str(configuration), "--input-schema"],
            ["call", str(configuration), info, f"path={call[1]}"],
        )
    if mcporter:
        bundle = folder / "mcporter.js"
        command = " ".join(SERVER)
        output = ["--output", str(folder / "m.ts"), "--bundle", str(bundle), "--runtime", "node"]
        make([str(mcporter), "generate-cli", "--command", command, *output])
        found["`mcporter generate-cli`"] = Contestant(
            ["node", str(bundle)], ["--help"], ["workbench-git-log", "--help"], ["workbench-get-file-info", *call]
        )
    return found


def named(text: str, name: str) -> str:
    """Return the name of a tool in a generated file, with the prefix that the server adds."""
    return f"workbench_{name}" if f"workbench_{name}" in text else name


def make(command: list[str]) -> None:
    """Run a generator."""
    subprocess.run(command, check=True, capture_output=True, cwd=tempfile.gettempdir())  # noqa: S603  of our own


def run(command: list[str]) -> str:
    """Return the output of a command that succeeds."""
    folder = tempfile.gettempdir()
    ran = subprocess.run(command, check=False, capture_output=True, encoding="utf-8", cwd=folder)  # noqa: S603  as above
    if ran.returncode != 0:
        raise SystemExit(f"{command}: {ran.stderr}")
    return ran.stdout


def seconds(commands: Mapping[str, list[str]], count: int) -> dict[str, float]:
    """Return the median time of each command; they run in turn."""

    def timed(command: list[str]) -> float:
        started = time.perf_counter()
        run(command)
        return time.perf_counter() - started

    results = alternate(count, {name: lambda command=command: timed(command) for name, command in commands.items()})
    return {name: median(times) for name, times in results.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.tool_commands", description=__doc__)
    parser.add_argument("--fastmcp", type=Path, metavar="PROGRAM")
    parser.add_argument("--mcporter", type=Path, metavar="PROGRAM")
    parser.add_argument("--runs", type=int, default=RUNS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        found = contestants(Path(name), fastmcp=options.fastmcp, mcporter=options.mcporter)
        version = {"--version": [sys.executable, "-m", "workbench_server", "--version"]}
        helps = {key: [*each.command, *each.help_of_one] for key, each in found.items()}
        starts = seconds({**helps, **version}, options.runs)
        calls = seconds({key: [*each.command, *each.call] for key, each in found.items()}, options.runs)
        print("| | start, ms | of `--version` | call, ms | tokens of the list of commands | of one command |")
        print("| --- | --- | --- | --- | --- | --- |")
        for key, each in found.items():
            tokens = [estimate_tokens(run([*each.command, *words])) for words in (each.listing, each.help_of_one)]
            ratio = starts[key] / starts["--version"]
            numbers = f"{starts[key] * 1000:.0f} | {ratio:.2f} | {calls[key] * 1000:.0f}"
            print(f"| {key} | {numbers} | {tokens[0]:,} | {tokens[1]:,} |")


if __name__ == "__main__":
    main()
