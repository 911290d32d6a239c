"""Programs that print JSON, and maps on a command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field
from toolmason_runtime.calls.model import Model
from toolmason_runtime.programs.argv import build_invocation, with_joined_maps
from toolmason_runtime.programs.execute import Outcome
from toolmason_runtime.programs.json_output import MAX_OUTPUT_BYTES, read_json_output
from toolmason_runtime.programs.output_buffer import Capture
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.specs.program import ArgumentPlacement, CommandTool, PlacementKind, Program

from toolmason import pipeline
from toolmason.diagnostics import Diagnostics
from toolmason.scaffold import init, project_names

MANIFEST = """
[clis.notes]
command = ["$PYTHON", "-I", "$PROGRAM"]
category = "text"

[types.Note]
fields.id = { type = "integer" }
fields.text = { type = "string" }

[types.NoteList]
fields.notes = { type = "Note[]" }

[tools.list_notes]
summary = "List the notes with some labels"
cli = "notes"
risk = "read"
output = "json"
returns = "NoteList"
params.labels = { type = "map<string>", description = "Labels of the notes", flag = "--label", required = false }
params.sizes = { type = "map<number>", description = "Sizes of the notes", separator = ":", required = false }

[[tools.list_notes.examples]]
description = "Notes of Ada"
arguments = { labels = { by = "Ada" } }
"""


GUARD = """
async def guard(tool, values, call):
    return {"labels": {"to": "Grace"}} if values == {"labels": ["to=Ada"]} else {}
"""
PROGRAM = """
import json, sys
print(json.dumps([{"id": 1, "text": text, "size": 2} for text in sys.argv[1:]]))
"""


class Item(Model):
    number: int = Field(alias="no")
    title: str | None = None


class Items(Model):
    items: list[Item]


class OptionalItems(Model):
    items: list[Item] | None = None


LINES = {"items": [{"no": 1, "title": "a\u2028b"}, {"no": 2, "title": "?"}]}


def outcome(stdout: str) -> Outcome:
    captures = [Capture(), Capture()]
    captures[0].write(stdout.encode())
    return Outcome(stdout=captures[0], stderr=captures[1], exit_code=0, timeout_s=1)


@pytest.mark.parametrize(
    ("stdout", "model", "expected"),
    [
        ('{"no": 1, "title": "a", "url": "x"}\n', Item, {"no": 1, "title": "a"}),
        ('[{"no": 1, "url": "x"}, {"no": 2}]', Items, {"items": [{"no": 1, "title": None}, {"no": 2, "title": None}]}),
        ('{"no": 1}\n\n{"no": 2}\n', Items, {"items": [{"no": 1, "title": None}, {"no": 2, "title": None}]}),
        ('{"no": 1}\n', Items, {"items": [{"no": 1, "title": None}]}),
        ('{"no": 1}\n', OptionalItems, {"items": [{"no": 1, "title": None}]}),
        ("\n", Items, {"items": []}),
        ("null", Items, {"items": []}),
        ('{"no": 1, "title": "a\u2028b"}\r\n{"no": 2, "title": "\\ud800"}\r\n', Items, LINES),
        ('\ufeff{"items": []}', Items, {"items": []}),
    ],
)
def test_declared_members_of_the_output_are_returned(stdout: str, model: type[Model], expected: object) -> None:
    assert read_json_output(outcome(stdout), "notes", model).model_dump(by_alias=True) == expected


@pytest.mark.parametrize(
    ("stdout", "message"),
    [
        ("no issues found", "notes printed no JSON (Expecting value: line 1 column 1 (char 0)): no issues found"),
        ("", "notes printed no JSON"),
        ("\x1b[31mred", "notes printed no JSON (Expecting value: line 1 column 1 (char 0)): \x1b[31mred"),
        ("[" * 100_000, "notes printed no JSON"),
        ('[{"no": 1}]', "The output of notes does not fit `Item`: the output: "),
        ('{"no": "x"}', "The output of notes does not fit `Item`: no: Input should be a valid integer"),
        ('{"no": 1, "title": "' + "x" * MAX_OUTPUT_BYTES + '"}', "bytes, more than the 16,777,216 that are read"),
    ],
)
def test_other_output_is_an_error_that_shows_it(stdout: str, message: str) -> None:
    ended = outcome(stdout)
    with pytest.raises(ToolError) as raised:
        read_json_output(ended, "notes", Item)
    ended.close()
    assert message in raised.value.message
    assert len(raised.value.message) < 500


def placed(flag: str, separator: str = "=") -> CommandTool:
    place = ArgumentPlacement(name="labels", place=PlacementKind.FLAG, flag=flag, separator=separator)
    return CommandTool(name="t", program=Program(name="run", command=("run",)), placements=(place,))


@pytest.mark.parametrize(
    ("flag", "separator", "argv"),
    [
        ("--label", "=", ("run", "--label", "app=web", "--label", "-x=1=2")),
        ("--label=", ":", ("run", "--label=app:web", "--label=-x:1=2")),
    ],
)
def test_each_entry_of_a_map_repeats_the_flag(flag: str, separator: str, argv: tuple[str, ...]) -> None:
    tool = placed(flag, separator)
    labels = {"app": "web", "-x": "1=2"}
    if flag.endswith("="):
        assert build_invocation(tool, with_joined_maps(tool, {"labels": labels}), environ={}).argv == argv
    else:
        with pytest.raises(ToolError, match="could parse it as an option"):
            build_invocation(tool, with_joined_maps(tool, {"labels": labels}), environ={})


@pytest.mark.parametrize("key", ["", "a=b"])
def test_a_key_that_the_program_would_read_differently_is_refused(key: str) -> None:
    with pytest.raises(ToolError, match="a key must not be empty or contain `=`"):
        with_joined_maps(placed("--label"), {"labels": {key: "x"}})


def test_a_generated_server_joins_maps_around_its_guard_and_returns_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "notes.py"
    program.write_text(PROGRAM, encoding="utf-8")
    monkeypatch.setenv("PYTHON", sys.executable)
    monkeypatch.setenv("PROGRAM", str(program))
    project = init(tmp_path / "notes", project_names("notes"), generate=lambda _: None)
    (project.handler_directory / "notes/guarding.py").write_text(GUARD, encoding="utf-8")
    text = project.manifest.read_text(encoding="utf-8")
    text = text.replace('handlers = "notes"\n', 'handlers = "notes"\nguard = "guarding:guard"\n')
    project.manifest.write_text(text + MANIFEST, encoding="utf-8")
    diagnostics = Diagnostics()
    assert pipeline.generate(project, diagnostics=diagnostics) is not None, list(diagnostics)

    def call(**maps: dict[str, Any]) -> list[str]:
        command = [sys.executable, "-m", "toolmason", "call", "--json", "list_notes", json.dumps(maps)]
        done = subprocess.run(command, cwd=project.root, capture_output=True, encoding="utf-8", check=True)
        notes = json.loads(done.stdout)["structuredContent"]["notes"]
        assert all(note == {"id": 1, "text": note["text"]} for note in notes)
        return [note["text"] for note in notes]

    maps: dict[str, dict[str, Any]] = {"labels": {"by": "Ada", "in": "1843"}, "sizes": {"a": 2, "b": 0.5}}
    assert call(**maps) == ["--label", "by=Ada", "--label", "in=1843", "--sizes", "a:2", "--sizes", "b:0.5"]
    assert call(labels={"to": "Ada"}) == ["--label", "to=Grace"]
