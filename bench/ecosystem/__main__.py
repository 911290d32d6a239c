"""`python -m bench.ecosystem`: install and start the servers, check their tools, rewrite the tables of the page."""

# ruff: noqa: T201  a command prints

from __future__ import annotations

import argparse
import datetime as dt
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Final

from bench.ecosystem.page import Result, check_list, replace_results, results_text
from bench.ecosystem.servers import (
    NO_NETWORK,
    InstallError,
    Server,
    StartError,
    has_isolation,
    install,
    list_tools,
    load_servers,
    save,
)

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "ecosystem.md"
LISTS: Final = ROOT / "build" / "ecosystem"
"""The tool lists of the last run. They are not ours, and not committed."""


def main() -> None:
    """Measure all servers and write the page, or print the results of some."""
    parser = argparse.ArgumentParser(prog="python -m bench.ecosystem", description=__doc__)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help="only these; prints the results")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the installed packages there, for another run")
    options = parser.parse_args()
    servers = load_servers()
    chosen = [server for server in servers if not options.packages or server.package in options.packages]
    if unknown := {*options.packages} - {server.package for server in servers}:
        parser.error(f"not in servers.toml: {', '.join(sorted(unknown))}")
    if not has_isolation():
        parser.error("the servers run without a network, which needs Linux, and `unshare` of util-linux as this user")
    LISTS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="ecosystem-", ignore_cleanup_errors=True) as directory:
        packages = options.keep.resolve() if options.keep else Path(directory, "packages")
        try:
            results = [_measure(server, packages, Path(directory, "homes", server.file_name)) for server in chosen]
        except InstallError as error:
            parser.exit(1, f"cannot be installed: {error}\n")
    text = results_text(results, day=dt.datetime.now(dt.UTC).date(), product=f"toolmason {version('toolmason')}")
    if options.packages:
        print(text)
    else:
        PAGE.write_text(replace_results(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")


def _measure(server: Server, packages: Path, home: Path) -> Result:
    print(f"{server.package} {server.version} ...", file=sys.stderr)
    path = LISTS / f"{server.file_name}.json"
    path.unlink(missing_ok=True)
    try:
        programs = install(server, packages / server.file_name / server.version)
        save(path, list_tools(server, programs, home, before=NO_NETWORK))
    except StartError as error:
        return Result(server=server, reason=str(error))
    return check_list(server, path)


if __name__ == "__main__":
    main()
