"""The result of a tool on standard output: tables on a terminal, the text of the result in a pipe, or JSON."""

from __future__ import annotations

import io
import json
import os
import sys
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from toolmason_runtime.tool_commands.terminal import note, safe, safe_json

MAX_CELL_CHARS: Final = 200
"""Characters of one cell of a table."""


class OutputError(Exception):
    """The output cannot be written; the message has the reason."""


FAILED: Final = 1
CLOSED_PIPE: Final = 141


def guarded(program: str, work: Callable[[], int]) -> int:
    """Return the exit code of `work`, which writes to standard output, also if the output cannot be written."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A result can have characters that the encoding of the output lacks, such as half of a surrogate pair.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = work()
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
        return CLOSED_PIPE
    except OSError as error:
        _discard_output()
        note(f"{program}: {error.strerror or error}")
        return FAILED
    except OutputError as error:
        note(f"{program}: {error}")
        return FAILED
    return code


def _discard_output() -> None:
    """Discard what the stream still has: Python would fail again when it closes the stream."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write(text: str) -> None:
    """Write to standard output.

    Raises:
        OutputError: it is closed.
    """
    if sys.stdout is None:
        raise OutputError("standard output is closed")
    sys.stdout.write(text)


def show_result(result: Mapping[str, Any], *, as_json: bool, output: str) -> None:
    """Print a result of MCP; errors go to standard error. `output` is the file for its content; empty for none.

    Raises:
        OutputError: the file cannot be written.
    """
    if result.get("isError"):
        note("\n".join(_texts(result)) or "the tool failed without a message")
        return
    if output:
        _save(result, output)
        return
    if as_json:
        write(f"{_json_text(json_value(result))}\n")
        return
    if not _is_terminal():
        write(_ended("\n".join(_texts(result))))
        return
    value = result.get("structuredContent")
    if value is None or not _show_tables(value):
        write(_ended(safe("\n".join(_texts(result)))))


def _json_text(value: Any) -> str:
    if not _is_terminal():
        return json.dumps(value, ensure_ascii=False)
    return safe_json(json.dumps(value, ensure_ascii=False, indent=2))


def json_value(result: Mapping[str, Any]) -> Any:
    """Return the value that `--json` prints: the structured result, else the text, which may be JSON itself.

    A result with pictures and the like is the list of its parts.
    """
    if result.get("structuredContent") is not None:
        return result["structuredContent"]
    content = result.get("content", ())
    if any(part.get("type") != "text" for part in content):
        return content
    text = "\n".join(part["text"] for part in content)
    try:
        value = json.loads(text, parse_constant=_refused_constant)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict | list) else text


def _refused_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number of JSON")


def _texts(result: Mapping[str, Any]) -> Iterator[str]:
    for part in result.get("content", ()):
        kind = part.get("type")
        if kind == "text":
            yield str(part.get("text", ""))
        elif kind in {"image", "audio"}:
            size = len(part.get("data", "")) * 3 // 4
            yield f"[{kind}: {part.get('mimeType', '')}, {size:,} bytes; --output FILE writes it]"
        elif kind == "resource":
            resource = part.get("resource", {})
            yield str(resource.get("text", f"[resource: {resource.get('uri', '')}]"))
        else:
            yield f"[{kind}: {part.get('uri', '')}]"


def _save(result: Mapping[str, Any], output: str) -> None:
    """Write the first picture or other binary part of a result, else its text."""
    content = result.get("content", ())
    encoded = [part.get("data") or part.get("resource", {}).get("blob") for part in content]
    data = next((each for each in encoded if each), None)
    try:
        body = _ended("\n".join(_texts(result))).encode("utf-8", "replace") if data is None else b64decode(data)
        Path(output).write_bytes(body)
    except Base64Error:
        raise OutputError("the tool returned invalid base64") from None
    except (OSError, ValueError) as error:
        raise OutputError(f"cannot write `{output}`: {getattr(error, 'strerror', None) or error}") from None


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def _show_tables(value: Any) -> bool:
    """Print a value as tables: a list of objects, or an object with such lists. Return whether that is possible."""
    members = value if isinstance(value, dict) else {"": value}
    if not members or not all(_is_scalar(each) or _is_list_of_objects(each) for each in members.values()):
        return False
    if not any(_is_list_of_objects(each) for each in members.values()):
        return False
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        return False
    console = Console()
    for name, each in members.items():
        if _is_scalar(each):
            console.print(Text(f"{safe(name)}: {_cell(each)}"))
            continue
        columns = list(dict.fromkeys(key for row in each for key in row))
        table = Table(title=Text(safe(name)) if name else None, title_justify="left", show_edge=False)
        for column in columns:
            table.add_column(Text(safe(column)), overflow="fold")
        for row in each:
            table.add_row(*(Text(_cell(row.get(column))) for column in columns))
        console.print(table)
    return True


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, dict | list) or not value


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, Sequence) and bool(value) and all(isinstance(each, dict) for each in value)


def _cell(value: Any) -> str:
    if value is None or value in ([], {}):
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return safe(text if len(text) <= MAX_CELL_CHARS else f"{text[:MAX_CELL_CHARS]}...")
