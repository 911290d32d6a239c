"""Random edits of files with many encodings and line breaks, and the bytes that they lose outside of the edit."""

from __future__ import annotations

import base64
import json
import random
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolmason_runtime import ToolError

from bench.editing.servers import TIMEOUT_S, TOOL, Editor
from bench.session import SessionError, Workspace
from workbench_handlers.editing.text.apply import apply_request
from workbench_handlers.editing.text.request import Edit, parse_request

SEED: Final = 12
APPEND: Final = "APPEND_TO_FILE"
_SCRIPT: Final = Path(__file__).with_name("fs_mcp_edits.py")

_ENCODINGS: Final = (
    *(("utf-8", b""), ("utf-8", b""), ("utf-8", b"\xef\xbb\xbf"), ("utf-16-le", b"\xff\xfe")),
    *(("utf-16-be", b"\xfe\xff"), ("latin-1", b""), ("shift_jis", b""), ("stray", b"")),
)
"""Encodings with their byte order marks; `stray` is UTF-8 with bytes that are invalid in it."""
_WORDS: Final = ("alpha", "beta", "tab\there", "  indented", "x" * 80, "trailing  ", "")
_WIDE: Final = {
    "utf-8": ("naïve", "世界", "\U0001f600", "\u2028", "\x0b\x0c", "\x85", "e\u0301", "\u00a0", "“quoted”"),
    "latin-1": ("naïve", "\xa0", "\x85", "æøå"),
    "shift_jis": ("日本語", "テスト", "ｱｲｳ"),
}
_BREAKS: Final = ("\n", "\r\n", "\r", "mixed")
_ENDS: Final = ("none", "one", "several")


@dataclass(frozen=True, slots=True)
class Case:
    """One file and one call. `before` and `after` are the bytes that the edit does not touch."""

    data: bytes
    arguments: dict[str, Any]
    before: bytes
    after: bytes


@dataclass(frozen=True, slots=True)
class Losses:
    """The results of many edits: files changed outside of the edited place, bytes missing there, and refused edits."""

    edits: int
    damaged: int
    lost: int
    refused: int


def make_cases(count: int) -> Iterator[Case]:
    """Yield the same cases in every run."""
    chosen = random.Random(SEED)  # noqa: S311  a fuzz, not a secret
    for _ in range(count):
        yield _case(chosen)


def lose_with_ours(cases: Sequence[Case]) -> Losses:
    """Apply the edits with the pure function behind our tool."""
    return _count(cases, [_apply(case) for case in cases])


def lose_with_our_server(editor: Editor, cases: Sequence[Case]) -> Losses:
    """Send the edits to the server, whose user approves them."""
    results: list[bytes | None] = []
    for number, case in enumerate(cases):
        file = editor.project / f"{number}.txt"
        file.write_bytes(case.data)
        reply = editor.call(TOOL, path=file.name, **case.arguments)
        results.append(None if reply.is_error else file.read_bytes())
    return _count(cases, results)


def lose_with_fs_mcp(workspace: Workspace, python: str, cases: Sequence[Case]) -> Losses:
    """Call fs-mcp's own function for each edit in its interpreter; its review is approved without a wait.

    Raises:
        SessionError: the script failed.
    """
    directory = workspace.directory / "editing" / "fuzz"
    directory.mkdir(parents=True)
    given = directory / "cases.jsonl"
    with given.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps([_encode(case.data), case.arguments]) + "\n" for case in cases)
    ran = subprocess.run(  # noqa: S603  the interpreter with fs-mcp
        [python, str(_SCRIPT), str(given)],
        env={**workspace.environment(), "TMPDIR": str(directory)},
        cwd=directory,
        capture_output=True,
        check=False,
        timeout=TIMEOUT_S,
    )
    if ran.returncode:
        raise SessionError(f"fs-mcp: {ran.stderr.decode('utf-8', 'replace')[-2000:]}")
    results = [json.loads(line) for line in (directory / "results.jsonl").read_text("utf-8").splitlines()]
    return _count(cases, [None if result is None else base64.b64decode(result) for result in results])


def _case(chosen: random.Random) -> Case:
    encoding, mark = chosen.choice(_ENCODINGS)
    codec = "utf-8" if encoding == "stray" else encoding
    words = (*_WORDS, *_WIDE.get(codec, _WIDE["utf-8"]))
    style, end = chosen.choice(_BREAKS), chosen.choice(_ENDS)

    def line_break() -> str:
        return chosen.choice(_BREAKS[:3]) if style == "mixed" else style

    lines = [
        f"{chosen.choice(words)} key-{number:03} {chosen.choice(words)}" for number in range(chosen.randint(1, 30))
    ]
    text = "".join(f"{line}{line_break()}" for line in lines[:-1]) + lines[-1]
    text += "" if end == "none" else "".join(line_break() for _ in range(1 if end == "one" else 3))
    stray = chosen.randrange(len(lines)) if encoding == "stray" else -1

    def encoded(part: str) -> bytes:
        data = part.encode(codec)
        return (
            data.replace(f"key-{stray:03}".encode(), f"key-{stray:03}".encode() + b"\xff\xe9\x80")
            if stray >= 0
            else data
        )

    whole = mark + encoded(text)
    if chosen.random() < 0.2:
        return Case(whole, {"match_text": APPEND, "new_string": "appended"}, whole, b"")
    first, last = sorted((chosen.randrange(len(lines)), chosen.randrange(len(lines))))
    pairs = {f"key-{number:03}": chosen.choice(("changed", "", "key")) for number in {first, last}}
    edits = [{"match_text": old, "new_string": new} for old, new in pairs.items()]
    arguments: dict[str, Any] = edits[0] if len(edits) == 1 else {"edits": edits}
    start, stop = text.index(f"key-{first:03}"), text.index(f"key-{last:03}") + len("key-000")
    return Case(whole, arguments, mark + encoded(text[:start]), encoded(text[stop:]))


def _apply(case: Case) -> bytes | None:
    arguments = case.arguments
    edits = [Edit(edit["match_text"], edit["new_string"]) for edit in arguments.get("edits", ())]
    request = parse_request(
        match_text=arguments.get("match_text"),
        new_string=arguments.get("new_string"),
        edits=edits,
        expected_replacements=None,
        bypass_match_text_limit=False,
    )
    try:
        return apply_request(request, case.data, "file.txt").data
    except ToolError:
        return None


def _count(cases: Sequence[Case], results: Sequence[bytes | None]) -> Losses:
    damaged = lost = refused = 0
    for case, result in zip(cases, results, strict=True):
        if result is None:
            refused += 1
        elif not (result.startswith(case.before) and result.endswith(case.after)):
            damaged += 1
            lost += (Counter(case.before + case.after) - Counter(result)).total()
    return Losses(len(cases), damaged, lost, refused)


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
