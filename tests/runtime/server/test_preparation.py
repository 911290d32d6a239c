"""After a search, a server prepares the call that will probably follow, without a trace on the protocol's streams."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from threading import Event

import pytest
from oracle import LEGACY
from stdio_peer import PATIENCE_S, talking
from toolmason_runtime.protocol import binding
from toolmason_runtime.protocol.binding import Binding, HandlerExitError, exclusive_import
from toolmason_runtime.protocol.catalogue import ToolEntry
from toolmason_runtime.server.preparation import Preparation

SERVER = """
import sys
from toolmason_runtime.server.command import Command
from sample_server.catalogue import CATALOGUE
from sample_server.server import load_index

catalogue = {**CATALOGUE, "server": {**CATALOGUE["server"], "package": "noisy_server"}}
sys.exit(Command(catalogue=catalogue, load_index=load_index, prog="noisy", version="0").run())
"""
BINDINGS = """
import os
import sys
import threading

print("printed by an import of", threading.current_thread().name, flush=True)
os.write(1, b"written by an import\\n")
print("read by an import:", os.read(0, 1000), file=sys.stderr, flush=True)

from sample_server.text.bindings import BINDINGS
"""


@pytest.fixture
def noisy_server(tmp_path: Path) -> Path:
    """A package whose bindings use the standard streams when they are imported."""
    package = tmp_path / "noisy_server" / "text"
    package.mkdir(parents=True)
    for directory in (package, package.parent):
        (directory / "__init__.py").touch()
    (package / "bindings.py").write_text(BINDINGS, encoding="utf-8")
    return tmp_path


def test_imports_after_a_search_cannot_use_the_streams_of_the_protocol(noisy_server: Path, each_engine: str) -> None:
    path = {"PYTHONPATH": os.pathsep.join(filter(None, [str(noisy_server), os.environ.get("PYTHONPATH", "")]))}
    with talking(LEGACY, command=(sys.executable, "-c", SERVER, "--engine", each_engine), env=path) as peer:
        peer.call("search", {"query": "count words"})
        peer.wait_for_stderr_containing(b"printed by an import of Thread-")
        peer.wait_for_stderr(b"written by an import\n")
        peer.wait_for_stderr(b"read by an import: b''\n")

        peer.call("search", {"query": "count words"})
        called = peer.call("call", {"tool_name": "shout", "args": {"text": "one"}})

    assert called["content"][0]["text"] == "ONE"


def test_call_waits_for_an_import_that_never_ends_only_for_a_limited_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding, "MAX_IMPORT_WAIT_S", 0.05)
    is_importing, may_end = Event(), Event()

    def hang(_name: str, _entry: ToolEntry) -> None:
        is_importing.set()
        may_end.wait(PATIENCE_S)

    entry: ToolEntry = {"tool": {"name": "hanging"}}  # type: ignore[typeddict-item]
    Preparation(hang, [], 0).expect(entry)
    assert is_importing.wait(PATIENCE_S)

    with exclusive_import():
        assert not may_end.is_set()
    may_end.set()


def test_import_that_exits_is_an_error_of_the_tool() -> None:
    with pytest.raises(HandlerExitError, match=r"an import called sys.exit\(3\)"), exclusive_import():
        sys.exit(3)


def test_prepare_method_of_a_handler_is_not_called() -> None:
    class Report:
        is_prepared = False

        def prepare(self) -> None:
            self.is_prepared = True

        def __call__(self, params: object, call: object) -> str:
            raise NotImplementedError

    handler = Report()
    Binding(None, handler).prepare()

    assert not handler.is_prepared
