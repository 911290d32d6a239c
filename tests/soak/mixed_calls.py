"""The calls of a soak, each with the check of its answer, and the project that they work on."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

FILES: Final = 100
LINES: Final = 300
APPROVED: Final = "reviewed"
"""Directory whose changes a person approves."""
DECLINED: Final = "declined"
"""Directory whose changes a person declines."""
AUTOMATIC: Final = "automatic"
"""Directory of `--auto-approve`."""
Message = dict[str, Any]
Check = Callable[[Message], bool]

WEIGHTS: Final = {
    "read": 38,
    "find": 8,
    "grep": 8,
    "edit": 10,
    "query": 5,
    "program": 5,
    "list": 4,
    "search": 5,
    "workflow": 4,
    "invalid": 10,
    "cancel": 3,
}


@dataclass(frozen=True, slots=True)
class Call:
    """A request and the check of its response."""

    kind: str
    method: str
    params: Message
    check: Check


class Project:
    """A project with known contents, which no call changes outside of the directories of edits."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.lines = [
            [f"file {file} line {line} value {file * line % 97}\n" for line in range(LINES)] for file in range(FILES)
        ]

    def write(self) -> None:
        for name in ("files", "data", APPROVED, DECLINED, AUTOMATIC):
            self.directory.joinpath(name).mkdir(parents=True)
        for number, lines in enumerate(self.lines):
            (self.directory / "files" / f"f{number}.txt").write_text("".join(lines), encoding="utf-8")
            items = [{"name": f"item {number}-{item}"} for item in range(20)]
            (self.directory / "data" / f"d{number}.json").write_text(json.dumps({"items": items}), encoding="utf-8")
            table = "".join(f'[[items]]\nname = "{item["name"]}"\n' for item in items)
            (self.directory / "data" / f"d{number}.toml").write_text(table, encoding="utf-8")
        identity = ("-c", "user.name=Soak", "-c", "user.email=soak@example.com", "-c", "commit.gpgsign=false")
        for arguments in (
            ("init", "-q"),
            ("add", "files", "data"),
            (*identity, "commit", "-q", "-m", "the only commit"),
        ):
            subprocess.run(["git", *arguments], cwd=self.directory, check=True, capture_output=True)


class Caller:
    """A source of random calls for one client, which has its own files. One call of it runs at a time.

    `asks` is whether the client answers questions; `is_classic` whether tools are called by their own names.
    """

    def __init__(self, project: Project, number: int, *, asks: bool, is_classic: bool) -> None:
        self.project, self.number, self.asks, self.is_classic = project, number, asks, is_classic
        self.random = random.Random(number)
        self.edits = 0
        self.text = ""
        """Expected content of the edited file."""

    def calls(self, count: int) -> Iterator[Call]:
        """Yield random calls; the next one is made when the check of the last one was called."""
        for _ in range(count):
            (kind,) = self.random.choices(tuple(WEIGHTS), tuple(WEIGHTS.values()))
            call: Call = getattr(self, f"_{kind}")()
            yield call

    def _tool(self, kind: str, tool: str, arguments: Mapping[str, Any], check: Check) -> Call:
        if self.is_classic:
            return Call(kind, "tools/call", {"name": tool, "arguments": arguments}, check)
        params = {"name": "call", "arguments": {"tool_name": tool, "args": arguments}}
        return Call(kind, "tools/call", params, check)

    def _read(self) -> Call:
        blocks, requests = [], []
        for _ in range(self.random.choice((1, 1, 3))):
            file, first = self.random.randrange(FILES), self.random.randrange(1, LINES - 60)
            last = first + self.random.randrange(1, 25)  # together less than the limit of an answer
            path = f"files/f{file}.txt"
            requests.append({"path": path, "start_line": first, "end_line": last})
            text = "".join(self.project.lines[file][first - 1 : last])
            blocks.append(f"==> {path} (lines {first}-{last} of {LINES}) <==\n{text}")
        return self._tool("read", "read_files", {"files": requests}, lambda answer: texts_of(answer) == blocks)

    def _find(self) -> Call:
        name = f"f{self.random.randrange(FILES)}.txt"
        arguments = {"path": ".", "pattern": f"files/{name}"}
        expected = {"paths": [f"files/{name}"]}
        return self._tool(
            "find", "search_files", arguments, lambda answer: answer["result"]["structuredContent"] == expected
        )

    def _grep(self) -> Call:
        file, line = self.random.randrange(FILES), self.random.randrange(LINES)
        arguments = {"pattern": f"^file {file} line {line} ", "search_path": "files", "context_lines": 0}
        expected = f"files/f{file}.txt\n{line + 1}: {self.project.lines[file][line]}".rstrip()
        return self._tool("grep", "grep_content", arguments, lambda answer: expected in text_of(answer))

    def _query(self) -> Call:
        file, item = self.random.randrange(FILES), self.random.randrange(20)
        form = self.random.choice(("json", "toml"))
        arguments = {"file_path": f"data/d{file}.{form}", "jq_expression": f".items[{item}].name"}
        expected = f'"item {file}-{item}"'
        return self._tool("query", f"query_{form}", arguments, lambda answer: expected in text_of(answer))

    def _program(self) -> Call:
        if self.random.random() < 0.5:
            return self._tool(
                "program", "git_log", {"max_count": 1}, lambda answer: "the only commit" in text_of(answer)
            )
        path = f"files/f{self.random.randrange(FILES)}.txt"
        arguments = {"lines": True, "paths": [path]}
        expected = f"{LINES} {self.project.directory / path}"
        return self._tool("program", "word_count", arguments, lambda answer: text_of(answer).strip() == expected)

    def _list(self) -> Call:
        return Call("list", "tools/list", {}, lambda answer: len(answer["result"]["tools"]) >= 3)

    def _search(self) -> Call:
        if self.is_classic:
            return self._list()
        query, expected = self.random.choice(
            (("read several text files", "read_files"), ("search file contents by regex", "grep_content"))
        )
        params = {"name": "search", "arguments": {"query": query}}
        return Call("search", "tools/call", params, lambda answer: expected in text_of(answer))

    def _workflow(self) -> Call:
        needle = f"needle {self.number}-{self.random.randrange(10**6)}"
        params = {"name": "workbench-find", "arguments": {"arguments": needle}}
        return Call(
            "workflow", "prompts/get", params, lambda answer: needle in json.dumps(answer["result"]["messages"])
        )

    def _edit(self) -> Call:
        """Append to the client's file, or write it anew; the file on the disk is compared."""
        self.edits += 1
        is_declined = self.asks and self.edits % 5 == 0
        directory = DECLINED if is_declined else APPROVED if self.asks else AUTOMATIC
        path = f"{directory}/c{self.number}.txt"
        line = f"edit {self.edits} of client {self.number}\n"
        is_whole = self.edits % 7 == 1 or is_declined
        arguments = {"path": path, "match_text": "OVERWRITE_FILE" if is_whole else "APPEND_TO_FILE", "new_string": line}
        file = self.project.directory / path
        if is_declined or not file.exists():
            arguments["match_text"], is_whole = "", True
        if not is_declined:
            self.text = line if is_whole else self.text + line
        text, action = self.text, "COMMITTED" if self.asks else "AUTO_APPROVED"

        def check(answer: Message) -> bool:
            result = answer["result"].get("structuredContent", {})
            if is_declined:
                return result.get("user_action") == "REJECTED" and not file.exists()
            return result.get("user_action") == action and file.read_text(encoding="utf-8") == text

        return self._tool("edit", "propose_and_review", arguments, check)

    def _invalid(self) -> Call:
        number = self.random.randrange(10**6)
        missing = f"files/missing-{number}.txt"
        tool, arguments, expected = self.random.choice(
            (
                (f"read_filez_{number}", {}, f"read_filez_{number}"),
                ("read_files", {"files": number}, str(number)),
                ("grep_content", {"pattern": f"({number}"}, f"({number}"),
                ("read_files", {"files": [{"path": missing}]}, missing),
                ("read_files", {"files": [{"path": f"/etc/passwd/../shadow{number}"}]}, f"shadow{number}"),
                ("query_json", {"file_path": missing, "jq_expression": "."}, missing),
            )
        )
        return self._tool(
            "invalid",
            tool,
            arguments,
            lambda answer: expected in json.dumps(answer) and "root:" not in json.dumps(answer),
        )

    def _cancel(self) -> Call:
        """Search everything; the client cancels the call. An answer that was sent before is checked."""
        arguments = {"pattern": r"value \d+$", "search_path": "."}
        return self._tool("cancel", "grep_content", arguments, lambda answer: "matching lines" in text_of(answer))


def texts_of(answer: Message) -> list[str]:
    """Return the texts of a result."""
    return [block["text"] for block in answer["result"]["content"] if block["type"] == "text"]


def text_of(answer: Message) -> str:
    """Return the first text of a result."""
    return next(iter(texts_of(answer)), "")
