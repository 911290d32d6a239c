"""Read `charset` of `.editorconfig` files (https://spec.editorconfig.org), which are inside the roots."""

from __future__ import annotations

import re
from typing import Final

from toolmason_runtime import ToolError

from workbench_handlers.workspace.open import open_file
from workbench_handlers.workspace.roots import Located

MAX_BYTES: Final = 65_536
"""Maximum bytes of an `.editorconfig` that are read."""
_MATCH_S: Final = 0.1
"""Seconds for one section: a repository of others may have `[*a*a*a*a*b]`."""
_SPECIAL: Final = re.compile(
    r"\\(?P<escaped>.)|(?P<any>\*\*)|(?P<part>\*)|(?P<one>\?)|\{(?P<first>-?\d+)\.\.(?P<last>-?\d+)\}"
    r"|\[(?P<set>!?[^\]/]{1,200}+)\]|(?P<open>\{(?=[^{},]*+,[^{}]*+\}))|(?P<close>\})|(?P<comma>,)"
)


def charset_of(located: Located) -> str:
    """Return the charset for a file, in lower case; empty if there is none. Accesses the disk, so it may block."""
    directory = located
    while directory.parts:
        directory = directory.parent
        text = _read(directory.child(".editorconfig"))
        value, is_top = _charset(text, "/".join(located.parts[len(directory.parts) :]))
        if value or is_top:
            return "" if value == "unset" else value
    return ""


def _read(located: Located) -> str:
    try:
        with open_file(located) as stream:
            return stream.read(MAX_BYTES).decode("utf-8-sig", "replace")
    except (ToolError, OSError):
        return ""


def _charset(text: str, path: str) -> tuple[str, bool]:
    """Return the charset of the last section that matches a path, and whether the file is the topmost one."""
    value, is_top, applies = "", False, None
    for raw in text.splitlines():
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if line.startswith("[") and line.endswith("]"):
            applies = _matches(line[1:-1], path)
            continue
        key, _, setting = (part.strip().lower() for part in line.partition("="))
        if applies is None:
            is_top = is_top or (key == "root" and setting == "true")
        elif applies and key == "charset":
            value = setting
    return value, is_top


def _matches(glob: str, path: str) -> bool:
    """Return whether a section matches a path below its file; without a slash, it matches the name at any depth."""
    import regex  # takes 50 ms; few projects have such a file

    anchored = "/" in glob
    try:
        name = path if anchored else path.rpartition("/")[2]
        return regex.fullmatch(_regex(glob.removeprefix("/")), name, timeout=_MATCH_S) is not None
    except (regex.error, TimeoutError):
        return False


def _regex(glob: str) -> str:
    pieces, position, depth = [], 0, 0
    for match in _SPECIAL.finditer(glob):
        pieces.append(re.escape(glob[position : match.start()]))
        position = match.end()
        kind = match.lastgroup or ""
        if kind == "escaped":
            pieces.append(re.escape(match["escaped"]))
        elif kind == "last":
            first, last = sorted((int(match["first"]), int(match["last"])))
            numbers = range(first, min(last, first + 1000) + 1)
            pieces.append(f"(?:{'|'.join(map(str, numbers))})")
        elif kind == "set":
            inverted, members = ("^", match["set"][1:]) if match["set"].startswith("!") else ("", match["set"])
            pieces.append(f"[{inverted}{re.escape(members).replace(chr(92) + '-', '-')}]")
        elif kind == "open":
            depth += 1
            pieces.append("(?:")
        elif kind == "close" and depth:
            depth -= 1
            pieces.append(")")
        elif kind == "comma" and depth:
            pieces.append("|")
        else:
            pieces.append({"any": ".*", "part": "[^/]*", "one": "[^/]"}.get(kind, re.escape(match[0])))
    return "".join([*pieces, re.escape(glob[position:])])
