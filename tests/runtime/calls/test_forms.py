"""Each form in which models send arguments, on each path: a handler, a meta-tool, a request body and an upstream."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from quiet_context import QuietContext

HERE = Path(__file__).parent
PARTS = [{"path": "a"}]
Row = tuple[dict[str, Any], dict[str, Any]]

FORMS: dict[str, Row] = {
    "an array as JSON text": ({"files": '[{"path": "a"}]'}, {"files": PARTS}),
    "an object as JSON text": ({"part": '{"path": "a"}'}, {"part": {"path": "a"}}),
    "JSON text inside an object": ({"group": {"parts": '[{"path": "a"}]'}}, {"group": {"parts": PARTS}}),
    "JSON texts as items": ({"files": ['{"path": "a"}']}, {"files": PARTS}),
    "JSON text that was encoded twice": ({"files": json.dumps('[{"path": "a"}]')}, {"files": PARTS}),
    "one text for a list": ({"names": "a"}, {"names": ["a"]}),
    "one object for a list": ({"files": {"path": "a"}}, {"files": PARTS}),
    "one object as JSON text for a list": ({"files": '{"path": "a"}'}, {"files": PARTS}),
    "an integer as text": ({"count": "5"}, {"count": 5}),
    "a number as text": ({"ratio": "2.5"}, {"ratio": 2.5}),
    "a boolean as text": ({"flag": "True"}, {"flag": True}),
    "an enum in another case": ({"mode": "JSON"}, {"mode": "json"}),
    "null for an optional argument": ({"count": None, "files": None}, {}),
    "an empty text for an optional argument": ({"count": "", "files": "", "mode": ""}, {}),
    "the text null for an optional argument": ({"count": "null", "names": "null", "flag": "NULL"}, {}),
    "another name of a parameter": ({"revision": "HEAD"}, {"target": "HEAD"}),
    "a value in another normal form": ({"mode": "Gro\u0308\u00dfe"}, {"mode": "Gr\u00f6\u00dfe"}),
}
"""The usual forms, as docs/arguments.md lists them."""

FURTHER: dict[str, Row] = {
    "a list of texts as JSON text": ({"names": '["a", "b"]'}, {"names": ["a", "b"]}),
    "an empty list as text": ({"names": " [] "}, {"names": []}),
    "an empty object as text": ({"group": '{"parts": []}'}, {"group": {"parts": []}}),
    "numbers of a list as texts": ({"numbers": ["1", "2"]}, {"numbers": [1, 2]}),
    "one number for a list": ({"numbers": 3}, {"numbers": [3]}),
    "one number as text for a list": ({"numbers": "3"}, {"numbers": [3]}),
    "texts in a list as JSON text": ({"numbers": '["1", "2"]'}, {"numbers": [1, 2]}),
    "a member of an item as text": ({"files": [{"path": "a", "head": "20"}]}, {"files": [{"path": "a", "head": 20}]}),
    "one value in a map of lists": (
        {"group": {"parts": [], "labels": {"x": "y", "z": '["1"]'}}},
        {"group": {"parts": [], "labels": {"x": ["y"], "z": ["1"]}}},
    ),
    "JSON text with line breaks": ({"part": '{\n  "path": "a"\n}\n'}, {"part": {"path": "a"}}),
    "an empty member of an item": ({"files": [{"path": "a", "head": ""}]}, {"files": PARTS}),
    "null inside JSON text": ({"files": '[{"path": "a", "head": null}]'}, {"files": PARTS}),
    "an integer with a fraction": ({"count": "5.0"}, {"count": 5}),
    "a boolean in Python": ({"flag": "False"}, {"flag": False}),
    "None of Python": ({"count": "None", "part": "None"}, {}),
    "undefined of JavaScript": ({"count": "undefined"}, {}),
    "an enum with a capital": ({"mode": "csv"}, {"mode": "Csv"}),
    "a pattern for a list": ({"names": "[a-z]*.py"}, {"names": ["[a-z]*.py"]}),
    "a path with commas for a list": ({"names": "a,b.txt"}, {"names": ["a,b.txt"]}),
    "several forms at once": (
        {"files": '{"path": "a"}', "count": "5", "mode": "TEXT", "ref": "HEAD"},
        {"files": PARTS, "count": 5, "mode": "text", "target": "HEAD"},
    ),
}
"""Further forms: other languages, combinations, and texts that only look like JSON."""

KEPT: dict[str, dict[str, Any]] = {
    "JSON text where a text is wanted": {"text": '["a"]', "target": '{"a": 1}'},
    "a number as text where a text is wanted": {"text": "5", "target": "1.10"},
    "words for nothing where a text is wanted": {"text": "null", "target": ""},
    "texts in a list of texts": {"names": ['["a"]', "null", "5", ""]},
    "a path as a text": {"part": {"path": '[{"path": "a"}]'}},
}
"""Arguments that are valid as they are."""

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a number for a text": ({"text": 5}, "Argument 'text' must be a string; got 5"),
    "an array in Python": ({"files": "[{'path': 'a'}]"}, "Argument 'files' must be an array"),
    "JSON text that was cut": ({"names": '["a", "b'}, "Argument 'names' must be an array of strings"),
    "items without their array": ({"numbers": "1,2"}, "Argument 'numbers' must be an array of integers"),
    "a list for one value": ({"part": PARTS}, "Argument 'part' must be an object"),
    "two values of an enum": ({"mode": "json|text"}, "Argument 'mode' must be one of: json, text, Csv, Größe"),
    "an array of objects as texts": ({"files": ["a"]}, "Argument 'files[0]' must be an object"),
    "a boolean for a number": ({"count": True}, "Argument 'count' must be an integer; got true"),
    "infinity": ({"numbers": "[1e999]"}, "Argument 'numbers[0]' must be a finite number"),
}
"""Arguments of which the meaning is not certain."""

Call = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


class Echo(BaseHTTPRequestHandler):
    """Answers with the body of the request, as text."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"] or 0)) or b"{}"
        self.send_response(200)
        self.send_header("content-type", "text/plain")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the signature of the base class
        pass


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project, generated."""
    project = tmp_path_factory.mktemp("forms") / "project"
    shutil.copytree(HERE / "forms", project)
    subprocess.run([sys.executable, "-m", "toolmason", "generate"], cwd=project, check=True, timeout=120)
    return project


@pytest.fixture
def dispatcher(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The dispatcher of the generated server, and the API that it calls."""
    monkeypatch.syspath_prepend(str(project / "generated"))
    monkeypatch.syspath_prepend(str(project / "handlers"))
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as api:
        thread = threading.Thread(target=api.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setenv("ECHO_URL", f"http://127.0.0.1:{api.server_port}")
        monkeypatch.setenv("PYTHON", sys.executable)
        monkeypatch.setenv("ECHO_SERVER", str(HERE / "forms" / "echo_server.py"))
        yield importlib.import_module("forms_server.server").build_dispatcher()
        api.shutdown()
        thread.join()
    for name in [name for name in sys.modules if name.partition(".")[0] in {"forms_server", "forms_handlers"}]:
        del sys.modules[name]


async def answers(dispatcher: Any, tool: str, meta: str, rows: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Call a tool with each of `rows`; return the text of each answer, without the note on another name."""
    results = {}
    for form, arguments in rows.items():
        call = {"tool_name": tool, "args": arguments} if meta else arguments
        params = {"name": meta or tool, "arguments": call}
        result = await dispatcher.dispatch("tools/call", params, QuietContext())
        texts = [block["text"] for block in result["content"]]
        notes = [text for text in texts if text.startswith("Note: ")]
        aliases = arguments.keys() & {"revision", "ref"}
        assert notes == [f"Note: argument '{alias}' was taken as 'target'" for alias in aliases], form
        results[form] = next(text for text in texts if text not in notes)
    return results


PATHS = pytest.mark.parametrize(
    ("tool", "meta"), [("keep", ""), ("keep", "call"), ("post", ""), ("pass_on", ""), ("pass_on", "call")]
)


@pytest.mark.anyio
@PATHS
async def test_each_form_is_taken_on_each_path(dispatcher: Any, tool: str, meta: str) -> None:
    taken = FORMS | FURTHER | {form: (arguments, arguments) for form, arguments in KEPT.items()}
    if tool == "pass_on":
        taken["a name in another normal form"] = ({"gro\u0308\u00dfe": 5}, {"gr\u00f6\u00dfe": 5})
    try:
        got = await answers(dispatcher, tool, meta, {form: sent for form, (sent, _) in taken.items()})
    finally:
        await dispatcher.aclose()

    assert {form: _decoded(text) for form, text in got.items()} == {form: right for form, (_, right) in taken.items()}


@pytest.mark.anyio
@PATHS
async def test_the_error_of_a_refused_form_has_the_call_to_send(dispatcher: Any, tool: str, meta: str) -> None:
    try:
        got = await answers(dispatcher, tool, meta, {form: sent for form, (sent, _) in REFUSED.items()})
        for form, (_, problem) in REFUSED.items():
            lines = got[form].splitlines()
            assert problem in lines[0], form
            if form == "infinity":
                continue
            name, _, call = lines[-1].removeprefix("Example: ").partition(" ")
            result = await dispatcher.dispatch(
                "tools/call", {"name": name, "arguments": json.loads(call)}, QuietContext()
            )
            assert not result.get("isError"), (form, result)
    finally:
        await dispatcher.aclose()


def _decoded(text: str) -> Any:
    try:
        # A model has null as the default of an optional field.
        return json.loads(
            text, object_hook=lambda value: {key: part for key, part in value.items() if part is not None}
        )
    except ValueError:
        return text


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
