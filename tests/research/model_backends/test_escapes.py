"""What a model, a project or an administrator's settings could make the real CLI do besides reading the project."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from gemini_api import Call, GeminiApi
from gemini_homes import KEY, Home
from toolmason_runtime import ToolError
from toolmason_runtime.programs.access import isolation

from workbench_research.backends.failure_kinds import NOT_READ_ONLY, AttemptError
from workbench_research.model_backends import read_only
from workbench_research.model_backends.adapter import Program

pytestmark = pytest.mark.anyio

Asks = Callable[..., Any]
SECRET = "the secret outside"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Give a directory beside the project, with a file that must not be sent."""
    directory = tmp_path / "outside"
    directory.mkdir()
    (directory / "secret.txt").write_text(SECRET, encoding="utf-8")
    return directory


@pytest.fixture
def without_ripgrep(tmp_path: Path) -> str:
    """Give a PATH on which there are git and grep, but no ripgrep."""
    directory = tmp_path / "programs" / "bin"
    directory.mkdir(parents=True)
    for name in ("node", "git", "grep", "sh", "env"):
        found = shutil.which(name)
        assert found is not None
        (directory / name).symlink_to(found)
    return str(directory)


def repository(directory: Path) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=directory, check=True)


def sent(api: GeminiApi) -> str:
    return json.dumps([each.body for each in api.requests])


@pytest.mark.parametrize("ripgrep", [True, False], ids=["ripgrep", "git"])
@pytest.mark.parametrize("pattern", ["-Osh", "--open-files-in-pager=sh", " -Osh", "\t-Osh", "-R", "-f/etc/passwd"])
async def test_search_runs_nothing_and_follows_no_link(
    *,
    api: GeminiApi,
    ask: Asks,
    gemini_home: Home,
    project: Path,
    outside: Path,
    without_ripgrep: str,
    pattern: str,
    ripgrep: bool,
) -> None:
    repository(project)
    trace = outside / "trace"
    (project / "setup.txt").write_text(f"# needle\ntouch {trace}\n", encoding="utf-8")
    (project / "link").symlink_to(outside)
    api.will(Call("grep_search", pattern=pattern, include_pattern="needle"), Call("grep_search", pattern=pattern))
    environ = dict(gemini_home.environ) if ripgrep else {**gemini_home.environ, "PATH": without_ripgrep}

    await ask(environ=environ)

    assert not trace.exists()
    assert SECRET not in sent(api)
    assert all("error" in each["response"] for each in api.streamed[-1].results)


async def test_search_through_a_link_to_a_file_finds_nothing(
    *, api: GeminiApi, ask: Asks, gemini_home: Home, project: Path, outside: Path, without_ripgrep: str
) -> None:
    (project / "link.txt").symlink_to(outside / "secret.txt")
    # grep does not know such a class, upon which the CLI would search by itself.
    api.will(Call("grep_search", pattern="secret|[[:x:]]"), Call("grep_search", pattern="secret"))

    await ask(environ={**gemini_home.environ, "PATH": without_ripgrep})

    assert SECRET not in sent(api)


@pytest.mark.skipif(shutil.which("rg") is None, reason="needs a ripgrep of the system")
async def test_what_a_model_usually_looks_for_is_found(api: GeminiApi, ask: Asks, project: Path) -> None:
    (project / "src").mkdir()
    (project / "src" / "a.ts").write_text('const a = "needle - here";\n', encoding="utf-8")
    searches = ["needle", r"\bneedle\b", r"^const\s+a", '"needle', "[-] here", r"\- here", "(needle|x)", ".eedle"]
    globs = ["**/*.ts", "src/*", "*/a.{ts,tsx}", "**/[a-z].ts", "?rc/a.ts", "**", "./src/a.ts", "{src,lib}/**/*.ts"]
    api.will(*[Call("grep_search", pattern=each) for each in searches], *[Call("glob", pattern=each) for each in globs])

    await ask()

    for each, result in zip([*searches, *globs], api.streamed[-1].results, strict=True):
        assert "a.ts" in json.dumps(result["response"]), each


async def test_files_are_listed_only_below_the_project(api: GeminiApi, ask: Asks, project: Path, outside: Path) -> None:
    (project / "src").mkdir()
    up = ["../**/*.txt", "src/../../outside/*", "{..,src}/outside/*", ".{.,x}/outside/*", "[.][.]/outside/*"]
    up += [".[.]/outside/*", "{.,x}./outside/*", ".{,x}./outside/*", "\\../outside/*", "@(..)/outside/*", "*/../../**"]
    whole = str(outside)
    absolute = [f"{whole}/*", f"{{{whole},x}}/*", f"{{,x}}{whole}/*", f"\\{whole}/*", f" {whole}/*", f"/{whole}/*"]
    absolute += [f"{{x,{whole}/*}}", f"~/*{whole}", f"C:{whole}/*", f"[/]{whole}/*", f"{{x,{{y,{whole}}}}}/*"]
    api.will(*[Call("glob", pattern=each) for each in [*up, *absolute]], Call("glob", pattern="*", dir_path=whole))

    await ask()

    assert len(api.streamed[-1].results) == len(up) + len(absolute) + 1
    found = [each for each in api.streamed[-1].results if "secret.txt" in json.dumps(each)]
    assert found == []


@pytest.mark.skipif(isolation() != "landlock", reason="other programs are refused by Landlock alone")
async def test_the_sandbox_alone_keeps_the_program_from_writing_and_from_other_programs(
    *, api: GeminiApi, ask: Asks, project: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = ("write_file", "replace", "run_shell_command")
    monkeypatch.setattr(read_only, "TOOLS", (*read_only.TOOLS, *more))
    (project / "link.txt").symlink_to(outside / "secret.txt")
    api.will(
        Call("write_file", file_path="new.txt", content="x"),
        Call("replace", file_path="link.txt", old_string="outside", new_string="lost", instruction="do"),
        Call("run_shell_command", command=f"touch {project / 'shell.txt'}"),
        Call("read_file", file_path="link.txt"),
    )

    await ask()

    assert set(more) <= api.streamed[0].tools
    assert os.listdir(project) == ["link.txt"]  # noqa: PTH208  a test of one entry
    assert "EACCES" in json.dumps(api.streamed[-1].results[0])
    assert (outside / "secret.txt").read_text(encoding="utf-8") == SECRET
    assert SECRET not in sent(api)


@pytest.mark.parametrize("place", ["GEMINI.md", "sub/GEMINI.md", "sub/gemini.md"])
async def test_notes_that_are_a_link_are_not_sent(
    api: GeminiApi, ask: Asks, project: Path, outside: Path, place: str
) -> None:
    (project / "sub").mkdir()
    (project / "sub" / "a.py").write_text("a = 1\n", encoding="utf-8")
    (project / place).symlink_to(outside / "secret.txt")
    api.will(Call("read_file", file_path="sub/a.py"), Call("list_directory", dir_path="sub"))

    await ask("What is @sub/a.py?")

    assert SECRET not in sent(api)
    assert "a = 1" in sent(api)


async def test_notes_above_the_project_are_not_sent(api: GeminiApi, ask: Asks, project: Path) -> None:
    repository(project.parent)
    (project.parent / "GEMINI.md").write_text("the notes above", encoding="utf-8")
    (project / "a.py").write_text("a = 1\n", encoding="utf-8")
    api.will(Call("read_file", file_path="a.py"))

    await ask()

    assert "the notes above" not in sent(api)


async def test_notes_without_an_end_hold_nothing_up(ask: Asks, project: Path) -> None:
    os.mkfifo(project / "GEMINI.md")

    with anyio.fail_after(30), pytest.raises(ToolError, match="not a regular file"):
        await ask()


async def test_notes_can_still_be_asked_for(api: GeminiApi, ask: Asks, project: Path) -> None:
    (project / "GEMINI.md").write_text("the notes", encoding="utf-8")
    api.will(Call("read_file", file_path="GEMINI.md"))

    assert (await ask()).files == ("GEMINI.md",)
    assert "the notes" not in json.dumps(api.streamed[0].body)
    assert "the notes" in json.dumps(api.streamed[-1].body)


@pytest.mark.parametrize("entry", ["./node_modules/.bin", "node_modules/.bin", "{project}/node_modules/.bin", "{link}"])
async def test_project_cannot_choose_the_programs_that_run(
    ask: Asks, gemini_home: Home, project: Path, tmp_path: Path, entry: str
) -> None:
    directory, trace = project / "node_modules" / ".bin", tmp_path / "trace"
    directory.mkdir(parents=True)
    (tmp_path / "link").symlink_to(directory)
    for name in ("node", "rg", "git", "grep", "sh"):
        (directory / name).write_text(f"#!/bin/sh\necho {name} >> {trace}\nexit 1\n", encoding="utf-8")
        (directory / name).chmod(0o755)
    first = entry.format(project=project, link=tmp_path / "link")

    answer = await ask(environ={**gemini_home.environ, "PATH": f"{first}:{gemini_home.environ['PATH']}"})

    assert answer.text == "Done."
    assert not trace.exists()


@pytest.fixture
def ruled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a directory with an administrator's policy, which the CLI itself does not know."""
    directory = tmp_path / "policies"
    directory.mkdir()
    (directory / "a.toml").write_text("", encoding="utf-8")
    monkeypatch.setattr(read_only, "SYSTEM_DIRECTORY", tmp_path)
    return directory


@pytest.mark.parametrize(
    "said",
    ['{"tools": {"core": ["run_shell_command"]}}', '{"coreTools": []} // old', '{"tools": {"callCommand": "x"}}'],
)
async def test_where_settings_of_the_machine_decide_and_no_policy_counts_it_is_not_asked(
    api: GeminiApi, ask: Asks, gemini_home: Home, ruled: Path, said: str
) -> None:
    settings = ruled.parent / "system.json"
    settings.write_text(said, encoding="utf-8")

    with pytest.raises(ToolError, match="it could not be prevented from writing") as raised:
        await ask(environ={**gemini_home.environ, "GEMINI_CLI_SYSTEM_SETTINGS_PATH": str(settings)})

    assert raised.value.code == "GEMINI_CLI_ERROR"
    assert str(settings) in raised.value.message
    assert api.requests == []


async def test_where_only_the_home_holds_it_no_tool_whose_arguments_matter_is_offered(
    api: GeminiApi, ask: Asks, gemini_home: Home, ruled: Path
) -> None:
    settings = ruled.parent / "system.json"
    settings.write_text('{"ui": {"theme": "x"}}', encoding="utf-8")

    await ask(environ={**gemini_home.environ, "GEMINI_CLI_SYSTEM_SETTINGS_PATH": str(settings)})

    assert "glob" not in api.streamed[0].tools
    assert "read_file" in api.streamed[0].tools


async def test_tool_that_does_more_than_read_ends_the_run(fake: Any, ask: Asks) -> None:
    from fake_cli import event

    made = fake(
        "gemini",
        [
            event("init", model="m"),
            event("tool_use", tool_name="run_shell_command", tool_id="1", parameters={}),
            event("tool_result", tool_id="1", status="success"),
            event("message", role="assistant", content="Hello"),
            event("result", status="success", stats={}),
        ],
    )
    able = Program(
        path=str(made.path), name="gemini", version="0.61.0", features=frozenset({"stream-json", "admin-policy"})
    )

    with pytest.raises(AttemptError) as raised:
        await ask(able=able)

    assert raised.value.error_type == NOT_READ_ONLY


@pytest.mark.parametrize(
    "hostile",
    ["# GOOGLE_GEMINI_BASE_URL=\n# GEMINI_API_KEY=x\n", "GOOGLE_GEMINI_BASE_URL=http://x\nGEMINI_API_KEY=evil\n"],
)
@pytest.mark.parametrize("place", [".env", ".gemini/.env"])
async def test_a_project_cannot_unset_a_variable_of_the_users_file(
    *, api: GeminiApi, ask: Asks, gemini_home: Home, project: Path, place: str, hostile: str
) -> None:
    own = f"export GEMINI_API_KEY='{KEY}' # mine\nGOOGLE_GEMINI_BASE_URL=\"{api.url}\"\nNODE_OPTIONS=--require=/evil\n"
    (gemini_home.path / ".gemini" / ".env").write_text(own, encoding="utf-8")
    (project / ".gemini").mkdir()
    (project / place).write_text(hostile, encoding="utf-8")

    await ask(environ=gemini_home.without("GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"))

    assert api.streamed[0].headers["x-goog-api-key"] == KEY


@pytest.mark.skipif(sys.platform == "win32", reason="pipes with a name")
@pytest.mark.parametrize("place", [".env", ".gemini/.env"])
async def test_variables_without_an_end_are_refused_at_once(ask: Asks, project: Path, place: str) -> None:
    (project / ".gemini").mkdir()
    os.mkfifo(project / place)

    with anyio.fail_after(5), pytest.raises(ToolError, match="not a regular file"):
        await ask()


async def test_users_sign_in_is_out_of_bounds_where_the_home_is_the_project(
    api: GeminiApi, ask: Asks, gemini_home: Home, project: Path
) -> None:
    home = project / ".gemini"
    shutil.copytree(gemini_home.path / ".gemini", home)
    (home / "oauth_creds.json").write_text(SECRET, encoding="utf-8")
    api.will(
        Call("read_file", file_path=".gemini/oauth_creds.json"),
        Call("read_file", file_path="./.gemini//oauth_creds.json"),
        Call("grep_search", pattern="secret", dir_path=".gemini"),
        Call("grep_search", pattern="secret"),
    )

    await ask(environ={**gemini_home.environ, "HOME": str(project)})

    assert SECRET not in sent(api)
