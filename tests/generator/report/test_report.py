"""`toolmason report`: the page has the numbers of the other commands, and only them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]
Edit = Callable[[str, str], None]
EACH = "a person approves each call"
NOBODY = "nobody is asked"
NO_CALL = "the policy permits no call"
VOID = {"br", "link", "meta"}


class Page(HTMLParser):
    """The elements, addresses and texts of a page. Its elements must be closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID and not (self.get_starttag_text() or "").endswith("/>"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not (self.get_starttag_text() or "").endswith("/>") or self._open[-1:] == [tag]:
            assert self._open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.texts.append(" ".join(data.split()))

    @property
    def text(self) -> str:
        return " ".join(filter(None, self.texts))


def without_spaces(text: str) -> str:
    """The text without the spaces that elements add between words."""
    return "".join(text.split())


def test_each_section_has_its_numbers(toolmason_run: Run) -> None:
    assert toolmason_run("release").exit_code == 0
    page = Page(toolmason_run("report", "--queries", "queries.toml").output).text

    for part in (
        "Desk <of> Ada",
        "Tools and tokens",
        "By category and client",
        "MCP clients",
        "queries from queries.toml find their tool first",
        "Confused tools",
        "Look-alike tools",
        "desk:guard checks the arguments of each call",
        "each call is recorded in calls.jsonl",
        "No changes between contract.lock and desk.toml.",
    ):
        assert part in page, part


def test_the_tokens_are_those_of_stats(toolmason_run: Run) -> None:
    page = Page(toolmason_run("report").output).text
    rows = re.findall(
        r"^(Claude Code|Codex|Gemini CLI|OpenCode) +([\d,]+)$", toolmason_run("stats").output, re.MULTILINE
    )

    assert len(rows) == 4
    for client, tokens in rows:
        assert f"{client}: {tokens} tokens" in page
    total = re.search(r"^all tools +\S+ +(\S+)", toolmason_run("stats").output, re.MULTILINE)
    assert total is not None
    assert f"Tokens of all tools: {total[1]}" in page


@pytest.mark.parametrize(
    ("target", "title"),
    [("mcp", "MCP clients"), *((name, name) for name in ("openai-strict", "anthropic", "gemini-json", "openai"))],
)
def test_the_verdicts_are_those_of_schema_check(toolmason_run: Run, target: str, title: str) -> None:
    page = Page(toolmason_run("report").output).text
    result = toolmason_run("schema", "check", "--json", "--target", target, "--fail-on", "never")
    summary = json.loads(result.output)
    row = re.search(rf"\b{title} (\d+) (\d+) (\d+)\b", page)

    assert row is not None
    fails, loses, kept = map(int, row.groups())
    assert fails == sum(tool["status"] == "INCOMPATIBLE" for tool in summary["tools"])
    assert fails + loses + kept == len(summary["tools"])


def test_the_search_is_that_of_eval(toolmason_run: Run) -> None:
    page = Page(toolmason_run("report", "--queries", "queries.toml").output).text
    measured = json.loads(toolmason_run("eval", "queries.toml", "--format", "json").output)

    assert f"{measured['total']['recall']['5']:.2f} recall@5" in page
    for cell in measured["confusion"]:
        if cell["wanted"] != cell["first"]:
            assert f"{cell['wanted']}: {cell['first'] or '(nothing)'} first, {cell['queries']}" in page
    assert measured["look_alikes"]
    for pair in measured["look_alikes"]:
        assert f"{pair['tools'][0]} and {pair['tools'][1]}" in page


def test_the_changes_are_those_of_diff(toolmason_run: Run, edited: Edit) -> None:
    assert toolmason_run("release").exit_code == 0
    edited('enum = ["list", "remove"]', 'enum = ["list", "remove", "rename"]')
    edited('remove = "destructive"', 'remove = "destructive", rename = "write"')
    edited("[tools.find_mail]", "[tools.seek_mail]")
    page = Page(toolmason_run("report").output).text
    found = json.loads(toolmason_run("diff", "contract.lock", "--format", "json").output)

    assert found["changes"]
    for change in found["changes"]:
        assert without_spaces(change["message"].replace("`", "")) in without_spaces(page)
    assert "breaking changes" in page


def test_without_queries_the_use_cases_are_searched(toolmason_run: Run) -> None:
    page = Page(toolmason_run("report").output).text
    assert "of 7 use cases of the manifest find their tool first" in page
    assert "send_mail: find_notes first, 1 query" in page


def test_a_server_without_use_cases_and_release_says_what_to_do(toolmason_run: Run, desk: Path) -> None:
    text = (desk / "desk.toml").read_text(encoding="utf-8")
    (desk / "desk.toml").write_text(re.sub(r"use_cases = .*\n", "", text), encoding="utf-8")
    page = Page(toolmason_run("report").output).text

    assert "No tool has use cases, and no file of queries was given." in page
    assert "Unknown: the report finds pairs with queries and use cases, and has none." in page
    assert "No release is recorded: toolmason release writes contract.lock" in page


@pytest.mark.parametrize(
    ("policy", "approvals"),
    [
        ("", (EACH, "the arguments decide whether a person is asked", NOBODY)),
        ('default = "enabled"\napproval = "none"\n', (NOBODY, NOBODY, NOBODY)),
        ('default = "enabled"\napproval = "all"\n', (EACH, EACH, NOBODY)),
        (
            "[tools.git_branch]\nrequire_approval = true\n[tools.find_mail]\nenabled = false\n",
            (NO_CALL, EACH, NO_CALL),
        ),
    ],
    ids=["default", "none", "all", "tools"],
)
def test_approval_follows_the_policy(
    toolmason_run: Run, desk: Path, policy: str, approvals: tuple[str, str, str]
) -> None:
    (desk / "policy.toml").write_text(policy, encoding="utf-8")
    page = Page(toolmason_run("report", *(["--policy", "policy.toml"] if policy else [])).output).text

    git_commit, git_branch, find_mail = approvals
    assert f"git_commit: writes; {git_commit}" in page
    assert f"git_branch: may destroy; {git_branch}" in page
    assert f"find_mail: only reads, reaches other systems; {find_mail}" in page
    assert ("the file policy.toml" in page) is bool(policy)


def test_the_page_loads_nothing_and_runs_nothing(toolmason_run: Run) -> None:
    text = toolmason_run("report", "--queries", "queries.toml").output
    page = Page(text)
    linked = {value for name, value in page.attributes if name in {"href", "src", "action", "style"}}

    assert linked == {"data:,"}
    assert not page.tags & {"script", "img", "iframe", "object", "form", "base"}
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert "url(" not in text
    assert "@import" not in text


def test_the_same_input_gives_the_same_bytes(toolmason_run: Run, desk: Path) -> None:
    options = ["report", "--queries", "queries.toml"]
    for seed in ("1", "2"):
        command = [sys.executable, "-m", "toolmason", *options, "--manifest", "desk.toml", "-o", f"{seed}.html"]
        subprocess.run(command, check=True, env={"PYTHONHASHSEED": seed, "PATH": ""}, cwd=desk)

    assert (desk / "1.html").read_bytes() == (desk / "2.html").read_bytes()
    assert (desk / "1.html").read_text(encoding="utf-8") == toolmason_run(*options).output
    assert "2026-11-29" in toolmason_run(*options, "--date", "2026-11-29").output


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["-o", "missing/report.html"], 2, "cannot write missing/report.html: no such file or directory"),
        (["-o", "folder"], 2, "is a directory"),
        (["--since", "v99"], 2, "--since: `v99` is neither a revision of git, a file, a directory nor a URL"),
        (["--manifest", "nothing.toml"], 2, "manifest not found: nothing.toml"),
        (["--queries", "nothing.toml"], 2, "does not exist"),
        (["--queries", "desk.toml"], 1, "unknown key"),
        (["--policy", "queries.toml"], 2, "queries.toml:1:"),
        (["--date", "yesterday"], 2, "does not match the format"),
        (["--header", "X: y"], 2, "--header requires --server https://..."),
        (["--server", "true", "--manifest", "desk.toml"], 2, "--server and --manifest cannot be combined"),
        (["--server", "true", "--policy", "queries.toml"], 2, "--server and --policy cannot be combined"),
        (["--server", "'"], 2, "--server must be a command line or a URL"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_explained(toolmason_run: Run, desk: Path, arguments: list[str], code: int, message: str) -> None:
    (desk / "folder").mkdir()
    result = toolmason_run("report", *arguments)
    assert (result.exit_code, message in result.output) == (code, True), result.output


@pytest.mark.parametrize("name", ["desk.toml", "queries.toml", "README.md", "page.css"])
def test_only_an_earlier_page_is_overwritten(toolmason_run: Run, desk: Path, name: str) -> None:
    path = desk / name
    path.touch()
    path.write_text(path.read_text(encoding="utf-8") + "\n# mine\n", encoding="utf-8")
    before = path.read_bytes()
    result = toolmason_run("report", "-o", name)

    assert (result.exit_code, path.read_bytes()) == (4, before)
    assert f"{name} exists and is no HTML page; nothing was written" in result.output
    assert toolmason_run("report", "-o", "page.html").exit_code == 0
    assert toolmason_run("report", "-o", "page.html", "--date", "2026-11-29").exit_code == 0
    assert "2026-11-29" in (desk / "page.html").read_text(encoding="utf-8")


def test_a_damaged_release_is_reported(toolmason_run: Run, desk: Path) -> None:
    (desk / "contract.lock").write_text("{", encoding="utf-8")
    result = toolmason_run("report")
    assert result.exit_code == 2
    assert "cannot read the published contract contract.lock: it is no JSON" in result.output


def test_a_manifest_with_an_error_has_no_report(toolmason_run: Run, edited: Edit) -> None:
    edited("[categories.mail]", "[categories.post]")
    result = toolmason_run("report", "-o", "page.html")
    assert result.exit_code == 1
    assert "desk.toml:" in result.output
    assert not Path("page.html").exists()
