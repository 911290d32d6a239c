"""One Python file with a command for each tool of an MCP server. It needs click, rich and the SDK, not toolmason."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any, Final

from toolmason_runtime.shared.client_profiles import TOOLMASON

from toolmason.audit.server_lists import ServerDescription
from toolmason.catalogue.tool_commands import CommandSource, category_commands, dashed
from toolmason.render.environment import make_environment
from toolmason.render.format_python import format_python

PARTS: Final = ("declarations", "values", "terminal", "output", "completion", "app")
"""Modules of `toolmason_runtime.tool_commands` that the file contains, in this order."""
MAX_SUMMARY_CHARS: Final = 120
"""Characters of a description in the list of commands."""
_PACKAGE: Final = "toolmason_runtime.tool_commands"


def single_file(
    described: ServerDescription,
    *,
    program: str,
    command: Sequence[str] = (),
    url: str = "",
    headers: Mapping[str, str],
) -> str:
    """Return the file for a server.

    Args:
        described: what the server says about itself.
        program: name of the file, for the examples in it.
        command: words of the command line that starts the server; variables as `$NAME`.
        url: its URL instead.
        headers: headers of the requests to the URL.
    """
    sources = [_source(tool) for tool in described.tools]
    name = dashed(described.name) or "server"
    built = category_commands(name, described.title or described.name or name, sources)
    imports, body = _library()
    text = (
        make_environment()
        .get_template("tool_commands/single_file.py.jinja")
        .render(
            described=described,
            built=built,
            client_name=TOOLMASON,
            program=program,
            command=tuple(command),
            url=url,
            headers=dict(headers),
            made_by=shlex.join(["toolmason", "cli", "-o", program, *([url] if url else ["--", *command])]),
            imports=imports,
            library=body,
        )
    )
    path = PurePosixPath("cli.py")
    return format_python({path: text})[path]


def _source(tool: Mapping[str, Any]) -> CommandSource:
    description = str(tool.get("description") or tool.get("title") or tool["name"]).strip()
    summary, rest = _first_sentence(description)
    schema = tool.get("inputSchema")
    return CommandSource(
        name=str(tool["name"]),
        summary=summary,
        description=rest,
        schema=schema if isinstance(schema, dict) else {},
    )


def _first_sentence(text: str) -> tuple[str, str]:
    """Return the first sentence of a description without its full stop, and the rest; all words are in one of them."""
    line, _, rest = text.partition("\n")
    match = re.match(r"(.{1,120}?)[.;:]\s+(?=\S)", line)
    if match:
        return match[1], f"{line[match.end() :]}\n{rest}".strip()
    if len(line) <= MAX_SUMMARY_CHARS:
        return line.removesuffix("."), rest.strip()
    return f"{line[:MAX_SUMMARY_CHARS].rpartition(' ')[0] or line[:MAX_SUMMARY_CHARS]} ...", text


def _library() -> tuple[str, str]:
    """Return the imports and the code of `PARTS`, as one module."""
    plain: set[str] = set()
    names: dict[str, set[str]] = {}
    bodies = []
    for part in PARTS:
        text = files(_PACKAGE).joinpath(f"{part}.py").read_text(encoding="utf-8")
        tree = ast.parse(text)
        imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        for node in imports:
            if isinstance(node, ast.Import):
                plain |= {alias.name for alias in node.names}
            elif node.module != "__future__" and not (node.module or "").startswith(_PACKAGE):
                names.setdefault(node.module or "", set()).update(alias.name for alias in node.names)
        start = max(node.end_lineno or 0 for node in imports)
        body = "\n".join(text.splitlines()[start:]).strip("\n")
        bodies.append(re.sub(r"  # noqa:.*", "", body))
    return "\n".join(_import_lines(plain | {"asyncio", "logging", "tempfile"}, names)), "\n\n\n".join(bodies)


def _import_lines(plain: set[str], names: Mapping[str, set[str]]) -> Iterator[str]:
    """Yield sorted imports: the standard library, then click."""
    for name in sorted(plain - {"click"}):
        yield f"import {name}"
    for module in sorted(names):
        yield f"from {module} import {', '.join(sorted(names[module]))}"
    yield ""
    yield "import click"
