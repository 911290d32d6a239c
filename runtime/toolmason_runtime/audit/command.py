"""The command that filters and counts the lines of an audit log: of every server, and `toolmason audit`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from toolmason_runtime.audit.errors import AuditError
from toolmason_runtime.audit.lines import canonical
from toolmason_runtime.audit.log import AuditLog
from toolmason_runtime.audit.log_file import load_key
from toolmason_runtime.audit.reader import (
    DamagedLine,
    Filter,
    Sequences,
    log_files,
    parse_time,
    read_lines,
    text_of,
)
from toolmason_runtime.audit.settings import audit_settings
from toolmason_runtime.shared.catalogue import ServerEntry

DONE: Final = 0
DAMAGED: Final = 1
USAGE: Final = 2
FIELDS: Final = (
    *("event", "tool", "principal", "client", "outcome", "decision", "rule", "code", "session", "address", "surface"),
    *("server", "kind"),
)
"""The fields with a filter of their own."""
_FIRST: Final = ("time", "event", "tool", "outcome", "decision", "rule")
"""The fields at the beginning of a line of text, without their names."""
_QUIET: Final = frozenset({*_FIRST, "version", "pid", "seq", "decision"})


def audit_command(
    argv: Sequence[str] | None = None, *, prog: str, server: ServerEntry | None = None, command: str = ""
) -> int:
    """Run the command and return the exit code: 0 done, 1 damaged or missing lines, 2 wrong usage.

    Args:
        argv: the arguments after the command.
        prog: name of the command in messages.
        server: the catalogue's entry of the server, whose log is the default; None requires the argument FILE.
        command: command of that server.
    """
    parser = _parser(prog, is_required=server is None)
    options = parser.parse_args(argv)
    try:
        path = _path(options.file, server, command)
        chosen = _filter(options, path)
        files = log_files(path)
        return _run(options, chosen, files)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes the stream at exit
        return DONE
    except ValueError as error:
        return _fail(prog, str(error))
    except OSError as error:
        return _fail(prog, f"{error.filename}: {error.strerror}")


def _parser(prog: str, *, is_required: bool) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog,
        description="Show the lines of an audit log, oldest first, also those of its rotated files.",
        epilog="Exit codes: 0 done; 1 lines are damaged or missing; 2 wrong usage.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs=None if is_required else "?",
        help="the log" if is_required else "the log; default: that of this server",
    )
    for name in FIELDS:
        parser.add_argument(
            f"--{name}",
            action="append",
            metavar=name.upper(),
            help=f"only lines with this {name}; if repeated, with any of the values"
            + (", as called or by its own name" if name == "tool" else ""),
        )
    parser.add_argument("--id", metavar="ID", default="", help="only lines with this call, review, session or digest")
    parser.add_argument("--arguments", metavar="JSON", help="only calls with exactly these arguments; needs the key")
    parser.add_argument(
        "--since",
        metavar="TIME",
        help="start of the time range: 90m, 24h, 7d, or a date such as 2026-11-01T09:30 (UTC)",
    )
    parser.add_argument("--until", metavar="TIME", help="end of the time range, in the same form")
    parser.add_argument("--count", metavar="FIELDS", help="count lines by fields, such as tool,outcome")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: %(default)s")
    return parser


def _path(file: str | None, server: ServerEntry | None, command: str) -> Path:
    if file:
        return Path(file)
    assert server is not None  # noqa: S101  else FILE is required
    settings = audit_settings(server, command)
    if settings is None or not settings.path:
        raise AuditError("this server writes no audit file; give the path of a log as FILE")
    return Path(settings.path)


def _filter(options: argparse.Namespace, path: Path) -> Filter:
    equal = {name: frozenset(values) for name in FIELDS if (values := getattr(options, name))}
    if options.arguments is not None:
        try:
            arguments = json.loads(options.arguments)
        except ValueError as error:
            raise ValueError(f"--arguments is not JSON: {error}") from error
        log = AuditLog(_Nothing(), load_key(path, may_create=False), {})
        equal["args_digest"] = frozenset({log.digest(canonical(arguments))})
    return Filter(
        equal=equal,
        identity=options.id,
        since=_time(options.since, "--since"),
        until=_time(options.until, "--until"),
    )


def _time(text: str | None, flag: str) -> str:
    try:
        return parse_time(text) if text else ""
    except (ValueError, OverflowError):
        raise ValueError(
            f"{flag}: `{shown(text)}` must be a duration such as 24h, or a date such as 2026-11-01"
        ) from None


def _run(options: argparse.Namespace, chosen: Filter, files: list[Path]) -> int:
    status = DONE
    sequences = Sequences()

    def selected() -> Iterator[Mapping[str, Any]]:
        nonlocal status
        for line in read_lines(files):
            if isinstance(line, DamagedLine):
                status = DAMAGED
                print(f"{shown(str(line.file))}:{line.number}: skipped: {line.reason}", file=sys.stderr)  # noqa: T201
                continue
            sequences.add(line.fields)
            if chosen.matches(line.fields):
                yield line.fields

    lines = selected()
    if options.count:
        _print_counts(lines, [name.strip() for name in options.count.split(",") if name.strip()], options.format)
    else:
        form = _as_json if options.format == "json" else text_line
        for fields in lines:
            sys.stdout.write(f"{form(fields)}\n")
    sys.stdout.flush()
    for instance, count in sequences.missing.items():
        status = DAMAGED
        noun = "line is" if count == 1 else "lines are"
        print(f"instance {shown(instance)}: {count} {noun} missing in the sequence", file=sys.stderr)  # noqa: T201
    return status


def _print_counts(lines: Iterator[Mapping[str, Any]], names: list[str], form: str) -> None:
    counts = Counter(tuple(text_of(fields.get(name)) for name in names) for fields in lines)
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    if form == "json":
        for values, count in rows:
            sys.stdout.write(f"{_as_json({**dict(zip(names, values, strict=True)), 'count': count})}\n")
        return
    table = [["COUNT", *(shown(name).upper() for name in names)]]
    table += [[str(count), *(shown(value) or "-" for value in values)] for values, count in rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(names) + 1)]
    for row in table:
        sys.stdout.write("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() + "\n")


def text_line(fields: Mapping[str, Any]) -> str:
    """Return an event as one line for a terminal; no character of it is invisible or a control character."""
    first = [shown(text_of(fields[name])) for name in _FIRST if fields.get(name) not in {None, "allowed", "denied"}]
    if fields.get("decision") and fields["event"] in {"approval", "review"}:
        first.append(shown(text_of(fields["decision"])))
    rest = [f"{shown(name)}={_value(value)}" for name, value in fields.items() if name not in _QUIET]
    return "  ".join([*dict.fromkeys(first), " ".join(rest)])


def _value(value: object) -> str:
    text = shown(text_of(value))
    return f'"{text}"' if " " in text or not text else text


def shown(text: str | None) -> str:
    """Return a text of the log in printable ASCII: it may come from a client, and be changed in the file."""
    return json.dumps(text or "", ensure_ascii=True)[1:-1].replace("\x7f", "\\u007f")


def _as_json(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=True).replace("\x7f", "\\u007f")


class _Nothing:
    """The output of a log that only makes digests."""

    def append(self, line: bytes) -> None:
        """Drop a line."""

    def close(self) -> None:
        """Do nothing."""


def _fail(prog: str, reason: str) -> int:
    print(f"{prog}: {reason}", file=sys.stderr)  # noqa: T201  for the user
    return USAGE
