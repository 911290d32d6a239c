"""Opening a stranger's project runs nothing of it, writes only what it must and reads nothing outside of it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path, PurePosixPath

import pytest
from click.testing import CliRunner, Result

from toolmason.commands import toolmason
from toolmason.diagnostics import Diagnostics
from toolmason.diagnostics.printers import MAX_SHOWN
from toolmason.model.checksum import add_checksum
from toolmason.model.parts import STAGING
from toolmason.model.server import Server
from toolmason.pipeline import read
from toolmason.project import Project
from toolmason.render import pydantic_models
from toolmason.render.environment import TemplateRefusedError
from toolmason.render.renderer import render
from toolmason.render.sandbox import Limits, confined_render
from toolmason.write.snapshot import MAX_TOTAL_BYTES, take_snapshot

Toolmason = Callable[..., Result]
TOOLMASON = str(Path(sys.executable).with_name("toolmason"))
COMMANDS = [["check"], ["lint"], ["schema", "check"], ["generate"]]
SECRET = "root:x:0:0"

needs_links = pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there, pipes are no files")


def tree(root: Path) -> dict[str, tuple[int, bytes]]:
    return {
        path.relative_to(root).as_posix(): (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in sorted(root.rglob("*"))
    }


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def override(project: Project, text: str) -> None:
    put(project.template_directory / "docs" / "index.md.jinja", text)


# Nothing is executed


MODULES = [
    "__future__",
    "black",
    "click",
    "conftest",
    "datamodel_code_generator",
    "filelock",
    "jinja2",
    "json",
    "jsonschema",
    "noxfile",
    "pydantic",
    "ruff",
    "setup",
    "signal",
    "sitecustomize",
    "toolmason_runtime",
    "tomllib",
    "usercustomize",
    "yaml",
]
SETTINGS = """
[build-system]
requires = []
build-backend = "planted"
backend-path = ["."]

[project]
name = "notes"
version = "1"
entry-points.pydantic = { planted = "planted" }

[tool.black]
preview = "planted"
line-length = "no number"

[tool.datamodel-codegen]
custom-formatters = ["planted"]
custom-template-dir = "planted"

[tool.ruff]
extend = "planted.toml"
line-length = 20

[tool.toolmason]
plugins = ["planted"]
"""


def plant(project: Project, canary: Path) -> None:
    """Put code that touches `canary` wherever some tool would run it."""
    code = f"open({str(canary)!r}, 'a').write(__name__ + chr(10))\n"
    for name in [*MODULES, "planted"]:
        for folder in (".", "handlers", "generated", "generated/notes_server", "templates", "manifest"):
            put(project.root / folder / f"{name}.py", code)
    for handler in project.root.glob("handlers/notes/*.py"):
        handler.write_text(handler.read_text(encoding="utf-8") + code, encoding="utf-8")
    put(project.root / "planted.pth", f"import os; {code}")
    put(
        project.root / "notes.egg-info" / "entry_points.txt",
        "[pydantic]\nplanted = planted\n[toolmason.kinds]\nplanted = planted\n",
    )
    put(project.root / "notes.egg-info" / "PKG-INFO", "Metadata-Version: 2.1\nName: notes\nVersion: 1\n")
    put(project.root / "pyproject.toml", SETTINGS)
    put(project.root / "ruff.toml", 'extend = "planted.toml"\n')
    put(project.root / ".env", f"PYTHONSTARTUP={project.root}/planted.py\nPYTHONPATH={project.root}\n")
    put(project.root / "pyvenv.cfg", f"home = {project.root}/bin\n")
    for folder in (".", "bin", ".venv/bin", "node_modules/.bin", ".git/hooks"):
        for name in ("ruff", "git", "python", "python3", "sh", "black", "pre-commit", "post-checkout"):
            put(project.root / folder / name, f"#!/bin/sh\necho {name} >> '{canary}'\n").chmod(0o755)
    put(project.root / ".git" / "config", f"[core]\n\tfsmonitor = {project.root}/bin/git\n\thooksPath = bin\n")
    put(project.root / ".git" / "HEAD", "ref: refs/heads/main\n")


@pytest.mark.uncovered
@pytest.mark.skipif(sys.platform == "win32", reason="the planted programs are shell scripts")
@pytest.mark.parametrize("start", [[TOOLMASON], [sys.executable, "-m", "toolmason"]], ids=["program", "module"])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_code_of_a_project_is_executed(
    command: list[str], start: list[str], project: Project, tmp_path: Path
) -> None:
    canary = tmp_path / "canary"
    plant(project, canary)
    override(project, '{% extends "toolmason/docs/index.md.jinja" %}')
    # So that the models are made anew.
    text = project.manifest.read_text(encoding="utf-8")
    project.manifest.write_text(text.replace("The text to measure", "Any text"), encoding="utf-8")
    before = tree(project.root)

    path = os.pathsep.join([".", str(project.root / "bin"), "node_modules/.bin", os.environ["PATH"]])
    ended = subprocess.run(
        [*start, *command],
        cwd=project.root,
        env={**os.environ, "PATH": path},
        capture_output=True,
        check=False,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
    )

    assert "Traceback" not in ended.stderr, ended.stderr
    assert ended.returncode == (3 if command == ["check"] else 0), ended.stderr
    assert not canary.exists(), canary.read_text(encoding="utf-8")
    changed = {name for name, entry in tree(project.root).items() if before.get(name) != entry}
    if command == ["generate"]:
        assert {name.partition("/")[0] for name in changed} == {"generated", ".toolmason.lock"}
    else:
        assert changed == set()


ESCAPES = [
    "{{ cycler.__init__.__globals__.os.system('id > CANARY') }}",
    "{{ facts.projected.__globals__.__builtins__.open('CANARY', 'w') }}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ '{0.__class__.__init__.__globals__}'.format(facts) }}",
    "{{ server.categories.__class__.__base__.__subclasses__() }}",
    "{{ facts.catalogue.tools.clear() }}",
]


@pytest.mark.parametrize(("command", "text"), [("generate", ESCAPES[0]), *(("check", text) for text in ESCAPES)])
def test_a_template_cannot_leave_its_sandbox(
    command: str, text: str, run: Toolmason, project: Project, tmp_path: Path
) -> None:
    canary = tmp_path / "canary"
    override(project, text.replace("CANARY", str(canary)))
    before = tree(project.root)
    result = run(command)

    assert result.exit_code == 1
    assert "templates/docs/index.md.jinja:1: " in result.stderr
    assert "unsafe" in result.stderr or "unknown name `" in result.stderr
    assert not canary.exists()
    assert tree(project.root) == before


LOOK_ALIKES = {
    "models": """
{% set value = namespace(name="a", type=namespace(name="string")) %}
{% set look_alike = namespace(name="text", module="text", tools=(), types=(value,)) %}
{{ facts.models(look_alike) }}
""",
    "projected": """
{% set schema = {"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}} %}
{% set look_alike = namespace(name="count_words", schema=schema) %}
{{ facts.projected(look_alike, "openai").schema }}
""",
    "fragment": """
{% macro name(tool, facts) %}{{ tool.name }}{% endmacro %}
{% set look_alike = namespace(name="count_words") %}
{{ facts.fragment(name, look_alike) }}
""",
}


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_a_template_cannot_bring_schemas_of_its_own(name: str, run: Toolmason, project: Project) -> None:
    override(project, LOOK_ALIKES[name])
    result = run("check")

    assert result.exit_code == 1
    assert f"templates/docs/index.md.jinja:4: TypeError: `facts.{name}` takes a " in result.stderr


@pytest.mark.parametrize("key", ["default", "example"])
def test_a_reference_in_a_value_of_the_manifest_is_not_followed(key: str, run: Toolmason, project: Project) -> None:
    text = project.manifest.read_text(encoding="utf-8")
    reference = 'params.a = { type = "object", description = "A", KEY = { "$ref" = "file:///etc/hostname" } }\n'
    text = text.replace("params.", reference.replace("KEY", key) + "params.", 1)
    project.manifest.write_text(text, encoding="utf-8")
    result = run("check")

    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in {1, 3}


# Templates have limits


def test_templates_in_the_sandbox_print_the_same(project: Project) -> None:
    reading = read(project, diagnostics=Diagnostics())
    assert reading is not None
    put(project.template_directory / "own.jinja", "")

    assert render(reading.server, templates=project.templates) == render(reading.server)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps a process to a limit of memory")
@pytest.mark.parametrize("text", ["{{ 'a' * 10 ** 10 }}", "{{ 'a' | center(5 * 10 ** 9) }}"])
def test_a_template_that_exceeds_its_memory_limit_is_stopped(text: str, run: Toolmason, project: Project) -> None:
    override(project, text)
    result = run("check")

    assert result.exit_code == 1
    assert "templates/docs/index.md.jinja:1:1: error[TM609]: rendering was stopped: it takes more than" in result.stderr
    assert "MiB of memory" in result.stderr


@pytest.mark.uncovered
@pytest.mark.parametrize(
    "text",
    [
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{{ 10 ** (10 ** 9) }}",
        "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
    ],
)
def test_a_template_that_exceeds_its_time_limit_is_stopped(text: str, project: Project) -> None:
    override(project, text)
    reading = read(project, diagnostics=Diagnostics())
    assert reading is not None

    with pytest.raises(
        TemplateRefusedError, match=r"templates/docs/index\.md\.jinja: .* it takes more than 5 s"
    ) as caught:
        confined_render(project, reading.server, models={}, part="docs", limits=Limits(5, 1 << 30))
    assert caught.value.code == "TM609"


OUTPUTS = "{{ ('x' * 1000000 ~ '\\n') * 20 }}"
LONG_CHAIN = 'a{{ ".b" * 300000 }}'
NESTED = '{{ "[" * 200000 }}'
TAKES_TOO_LONG = "it is nested too deep or too large to be formatted|formatting takes more than"


@pytest.mark.uncovered
@pytest.mark.parametrize(
    ("template", "text", "told"),
    [
        ("docs/index.md.jinja", OUTPUTS, r"templates/docs/index\.md\.jinja:1:1: error\[TM609\]: .* more than 16 MiB"),
        ("python/server.py.jinja", LONG_CHAIN, rf"generated/notes_server/server\.py: ({TAKES_TOO_LONG})"),
        ("python/server.py.jinja", NESTED, r"generated/notes_server/server\.py:"),
        ("schemas/manifest.schema.json.jinja", NESTED, r"generated/schemas/manifest\.schema\.json: "),
        ("python/catalogue.json.jinja", NESTED, r"generated/notes_server/catalogue\.json: it is nested too deep"),
        ("clients/codex.toml.jinja", "a = " + NESTED, r"generated/clients/codex.*\.toml: it is nested too deep"),
    ],
    ids=["large", "long chain", "nested Python", "nested JSON", "nested JSON in one line", "nested TOML"],
)
def test_oversized_or_unparsable_template_output_is_reported(
    template: str, text: str, told: str, run: Toolmason, project: Project
) -> None:
    put(project.template_directory / template, text)
    manifest = project.manifest.read_text(encoding="utf-8")
    put(project.manifest, manifest.replace("include = []", 'include = ["clients"]'))
    result = run("check")

    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit), result.exception
    assert re.search(told, result.stderr), result.stderr[:2000]
    assert len(result.stderr) < 2000
    assert "overflow" not in result.stderr


def test_differences_in_a_file_of_many_lines_are_shown_in_part(run: Toolmason, project: Project) -> None:
    page = project.generated / "docs" / "index.md"
    page.write_text("".join(f"{number * 7919 % 60013}\n" for number in range(60_000)), encoding="utf-8")
    result = run("check", "--diff")

    assert result.exit_code == 3
    assert result.stdout.count("\n") < 3000
    assert re.search(r"^\.\.\. 5\d,\d{3} more lines are not compared$", result.stdout, re.MULTILINE)


# Nothing outside is read


@pytest.mark.uncovered
@needs_links
@pytest.mark.parametrize(
    ("kind", "command"),
    [("file", "generate"), *((kind, "check") for kind in ("file", "folder", "relative", "include"))],
)
def test_a_template_that_leads_out_of_the_project_is_refused(
    kind: str, command: str, run: Toolmason, project: Project, tmp_path: Path
) -> None:
    secret = put(tmp_path / "outside" / "index.md.jinja", SECRET)
    page = project.template_directory / "docs" / "index.md.jinja"
    page.parent.mkdir(parents=True, exist_ok=True)
    shown = "templates/docs/index.md.jinja"
    match kind:
        case "file":
            page.symlink_to(secret)
        case "folder":
            page.parent.rmdir()
            page.parent.symlink_to(secret.parent)
        case "relative":
            page.symlink_to("../../../outside/index.md.jinja")
        case _:
            page.write_text('{% include "part.txt" %}', encoding="utf-8")
            (project.template_directory / "part.txt").symlink_to(secret)
            shown = "templates/part.txt"
    before = tree(project.generated)
    result = run(command)

    assert result.exit_code == 1
    assert f"{shown}:1:1: error[TM608]: it is outside the project" in result.stderr
    assert SECRET not in result.output
    assert tree(project.generated) == before
    found = json.loads(run(command, "--format", "json").stdout)
    assert (found["code"], found["path"]) == ("TM608", shown)


@needs_links
@pytest.mark.parametrize("kind", ["pipe", "large"])
def test_a_template_that_is_a_pipe_or_too_large_is_refused(kind: str, run: Toolmason, project: Project) -> None:
    page = project.template_directory / "docs" / "index.md.jinja"
    page.parent.mkdir(parents=True, exist_ok=True)
    spoil(page, kind)
    result = run("check")

    assert result.exit_code == 1
    assert "templates/docs/index.md.jinja:1:1: error[TM608]: it is " in result.stderr


def spoil(path: Path, kind: str) -> None:
    """Put in the place of a file what must not be read."""
    path.unlink(missing_ok=True)
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "link":
            path.symlink_to("/etc/passwd")
        case "circle":
            path.symlink_to(path.name)
        case "large":
            with path.open("wb") as file:
                file.truncate(6 * 1024**3)


KINDS = ["pipe", "device", "link", "circle", "large"]


@needs_links
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", [["check"], ["schema", "check"]], ids=" ".join)
def test_a_manifest_that_is_not_a_file_of_the_project_is_refused(
    command: list[str], kind: str, project: Project
) -> None:
    spoil(project.manifest, kind)
    result = in_project(project, command)

    # A project without a manifest that is a file is none at all.
    assert result.returncode in {1, 2}
    assert "manifest not found" in result.stderr or "manifest/notes.toml:1:1: error[TM101]: " in result.stderr
    assert "root:" not in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.uncovered
@needs_links
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", [["check"], ["schema", "check"]], ids=" ".join)
def test_a_schema_that_is_not_a_file_of_the_project_is_refused(command: list[str], kind: str, project: Project) -> None:
    with_schema(project, '"schema.json"')
    spoil(project.root / "schema.json", kind)
    result = in_project(project, command)

    assert result.returncode in {1, 2}
    assert "error[TM313]: " in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.uncovered
@needs_links
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", [["check"], ["schema", "check"]], ids=" ".join)
def test_a_handler_that_is_not_a_file_of_the_project_is_refused(
    command: list[str], kind: str, project: Project
) -> None:
    spoil(project.root / "handlers" / "notes" / "text.py", kind)
    result = in_project(project, command)

    assert result.returncode in {1, 2}
    assert "error[TM3" in result.stderr
    assert "root:" not in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.uncovered
@needs_links
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_link_to_the_whole_system_beside_the_handlers_is_not_followed(command: list[str], project: Project) -> None:
    (project.root / "handlers" / "processes").symlink_to("/proc")
    (project.root / "templates" / "system").symlink_to("/")
    (project.root / "handlers" / "notes" / "large.py").symlink_to("../../large")
    spoil(project.root / "large", "large")

    assert in_project(project, command).returncode == 0


@needs_links
def test_a_generated_file_that_is_a_pipe_or_too_large_is_not_read(project: Project) -> None:
    spoil(project.generated / "notes_server" / "server.py", "pipe")
    spoil(project.generated / "docs" / "index.md", "large")
    spoil(project.generated / "huge.py", "large")
    result = in_project(project, ["check"])

    assert result.returncode == 3
    assert "TM605 in the way  docs/index.md (a file that cannot be read)" in result.stderr


@pytest.mark.uncovered
def test_planted_files_are_read_up_to_a_limit(project: Project) -> None:
    names = [f"copy{number}.md" for number in range(MAX_TOTAL_BYTES // (15 * 1024**2) + 1)]
    for name in names:
        put(project.generated / name, add_checksum(PurePosixPath(name), "x" * 15 * 1024**2))
    put(project.generated / "docs" / "index.md", "x" * 17 * 1024**2)
    snapshot = take_snapshot(project.generated)
    contents = [snapshot.read(name) for name in names]

    assert sum(len(content or b"") for content in contents) <= MAX_TOTAL_BYTES
    assert snapshot.read("docs/index.md") is None
    assert in_project(project, ["check"]).returncode == 3


def test_a_handler_larger_than_one_mebibyte_is_not_parsed(project: Project) -> None:
    put(project.root / "handlers" / "notes" / "text.py", "[" + "0," * 8_000_000 + "]\n")
    result = in_project(project, ["check"])

    assert result.returncode == 1
    assert "text.py: it is larger than 1 MiB" in result.stderr


@pytest.mark.parametrize("text", ["a = 1" + "0" * 5000, "a = " + "[" * 5000])
def test_a_pyproject_that_tomllib_cannot_parse_is_reported(text: str, run: Toolmason, project: Project) -> None:
    put(project.root / "pyproject.toml", text)
    result = run("check")

    assert result.exit_code == 1
    assert "error[TM337]" in result.stderr


@pytest.mark.uncovered
@needs_links
def test_folders_nested_deeper_than_calls_are_compared(run: Toolmason, project: Project) -> None:
    descriptors = [os.open(project.generated, os.O_RDONLY)]
    for _ in range(1500):
        os.mkdir("a", dir_fd=descriptors[0])
        descriptors.append(os.open("a", os.O_RDONLY, dir_fd=descriptors[0]))
        os.close(descriptors.pop(0))
    os.close(descriptors[0])

    result = run("check")
    # Python cannot remove what is nested so deep.
    subprocess.run(["rm", "-rf", project.generated / "a"], check=True)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert result.exit_code == 0


def in_project(project: Project, command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run `toolmason` there as a program with little memory, and not for long."""
    argv = [sys.executable, "-m", "toolmason", *command, "--manifest", "manifest/notes.toml"]
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(argv, cwd=project.root, encoding="utf-8", **streams) as process:  # type: ignore[call-overload]
        try:
            if sys.platform == "linux":
                import resource

                resource.prlimit(process.pid, resource.RLIMIT_AS, (3 << 30,) * 2)
            output, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    return subprocess.CompletedProcess(argv, process.returncode, output, errors)


def with_schema(project: Project, schema: str) -> None:
    """Give the tool of the project a raw schema."""
    text = project.manifest.read_text(encoding="utf-8")
    start = text.index("params.")
    lines = [line for line in text[start:].splitlines(keepends=True) if not line.startswith("params.")]
    rest = "".join(lines)
    project.manifest.write_text(f"{text[:start]}input_schema = {schema}\n{rest}", encoding="utf-8")


# Nothing outside is written


@pytest.mark.uncovered
@needs_links
@pytest.mark.parametrize("command", ["check", "generate"])
def test_a_generated_folder_that_is_a_link_is_refused(
    command: str, run: Toolmason, project: Project, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    project.generated.rename(outside)
    project.generated.symlink_to(outside)
    project.manifest.write_text(
        project.manifest.read_text(encoding="utf-8").replace("Measure texts", "Measure them"), encoding="utf-8"
    )
    before = tree(outside)
    result = run(command)

    assert result.exit_code == 4
    assert "generated:1:1: error[TM607]: it is a link" in result.stderr
    assert tree(outside) == before
    assert json.loads(run(command, "--format", "json").stdout)["code"] == "TM607"


@needs_links
def test_a_lock_that_is_a_link_is_refused(run: Toolmason, project: Project, tmp_path: Path) -> None:
    victim = put(tmp_path / "victim", "precious")
    (project.root / ".toolmason.lock").symlink_to(victim)
    (project.generated / "docs" / "index.md").unlink()
    result = run("generate")

    assert result.exit_code == 4
    assert ".toolmason.lock:1:1: error[TM607]: it is not a regular file" in result.stderr
    assert victim.read_text(encoding="utf-8") == "precious"
    assert run("check").exit_code == 3


def test_a_staging_journal_of_a_pull_request_has_no_effect(run: Toolmason, project: Project) -> None:
    mine = put(project.generated / "notes.md", "mine")
    put(project.generated / "docs" / "index.md", "edited\n")
    journal = project.generated / STAGING / "forward.json"
    step = {"name": "notes.md", "before": f"file {cache_key('mine')}", "after": "absent", "number": 0}
    put(journal, "0" * 64 + "\n" + json.dumps([step]))
    before = tree(project.root)

    assert run("check").exit_code == 3
    assert tree(project.root) == before
    assert run("generate").exit_code == 4
    assert mine.read_text(encoding="utf-8") == "mine"
    assert (project.generated / "docs" / "index.md").read_text(encoding="utf-8") == "edited\n"


def cache_key(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def tampered(project: Project) -> Path:
    """Put code into the models of a category, with a valid checksum."""
    path = next(project.generated.glob("*/*/models.py"))
    text = path.read_text(encoding="utf-8")
    (category,) = server(project).categories
    found = pydantic_models.models(pydantic_models.schemas(category, server(project).package))
    assert found in text
    body = found.replace("import annotations", "import annotations\n\nimport os", 1)
    hostile = f'{body}\n\nos.system("id")\n'
    whole = text.replace(found, hostile).rpartition("# toolmason: sha256")[0]
    path.write_text(add_checksum(PurePosixPath(path.relative_to(project.generated)), whole), encoding="utf-8")
    return path


def server(project: Project) -> Server:
    reading = read(project, diagnostics=Diagnostics())
    assert reading is not None
    return reading.server


@pytest.mark.uncovered
@pytest.mark.parametrize("ci", ["", "1"], ids=["on a desk", "in CI"])
@pytest.mark.parametrize("is_known", [True, False], ids=["with a record", "without a record"])
def test_models_changed_by_a_pull_request_are_stale_even_with_correct_hashes(
    ci: str, is_known: bool, run: Toolmason, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_known:
        assert run("check").exit_code == 0
    path = tampered(project)
    monkeypatch.setenv("CI", ci)
    result = run("check")

    assert result.exit_code == 3
    assert f"TM602 stale       {path.relative_to(project.generated).as_posix()}" in result.stderr
    assert run("generate").exit_code == 0
    assert "os.system" not in path.read_text(encoding="utf-8")


def test_models_that_a_template_printed_do_not_outlive_it(run: Toolmason, project: Project) -> None:
    path = tampered(project)
    printed = path.read_text(encoding="utf-8").rpartition("# toolmason: sha256")[0]
    template = put(project.template_directory / "python" / "models.py.jinja", f"{{% raw %}}\n{printed}{{% endraw %}}\n")
    assert run("generate").exit_code == 0
    assert run("check").exit_code == 0
    assert "os.system" in path.read_text(encoding="utf-8")
    template.unlink()

    assert run("check").exit_code == 3


# Mistakes are bounded


@pytest.mark.parametrize("depth", [100, 200, 600])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_schema_nested_too_deeply_is_reported_with_its_key(command: list[str], depth: int, project: Project) -> None:
    with_schema(project, "{ properties.a = " * depth + "{}" + " }" * depth)
    arguments = [*command, "--manifest", str(project.manifest)]
    result = CliRunner().invoke(toolmason, arguments)

    assert result.exit_code in {1, 2}
    assert "error[TM214]: `input_schema` in [tools.count_words] contains more than 64 levels" in result.stderr
    assert len(result.stderr) < 2000


@pytest.mark.uncovered
@pytest.mark.parametrize("layout", ["text", "json", "github", "sarif"])
@pytest.mark.parametrize("command", ["check", "lint"])
def test_of_many_findings_some_are_shown_with_the_number_of_the_others(
    command: str, layout: str, run: Toolmason, project: Project
) -> None:
    text = project.manifest.read_text(encoding="utf-8")
    project.manifest.write_text("".join(f"key_{number} = 1\n" for number in range(4_000)) + text, encoding="utf-8")
    result = run(command, "--format", layout)

    assert result.exit_code == 1
    assert len(result.output) < 200_000
    assert f"{4_000 - MAX_SHOWN:,} more findings are not shown" in result.output
    assert result.output.count("unknown key") == MAX_SHOWN
    if layout == "text":
        assert "\n4000 errors. Nothing was written.\n" in result.stderr


def test_of_many_differences_some_are_listed_with_the_number_of_the_others(run: Toolmason, project: Project) -> None:
    page = (project.generated / "docs" / "index.md").read_text(encoding="utf-8")
    for number in range(500):
        put(project.generated / "docs" / f"copy{number}.md", page)
    result = run("check")

    assert result.exit_code == 3
    assert result.stderr.count("TM603 extra") == MAX_SHOWN
    assert f"  ... and {500 - MAX_SHOWN} more\n" in result.stderr


@pytest.mark.parametrize("layout", ["text", "github", "sarif"])
def test_of_many_findings_in_schemas_the_worst_are_shown(layout: str, tmp_path: Path) -> None:
    noted: Mapping[str, object] = {"type": "string", "title": "T"}
    refused: Mapping[str, object] = {"type": "string", "contentEncoding": "base64"}
    tools = [
        {
            "name": f"tool_{number}",
            "description": "A tool",
            "inputSchema": {
                "type": "object",
                "properties": dict.fromkeys(map(str, range(125)), refused)
                if number == 99
                else {"a": noted, "b": noted},
            },
        }
        for number in range(100)
    ]
    listed = put(tmp_path / "tools.json", json.dumps({"tools": tools}))
    arguments = ["schema", "check", str(listed), "--target", "gemini-parameters", "--format", layout]
    result = CliRunner().invoke(toolmason, arguments)

    assert len(result.stdout) < 300_000
    assert ("more findings are not shown" in result.stdout) == (layout != "text")
    assert ("and 122 more\n" in result.stdout) == (layout == "text")
    assert "tool_99" in result.stdout
    if layout == "sarif":
        (run,) = json.loads(result.stdout)["runs"]
        assert len(run["results"]) == MAX_SHOWN + 1


INTERRUPTED = """
import os, signal, sys
from toolmason.__main__ import main

class Interrupt:
    left = int(sys.argv.pop(1))

    def find_spec(self, *_):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
main()
"""
"""Runs the command line and interrupts it at an import, which is counted from 1."""


@pytest.mark.skipif(sys.platform == "win32", reason="an interrupt goes to a whole console there")
@pytest.mark.parametrize("number", [1, 2, 5, 10, 20, 40, 80, 120, 160])
def test_an_interrupt_while_modules_are_imported_prints_no_traceback(number: int, project: Project) -> None:
    override(project, "new\n")
    command = [sys.executable, "-c", INTERRUPTED, str(number), "check"]
    ended = subprocess.run(command, cwd=project.root, capture_output=True, check=False, encoding="utf-8")

    assert ended.returncode in {-signal.SIGINT, 1}
    assert ended.stderr.strip() in {"", "Aborted!"}
