"""The phases of a server over stdio: signals and ends in each of them, and streams that no handler can damage.

Workbench is started without flags, so it begins with the answers that were prepared at its generation.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import sample_server
from oracle import ERAS, LEGACY
from stdio_peer import Peer, talking
from toolmason_runtime.transports.stdio.idle_time import IDLE_S

pytestmark = pytest.mark.real_start(reason="signals arrive during the imports between two phases")

WORKBENCH: Final = (sys.executable, "-m", "workbench_server")
IGNORING_INTERRUPTS: Final = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
READ: Final = {"tool_name": "list_allowed_directories", "args": {}}
PHASES: Final[dict[str, Callable[[Peer], Any]]] = {
    "boot": lambda peer: peer.result("tools/list"),
    "sync": lambda peer: peer.call("search", {"query": "read a file"}),
    "async": lambda peer: peer.call("call_read", READ),
}
"""The request after which the server is in each phase."""
DELAYS_S: Final = (0, 0.01, 0.02, 0.04, 0.08, 0.16)
"""Times from a request to a signal: the imports for the next phase take about as long."""
DELAYED_SIGNALS: Final = list(zip(DELAYS_S, itertools.cycle(SIGNALS), strict=False))


reads_libraries = pytest.mark.skipif(sys.platform != "linux", reason="reads the loaded libraries in /proc")
PREPARED_S: Final = 30.0
"""Maximum time until the modules of the first call are imported, on a loaded machine."""


@contextmanager
def workbench(
    tmp_path: Path,
    version: str = LEGACY,
    prefix: tuple[str, ...] = (),
    arguments: tuple[str, ...] = (),
    **more: Any,
) -> Iterator[Peer]:
    """Start Workbench where nothing makes its startup check write, and open the connection."""
    env = {"HOME": str(tmp_path), "GEMINI_API_KEY": "none", **more}
    with talking(version, command=(*prefix, *WORKBENCH, *arguments), env=env, cwd=str(tmp_path)) as peer:
        yield peer


@pytest.mark.parametrize(
    ("number", "prefix"),
    [*((number, ()) for number in SIGNALS), (signal.SIGINT, IGNORING_INTERRUPTS)],
    ids=[*(number.name for number in SIGNALS), "SIGINT ignored at the start"],
)
@pytest.mark.parametrize("phase", PHASES)
def test_a_signal_ends_each_phase_after_its_last_response(
    phase: str, number: signal.Signals, prefix: tuple[str, ...], tmp_path: Path
) -> None:
    with workbench(tmp_path, prefix=prefix) as peer:
        PHASES[phase](peer)
        peer.process.send_signal(number)

        assert peer.exit_status() == 0
        assert peer.rest() == []


@pytest.mark.parametrize(("delay_s", "number"), DELAYED_SIGNALS, ids=str)
@pytest.mark.parametrize("phase", ["sync", "async"])
def test_a_signal_during_a_hand_over_ends_the_server_between_two_lines(
    phase: str, delay_s: float, number: signal.Signals, tmp_path: Path
) -> None:
    with workbench(tmp_path) as peer:
        name, arguments = ("call_read", READ) if phase == "async" else ("search", {"query": "read a file"})
        peer.send("tools/call", name=name, arguments=arguments)
        time.sleep(delay_s)
        peer.process.send_signal(number)

        assert peer.exit_status() == 0
        assert len(peer.rest()) <= 1  # whole lines: half of one is no JSON
        assert "Traceback" not in peer.stderr()


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("phase", PHASES)
def test_a_signal_ends_each_phase_though_the_client_does_not_read(
    phase: str, number: signal.Signals, tmp_path: Path
) -> None:
    with workbench(tmp_path) as peer:
        PHASES[phase](peer)
        peer.reads.clear()
        for _ in range(300):  # the responses are more than a pipe holds, the requests are not
            peer.send("tools/list")
        peer.process.send_signal(number)

        assert peer.exit_status() == 0


@pytest.mark.parametrize("phase", PHASES)
def test_the_end_of_input_ends_each_phase(phase: str, tmp_path: Path) -> None:
    with workbench(tmp_path) as peer:
        PHASES[phase](peer)
        peer.end_of_input()

        assert peer.exit_status() == 0
        assert peer.rest() == []


@pytest.mark.parametrize("version", ERAS)
def test_lines_that_arrive_together_and_a_half_line_pass_through_all_phases(version: str, tmp_path: Path) -> None:
    with workbench(tmp_path, version) as peer:
        requests = [
            peer.message("tools/list"),
            peer.message("tools/call", name="search", arguments={"query": "read a file"}),
            peer.message("prompts/list"),
            peer.message("tools/call", name="call_read", arguments=READ),
            peer.message("tools/list"),
            peer.message("ping"),
        ]
        for request in requests:
            peer.oracle.from_client(request)
        data = b"".join(json.dumps(request).encode() + b"\n" for request in requests)
        assert peer.process.stdin is not None
        for part in (data[:-20], data[-20:]):
            peer.process.stdin.write(part)
            peer.process.stdin.flush()
        answers = {message["id"]: message for message in (peer.next_message() for _ in requests)}

    assert list(answers).count(requests[-1]["id"]) == 1
    assert answers.keys() == {request["id"] for request in requests}
    assert answers[requests[0]["id"]]["result"] == answers[requests[4]["id"]]["result"]
    assert all("result" in answer for answer in answers.values() if answer["id"] != requests[-1]["id"])


NOISY: Final = """

import os
import subprocess

CHILD = "import sys; print('by a child'); sys.stdout.write(repr(sys.stdin.read()))"


def make_noise(place):
    print("printed at", place)
    sys.__stdout__.write(f"written at {place}\\n")
    os.write(1, b"by number\\n")
    subprocess.run([sys.executable, "-c", CHILD])
    os.system("echo by a shell; cat")
    assert sys.stdin.read() == ""
    assert os.read(0, 1) == b""


make_noise("import")


async def wait(params: NoParams, call: ToolCall) -> Content:
    make_noise("call")
    return "done"


def hold(params: NoParams, call: ToolCall) -> Content:
    make_noise("call in a thread")
    os.close(0)
    os.close(1)
    return "done"
"""
"""Handlers that print and read on import and in each call, in each way, and close the streams that they see."""


@pytest.mark.parametrize("version", ERAS)
def test_no_handler_can_damage_the_streams_of_the_protocol(version: str, tmp_path: Path, each_engine: str) -> None:
    package = tmp_path / "sample_server"
    shutil.copytree(Path(sample_server.__file__).parent, package)
    with (package / "odd_handlers.py").open("a", encoding="utf-8") as file:
        file.write(NOISY)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    command = (sys.executable, "-m", "sample_server", "--classic", "--all", "--engine", each_engine)
    with talking(version, command=command, env={"PYTHONPATH": path}) as peer:
        texts = [peer.call(tool)["content"][0]["text"] for tool in ("wait", "hold", "release")]
        again = peer.result("tools/list")
        peer.end_of_input()
        assert peer.exit_status() == 0
        assert peer.rest() == []
        errors = peer.stderr()

    assert texts == ["done", "done", "done"]
    assert again["tools"]
    for text in ("printed at import", "printed at call in a thread", "by number", "by a child", "by a shell"):
        assert f"{text}\n" in errors


EARLY: Final[list[tuple[str, dict[str, Any]]]] = [
    ("tools/list", {"cursor": "next"}),
    ("tools/unknown", {}),
    ("tools/call", {}),
    ("tools/call", {"name": "unknown", "arguments": {}}),
    ("tools/call", {"name": "search", "arguments": {"query": "zzzz"}}),
    ("prompts/get", {"name": "unknown"}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "unknown"}, "argument": {"name": "a", "value": ""}}),
    ("resources/read", {"uri": "unknown://a"}),
]
"""Requests that end the boot phase and call no tool: the synchronous phase answers the first ones."""


def has_imported(peer: Peer, name: str) -> bool:
    return name in Path("/proc", str(peer.process.pid), "maps").read_text()


def is_prepared(peer: Peer) -> bool:
    """Wait until the modules of the first call are imported."""
    deadline = time.monotonic() + PREPARED_S
    while not has_imported(peer, "pydantic_core") and time.monotonic() < deadline:
        time.sleep(0.05)
    return has_imported(peer, "pydantic_core")


@reads_libraries
@pytest.mark.parametrize("arguments", [(), ("--root", "."), ("--toolsets", "files")], ids=" ".join)
def test_the_first_call_is_prepared_while_the_client_is_quiet(arguments: tuple[str, ...], tmp_path: Path) -> None:
    with workbench(tmp_path, arguments=arguments) as peer:
        peer.result("tools/list")
        assert not has_imported(peer, "pydantic_core")

        assert is_prepared(peer)
        assert peer.result("ping") == {}
        assert peer.result("tools/list")["tools"]
        assert str(tmp_path) in json.dumps(peer.call("call_read", READ))


@reads_libraries
@pytest.mark.parametrize(("early", "version"), list(zip(EARLY, itertools.cycle(ERAS), strict=False)), ids=str)
def test_the_first_call_is_prepared_though_the_boot_phase_ended_early(
    early: tuple[str, dict[str, Any]], version: str, tmp_path: Path
) -> None:
    method, params = early
    with workbench(tmp_path, version) as peer:
        peer.result("tools/list")
        peer.response(peer.send(method, meta=None, **params))
        assert not has_imported(peer, "pydantic_core")

        assert is_prepared(peer)
        assert str(tmp_path) in json.dumps(peer.call("call_read", READ))


@reads_libraries
@pytest.mark.parametrize("version", ERAS)
def test_the_first_call_of_a_client_with_pages_is_prepared(version: str, tmp_path: Path) -> None:
    pages = {"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}}
    env = {"HOME": str(tmp_path), "GEMINI_API_KEY": "none"}
    with talking(version, command=WORKBENCH, capabilities=pages, env=env, cwd=str(tmp_path)) as peer:
        assert peer.result("tools/list")["tools"]
        assert not has_imported(peer, "pydantic_core")

        assert is_prepared(peer)
        assert str(tmp_path) in json.dumps(peer.call("call_read", READ))


@reads_libraries
def test_the_first_call_is_prepared_though_the_client_is_late(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "GEMINI_API_KEY": "none"}
    with closing(Peer(WORKBENCH, LEGACY, env=env, cwd=str(tmp_path))) as peer:
        time.sleep(4 * IDLE_S)  # the server waits for the handshake
        assert not has_imported(peer, "pydantic_core")
        peer.open()

        assert is_prepared(peer)


def test_the_preparation_of_a_call_runs_no_code_of_the_project() -> None:
    code = (
        "import sys; from toolmason_runtime.server.preparation import prepare_first_call;"
        "prepare_first_call('workbench_server');"
        "print(*sys.modules)"
    )
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.decode().split()
    needed = {"pydantic", "anyio._backends._asyncio", "toolmason_runtime.server.surfaces", "toolmason_runtime.kinds"}
    assert needed <= set(modules)
    assert [name for name in modules if name.startswith("workbench_")] == [
        "workbench_server",
        "workbench_server.catalogue",
    ]


@pytest.mark.parametrize(
    ("parts", "imported"),
    [
        ({"tools": {"a": {"cli": "git"}}}, ()),
        ({"tools": {"a": {}}}, ("pydantic",)),
        ({"tools": {}, "clis": {"git": {}}}, ("anyio._backends._asyncio",)),
        ({"tools": {}, "prompts": {"a": {}}}, ("toolmason_runtime.server.surfaces",)),
    ],
    ids=str,
)
def test_the_preparation_imports_only_what_the_catalogue_needs(
    parts: dict[str, Any], imported: tuple[str, ...], tmp_path: Path
) -> None:
    package = tmp_path / "commands_server"
    package.mkdir()
    package.joinpath("catalogue.py").write_text(f"CATALOGUE = {parts!r}")
    expensive = ("pydantic", "anyio._backends._asyncio", "toolmason_runtime.server.surfaces")
    code = (
        "import sys; from toolmason_runtime.server.preparation import prepare_first_call;"
        "prepare_first_call('commands_server');"
        f"print('commands_server.catalogue' in sys.modules, *(name for name in {expensive!r} if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=tmp_path)
    assert done.stdout.decode().split() == ["True", *imported]
