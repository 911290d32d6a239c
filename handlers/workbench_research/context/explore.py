"""Reading by the model itself: it names searches and files, and gets their lines. There is no tool that writes.

Only files that could be sent are searched and read: ignored files and those with secrets are not. The model's calls are
data: unknown tools and files get a message, and nothing else happens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from toolmason_runtime import estimate_tokens

from workbench_handlers.workspace.scan import Scan
from workbench_research.analysis.answer_json import find_object, parse_int, parse_objects, parse_text
from workbench_research.backends.prompt_form import safe_name
from workbench_research.backends.protocol import Part
from workbench_research.context.choose import LeftOut
from workbench_research.context.material import Files, choose_files, secret_line
from workbench_research.context.number import TextFile, number_lines, read_files
from workbench_research.context.secrets import Allow, find_secrets, load_allow, mask

MAX_CALLS: Final = 30
"""Maximum calls of one question."""
MAX_ROUNDS: Final = 8
"""Maximum answers of the model with calls."""
MAX_SECONDS: Final = 600.0
MAX_LINES: Final = 400
"""Maximum lines of one call."""
MAX_FOUND_FILES: Final = 20
MAX_NAMES: Final = 300
CONTEXT_LINES: Final = 2

RULES: Final = f"""\
You can look at more of the project before you answer. For that, answer with one JSON object and nothing else:
{{"calls": [{{"tool": "grep_content", "text": "def main"}}, {{"tool": "read_files", "path": "src/app.py", "first": 1, \
"last": 80}}, {{"tool": "directory_tree", "path": "src"}}]}}
`grep_content` finds lines that contain the text, ignoring case; `read_files` gives lines of one file, at most \
{MAX_LINES}; `directory_tree` lists the files below a directory. There are no other tools. You get the lines with the \
question again. When you know enough, answer the question."""
LAST: Final = "No further calls are possible: answer the question now from what you have."


@dataclass(slots=True)
class Explorer:
    """The files of a project that may be read, and the lines that were read, in order."""

    files: dict[str, TextFile] = field(repr=False)
    allow: Allow
    budget: int
    """Tokens that can still be added."""
    parts: list[Part] = field(default_factory=list, repr=False)
    notes: list[str] = field(default_factory=list)
    calls: int = 0
    secrets: dict[tuple[str, int], LeftOut] = field(default_factory=dict)
    """Lines with secrets of the files that were read, which are masked."""

    @classmethod
    def over(cls, files: Files, scan: Scan, *, parts: Sequence[Part], budget: int) -> Explorer:
        """Return one for the files of a question, to which `parts` were sent. It blocks."""
        chosen = choose_files(files, scan)
        texts, _ = read_files(chosen.files, scan)
        return cls({file.path: file for file in texts}, load_allow(files.root), budget, list(parts))

    def run(self, call: dict[str, Any]) -> str:
        """Do one call, and return a description for progress. It blocks."""
        self.calls += 1
        tool, path = parse_text(call.get("tool"), max_chars=40), parse_text(call.get("path"), max_chars=500)
        path = path.removeprefix("./").rstrip("/")
        match tool:
            case "grep_content":
                text = parse_text(call.get("text"), max_chars=200)
                self._grep(text)
                return f"grep_content {text[:60]!r}"
            case "read_files":
                self._read(path, parse_int(call.get("first")) or 1, parse_int(call.get("last")) or MAX_LINES)
                return f"read_files {safe_name(path)[:100]}"
            case "directory_tree":
                self._list("" if path == "." else path)
                return f"directory_tree {safe_name(path)[:100]}"
        self.notes.append(f"There is no tool {safe_name(tool)!r}.")
        return "a tool that does not exist"

    def _grep(self, text: str) -> None:
        wanted = text.casefold()
        found = 0
        for path, file in self.files.items():
            if not wanted or wanted not in file.text.casefold():
                continue
            lines = self._lines(path)
            hits = [number for number, line in enumerate(lines, 1) if wanted in line.casefold()][: MAX_LINES // 4]
            if not hits:
                continue
            found += 1
            if found > MAX_FOUND_FILES:
                break
            near = {number for hit in hits for number in range(hit - CONTEXT_LINES, hit + CONTEXT_LINES + 1)}
            self._add(number_lines(path, lines, only=near))
        if not found:
            self.notes.append(f"No line contains {safe_name(text)!r}.")
        elif found > MAX_FOUND_FILES:
            self.notes.append(f"More than {MAX_FOUND_FILES} files contain {safe_name(text)!r}: search a rarer text.")

    def _read(self, path: str, first: int, last: int) -> None:
        if path not in self.files:
            self.notes.append(f"There is no file {safe_name(path)!r} that may be read.")
            return
        wanted = range(first, min(last, first + MAX_LINES - 1) + 1)
        self._add(number_lines(path, self._lines(path), only=set(wanted)))

    def _list(self, directory: str) -> None:
        names = [path for path in self.files if not directory or path.startswith(f"{directory}/")]
        more = f" and {len(names) - MAX_NAMES:,} more" if len(names) > MAX_NAMES else ""
        listed = ", ".join(map(safe_name, names[:MAX_NAMES])) or "none"
        note = f"Files below {safe_name(directory) or '.'}: {listed}{more}"
        self.budget -= estimate_tokens(note)
        self.notes.append(note)

    def _lines(self, path: str) -> list[str]:
        lines = self.files[path].lines
        found = find_secrets(path, lines, self.allow)
        self.secrets |= {(path, secret.line): secret_line(secret) for secret in found}
        return mask(lines, found) or []

    def _add(self, part: Part) -> None:
        tokens = estimate_tokens(part.text)
        if not part.text or any(part.path == known.path and part.digest == known.digest for known in self.parts):
            return
        if tokens > self.budget:
            self.notes.append(f"{safe_name(part.path)} did not fit any more.")
            return
        self.budget -= tokens
        self.parts.append(part)


def find_calls(answer: str) -> list[dict[str, Any]]:
    """Return the calls in an answer of the model; none if it is the answer to the question."""
    stripped = answer.strip().removeprefix("```json").removeprefix("```").lstrip()
    if not stripped.startswith("{"):
        return []
    parsed = find_object(stripped, ("calls",))
    return parse_objects(parsed.data.get("calls")) if parsed else []
