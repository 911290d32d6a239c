"""What a result says was handed over with a prompt is what the real Gemini CLI hands over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from gemini_api import GeminiApi, Say
from gemini_homes import Home
from served import inside, settle

from workbench_handlers.research.file_filter import MAX_SCANNED, Handing
from workbench_handlers.workspace.roots import Located, Root

FILES = {
    "src/plain.py": "text",
    "src/wide.svg": "text",
    "src/table.dat": "text",
    "src/latin.txt": "text",
    "blank.txt": "",
    "dist/out.js": "text",
    "Build/out.js": "text",
    ".idea/conf.xml": "text",
    "node_modules/p/index.js": "text",
    ".env": "text",
    ".env.local": "text",
    "ignored.log": "text",
    "ignored/a.py": "text",
    "only/ignored.log": "text",
    "packed.zip": "text",
    "nul.txt": "\0",
    "code.ts": "text",
}
FOLDERS = ("src", "ignored", "only", "empty", "dist", "pictures", "deep")


@pytest.fixture
def full(project: Path) -> Path:
    for name, text in FILES.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.replace("text", f"[marker of {name}]").replace("\0", f"\0[marker of {name}]").encode())
    (project / "src/latin.txt").write_bytes(b"caf\xe9 [marker of src/latin.txt]")
    (project / "huge.txt").write_text(f"[marker of huge.txt]{'x' * 20 * 1024 * 1024}", encoding="utf-8")
    (project / "large.svg").write_text(f"[marker of large.svg]{'x' * 1024 * 1024}", encoding="utf-8")
    (project / "empty/inner").mkdir(parents=True)
    (project / "deep/a/b").mkdir(parents=True)
    (project / "deep/a/b/c.py").write_text("[marker of deep/a/b/c.py]", encoding="utf-8")
    (project / "pictures").mkdir()
    (project / "pictures/one.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    (project / ".gitignore").write_text("*.log\n/ignored/\n", encoding="utf-8")
    return project


@pytest.fixture
def home(gemini: str, gemini_home: Home, monkeypatch: pytest.MonkeyPatch) -> Home:
    settle(monkeypatch, gemini_home.without(WORKBENCH_GEMINI_COMMAND=gemini))
    return gemini_home


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["no repository", "repository", "repository whose rules do not count"])
async def test_files_accessed_names_what_the_program_handed_over_and_warnings_the_rest(
    api: GeminiApi, home: Home, full: Path, kind: str
) -> None:
    if kind != "no repository":
        (full / ".git").mkdir()
    if kind == "repository whose rules do not count":
        home.set(context={"fileFiltering": {"respectGitIgnore": False}})
    api.always(Say("ok"))
    named = [*FILES, "huge.txt", "large.svg", *(f"{folder}/" for folder in FOLDERS)]

    async with inside(full) as server:
        found = (await server.call("quick_query", prompt=" ".join(f"@{each}" for each in named))).data

    sent = json.dumps([request.body for request in api.requests if request.is_stream])
    told = set(found["filesAccessed"])
    given = {name for name in (*FILES, "huge.txt", "large.svg") if f"[marker of {name}]" in sent} | {"blank.txt"}
    assert told - {f"{folder}/" for folder in FOLDERS} == given
    assert {each for each in told if each.endswith("/")} == {
        *("src/", "deep/"),
        *(("ignored/", "only/") if kind != "repository" else ()),
    }
    warned = " ".join(found["meta"]["warnings"])
    assert all((f"`@{each}`" in warned) == (each not in told) for each in named), warned


def test_the_look_into_a_folder_ends(full: Path) -> None:
    for number in range(MAX_SCANNED + 1):
        (full / "pictures" / f"{number}.png").write_bytes(b"\x89PNG")
    place = Located(Root(full, "a test"), ("pictures",), "pictures")

    assert not Handing(place.root).why_not(place, is_folder=True)
