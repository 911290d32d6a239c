"""The boot phase: prepared answers equal those of the server, and the server gets all other requests."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from oracle import LEGACY, MODERN
from stdio_peer import PATIENCE_S, Peer
from toolmason_runtime.calls.dispatcher import KnownClient
from toolmason_runtime.programs.settings import ProgramSettings
from toolmason_runtime.server.dispatch import Dispatcher
from toolmason_runtime.shared.opening import CATALOGUE, CLASSIC_VARIANT, DEFAULT_VARIANT, NO_COMMANDS_VARIANT, OPENING
from toolmason_runtime.shared.selection import Selection
from toolmason_runtime.transports.stdio.encoding import encode_result
from toolmason_runtime.transports.stdio.session import Session

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="servers on Windows use the SDK")
real_start = pytest.mark.real_start(reason="the boot phase is what runs before the imports")
"""Of tests in which time matters. The answers of a forked server are the same."""

REPOSITORY = Path(__file__).parents[3]
PACKAGES = [
    REPOSITORY / "generated" / "workbench_server",
    *sorted(path.parent for path in (REPOSITORY / "tests" / "golden").glob(f"*/expected/*/{OPENING}")),
]
"""Our server and those of the golden cases."""
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}
CLIENT = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "claude-code", "version": "1"}}
CHECK = """

def check_setup() -> list[str]:
    import os
    import subprocess

    print("the check has begun", flush=True)
    if "CHECK_RUNS" in os.environ:
        subprocess.run(["sleep", os.environ["CHECK_RUNS"]], check=True)
    return [f"the setup is poor in process {os.getpid()}."]
"""

OPTIONS = """
[server.options.folder]
description = "Directory of the notes"
many = true

[server.options.theme]
description = "Colours of the notes"
implicit = "dark"

[server.options.limit]
description = "Maximum number of notes"
type = "integer"
env = "NOTES_LIMIT"

[server.options.strict]
description = "Refuse notes without a title"
type = "boolean"
env = "NOTES_STRICT"
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A generated server with prompts, resources and a startup check."""
    project = tmp_path_factory.mktemp("boot") / "project"
    shutil.copytree(Path(__file__).parents[1] / "prompts" / "project", project)
    manifest = project / "manifest" / "notes.toml"
    text = manifest.read_text("utf-8").replace("[server]\n", '[server]\nstartup_check = "book:check_setup"\n', 1)
    text += OPTIONS
    manifest.write_text(text.replace('style = "classic"', 'style = "search-call"'), "utf-8")
    with (project / "handlers" / "notes_tools" / "book.py").open("a") as file:
        file.write(CHECK)
    subprocess.run([sys.executable, "-m", "toolmason", "generate"], cwd=project, check=True, timeout=120)
    return project


@pytest.fixture
def copy(project: Path, tmp_path: Path) -> Path:
    """The project, to be changed."""
    return Path(shutil.copytree(project, tmp_path / "project"))


def environment(project: Path, **variables: str) -> dict[str, str]:
    roots = os.pathsep.join(str(project / root) for root in ("generated", "handlers"))
    return {**os.environ, "PYTHONPATH": roots, **variables}


def started(project: Path, *arguments: str, **variables: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "notes_server", *arguments]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, env=environment(project, **variables), **streams)  # type: ignore[call-overload,no-any-return]


def output(project: Path, sent: bytes, *arguments: str, responses: int = 0, **variables: str) -> bytes:
    """The output of a server that gets `sent` and, after so many responses, the end of input."""
    with started(project, *arguments, **variables) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(sent)
        process.stdin.flush()
        first = b"".join(process.stdout.readline() for _ in range(responses))
        rest, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    return first + bytes(rest)


def begins(project: Path, *arguments: str, **variables: str) -> bool:
    """Whether the boot phase uses the prepared file; if not, it returns None before it reads input."""
    code = "import sys; from toolmason_runtime.boot import open_session; print(open_session(sys.argv.pop(1)))"
    command = [sys.executable, "-c", code, str(project / "generated" / "notes_server" / "__main__.py"), *arguments]
    done = subprocess.run(
        command,
        env=environment(project, **variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert done.stdout in {b"", b"None\n"}
    return done.stdout == b""


def lines(*messages: Any) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def request(identity: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}


LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
OPENED = [request(0, "initialize", **CLIENT), {"jsonrpc": "2.0", "method": "notifications/initialized"}]
SESSIONS = {
    LEGACY: lines(
        *OPENED,
        request("ping", "ping"),
        request('"":0', "logging/setLevel", level="error"),
        *(request(method, method) for method in LISTS),
        {"jsonrpc": "2.0", "id": 9, "method": "tools/list"},
    ),
    MODERN: lines(*(request(method, method, _meta=ENVELOPE) for method in ("server/discover", *LISTS))),
}
VARIANTS: list[tuple[str, ...]] = [
    (),
    (CLASSIC_VARIANT,),
    ("--discovery", "classic"),
    (NO_COMMANDS_VARIANT,),
    ("serve",),
    ("--discovery=search-call", "--log-level", "error", "--log-format=text", "--folder", "a b", "--folder=--all"),
    ("serve", "--strict", "--no-strict", "--theme", "--limit=-3", CLASSIC_VARIANT, CLASSIC_VARIANT),
]


@pytest.mark.parametrize("era", SESSIONS)
@pytest.mark.parametrize("arguments", VARIANTS, ids=" ".join)
def test_prepared_answers_are_those_of_both_engines(arguments: tuple[str, ...], era: str, project: Path) -> None:
    prepared = output(project, SESSIONS[era], *arguments)
    by_lean = output(project, SESSIONS[era], *arguments, "--engine", "lean")
    # It drops requests at the end of input.
    by_sdk = output(project, SESSIONS[era], *arguments, "--engine", "sdk", responses=prepared.count(b"\n"))

    assert begins(project, *arguments)
    assert prepared == by_lean
    assert by_id(prepared, LISTS) == by_id(by_sdk, LISTS)


def by_id(output: bytes, ids: Sequence[str]) -> dict[str, Any]:
    """The results with these ids; an error has none."""
    answers = {answer["id"]: answer.get("result") for answer in map(json.loads, output.splitlines())}
    return {identity: answers[identity] for identity in ids}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.parents[1].name)
def test_prepared_answers_are_those_of_the_dispatcher(package: Path) -> None:
    from toolmason_runtime.boot import _answers, _Opening, _prepared

    catalogue = json.loads((package / CATALOGUE).read_bytes())
    style = catalogue["discovery"]["style"]
    selections = {
        DEFAULT_VARIANT: Selection(style),
        CLASSIC_VARIANT: Selection("classic"),
        NO_COMMANDS_VARIANT: Selection(style, command_prompts=False),
    }
    for variant, selection in selections.items():
        dispatcher = Dispatcher(catalogue, selection=selection, load_index=dict, commands=ProgramSettings())
        prepared = _prepared(_answers(str(package)), variant)
        assert prepared["methods"] == list(dispatcher.methods)
        for client, meta in (("", {}), ("claude-code", {}), ("", {"_meta": ENVELOPE})):
            opening = _Opening(prepared, "", "")
            session = Session(dispatcher.server, dispatcher.methods, dispatcher.instructions)
            opening._session.is_ready = session.is_ready = True
            about: Mapping[str, Any] = meta or {**CLIENT, "clientInfo": {"name": client, "version": "1"}}
            begin = "server/discover" if meta else "initialize"
            session.check(begin, about)
            line = json.dumps({"jsonrpc": "2.0", "id": 0, "method": begin, "params": about}).encode()
            assert opening._response(line) == encode_result(0, session.answer(begin, about) or {})
            # The files of skills are read when a client lists them, so no answer is prepared.
            for method in (name for name in dispatcher.methods if name.endswith("/list") and name != "skills/list"):
                session.check(method, meta)
                expected = encode_result(1, session.complete(method, listed(dispatcher, method, client)))
                line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": meta}).encode()
                assert opening._response(line) == expected


def listed(dispatcher: Dispatcher, method: str, client: str) -> Any:
    work = dispatcher.dispatch(method, {}, KnownClient(client))  # type: ignore[arg-type]
    with pytest.raises(StopIteration) as done:
        work.send(None)
    return done.value.value


def edited(text: bytes) -> bytes:
    return text.replace(b"Add a note", b"Add a word")


DAMAGES = {
    "it is missing": (OPENING, None),
    "it is empty": (OPENING, lambda _: b""),
    "it ends early": (OPENING, lambda text: text[: len(text) // 2]),
    "a list was edited": (OPENING, edited),
    "it has no answers": (OPENING, lambda _: b"{}\n"),
    "the catalogue is newer": (CATALOGUE, edited),
    "its form is newer": (OPENING, lambda text: signed(text.replace(b'"format": 4,', b'"format": 5,'))),
}


def signed(text: bytes) -> bytes:
    from binascii import crc32

    body = text[: text.rindex(b'"checksum"')]
    return body + b'"checksum": %d\n}\n' % crc32(body)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_server_starts_without_a_usable_file(damage: str, copy: Path) -> None:
    name, change = DAMAGES[damage]
    file = copy / "generated" / "notes_server" / name
    if change is None:
        file.unlink()
    else:
        assert change(file.read_bytes()) != file.read_bytes()
        file.write_bytes(change(file.read_bytes()))

    assert not begins(copy)
    assert output(copy, SESSIONS[LEGACY]) == output(copy, SESSIONS[LEGACY], "--engine", "lean")


@pytest.mark.parametrize(
    ("variables", "is_answered"),
    [
        ({"NOTES_ALL": "false", "NOTES_LIMIT": "3", "NOTES_STRICT": "off"}, True),
        ({"NOTES_ALL": "true"}, False),
        ({"TOOLMASON_POLICY": "policy.toml"}, False),
        ({"NOTES_AUDIT": "/tmp/audit"}, False),
        ({"NOTES_PREFIX": ""}, False),
        ({"NOTES_LIMIT": "many"}, False),
        ({"NOTES_STRICT": "perhaps"}, False),
    ],
    ids=str,
)
def test_variables_that_change_the_lists_or_are_invalid_start_the_whole_server(
    variables: dict[str, str], is_answered: bool, project: Path
) -> None:
    assert begins(project, **variables) == is_answered


UNUSUAL = [
    b"",
    b"  \r",
    b"{",
    b"[]",
    b"\xff",
    b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":"\\ud83d","method":"ping"}',
    b'{"jsonrpc":"2.0","id":"\\u0041","method":"ping"}',
    b'{"jsonrpc":"2.0","id":3,"method":"ping","params":[]}',
    b'{"jsonrpc":"2.0","id":3,"method":"ping","params":null}',
    b'{"jsonrpc":"2.0","id":3,"method":"ping","params":{"a":NaN}}',
    b'{"jsonrpc":"2.0","id":3,"method":"ping","params":{"a":1e999}}',
    b'{"jsonrpc":"2.0","id":3,"method":"ping","params":{"a":%s}}' % (b"9" * 400),
    b'{"jsonrpc":"2.0","id":3,"method":"ping","params":{"a":%s}}' % (b"[" * 250 + b"]" * 250),
    b'{"jsonrpc":"2.0","id":3,"method":"ping","params":{"a":"%s"}}' % (b"x" * 200_000),
    b'{"jsonrpc":"1.0","id":3,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":3,"method":"no/such"}',
    b'{"jsonrpc":"2.0","id":3,"result":{}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}',
    b'{"jsonrpc":"2.0","id":3,"method":"prompts/list","params":{"cursor":"cHJvbXB0czoy"}}',
    b'{"jsonrpc":"2.0","id":3,"method":"prompts/list","params":{"cursor":"wrong"}}',
    b'{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"loud"}}',
    b'{"jsonrpc":"2.0","id":3,"method":"initialize","params":{}}',
    b'{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"notes://guide"}}',
    lines(request(3, "tools/list", _meta=ENVELOPE))[:-1],
]


@pytest.mark.parametrize("line", UNUSUAL, ids=lambda line: line[:60].decode("latin-1"))
def test_an_unusual_line_is_answered_as_by_the_server_and_so_is_all_that_follows(line: bytes, project: Path) -> None:
    for before in (b"", lines(*OPENED)):
        sent = before + line + b"\n" + lines(request(4, "ping")) + lines(request(5, "tools/list"))[:-1]
        assert output(project, sent) == output(project, sent, "--engine", "lean")


@real_start
def test_half_a_line_and_the_state_of_the_session_are_handed_over(project: Path) -> None:
    peer = Peer([sys.executable, "-m", "notes_server"], LEGACY, env=environment(project))
    try:
        peer.open()
        peer.result("logging/setLevel", level="error")
        call = json.dumps(peer.message("tools/call", name="search", arguments={"query": "note"})).encode() + b"\n"
        ping = json.dumps(peer.message("ping")).encode() + b"\n"
        peer.oracle.from_client(json.loads(call))
        peer.oracle.from_client(json.loads(ping))
        assert peer.process.stdin is not None
        for part in (call[:30], call[30:] + ping[:10]):
            peer.process.stdin.write(part)
            peer.process.stdin.flush()
        found = peer.next_message()
        peer.process.stdin.write(ping[10:])
        peer.process.stdin.flush()
        pinged = peer.next_message()
        peer.end_of_input()
        status = peer.exit_status()
    finally:
        peer.close()

    assert "add_note" in json.dumps(found["result"])
    assert (pinged["id"], status) == (json.loads(ping)["id"], 0)


@real_start
def test_non_blocking_streams_of_the_parent_do_not_look_as_if_they_had_ended(project: Path) -> None:
    server_in, client_out = os.pipe()
    client_in, server_out = os.pipe()
    for stream in (server_in, server_out):
        os.set_blocking(stream, False)
    command = [sys.executable, "-m", "notes_server"]
    process = subprocess.Popen(command, env=environment(project), stdin=server_in, stdout=server_out)
    for stream in (server_in, server_out):
        os.close(stream)
    with process, os.fdopen(client_out, "wb", buffering=0) as sent, os.fdopen(client_in, "rb") as received:
        sent.write(lines(*OPENED))
        received.readline()
        sent.write(lines(*(request(number, "tools/list") for number in range(500))))
        answered = [json.loads(received.readline())["id"] for _ in range(500)]

    assert answered == list(range(500))


@pytest.fixture
def serving(project: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A server that has answered its first request."""
    with started(project) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(lines(*OPENED))
        process.stdin.flush()
        process.stdout.readline()
        yield process
        process.kill()


@real_start
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_opening_silently(number: signal.Signals, serving: subprocess.Popen[bytes]) -> None:
    serving.send_signal(number)
    shown, logged = serving.communicate(timeout=PATIENCE_S)
    assert (serving.returncode, shown, logged) == (0, b"", b"")


def unread_bytes(pipe: Any) -> int:
    """The bytes that wait in a pipe."""
    import fcntl
    import termios

    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def make_small(pipe: Any) -> None:
    """Limit a pipe to 16 kB, so that the answers to a request of the test fill it. Linux alone can do it."""
    import fcntl

    if sys.platform == "linux":
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 16_384)


@real_start
@pytest.mark.parametrize("reads", [True, False])
@pytest.mark.anyio
async def test_a_signal_during_a_response_ends_the_server_after_it_or_after_a_while(
    reads: bool, serving: subprocess.Popen[bytes], until: Any
) -> None:
    assert serving.stdin is not None
    assert serving.stdout is not None
    make_small(serving.stdout)
    many = lines(*(request(number, "tools/list") for number in range(500)))
    serving.stdin.write(many[:60_000].rpartition(b"\n")[0] + b"\n")
    serving.stdin.flush()
    await until(lambda: unread_bytes(serving.stdout) > 12_000)
    serving.send_signal(signal.SIGTERM)
    shown = serving.stdout.read() if reads else b""

    assert serving.wait(PATIENCE_S) == 0
    assert not reads or all(json.loads(line)["result"]["tools"] for line in shown.splitlines())


@real_start
def test_the_startup_check_runs_in_a_process_of_its_own_when_the_client_is_idle(project: Path) -> None:
    peer = Peer([sys.executable, "-m", "notes_server"], LEGACY, env=environment(project))
    try:
        peer.open()
        peer.wait_for_stderr_containing(b"the setup is poor")
        peer.wait_for_stderr_containing(b"the check has begun")
        assert peer.result("ping") == {}
        peer.end_of_input()
        assert (peer.rest(), peer.exit_status()) == ([], 0)
        logged = peer.stderr()
    finally:
        peer.close()
    assert f"in process {peer.process.pid}." not in logged


@real_start
@pytest.mark.parametrize(
    ("arguments", "logged"),
    [(("--log-format", "text"), b" warn  the setup is poor"), (("--log-level", "error"), b"")],
    ids=str,
)
def test_the_startup_check_logs_as_the_command_line_requests(
    arguments: tuple[str, ...], logged: bytes, project: Path
) -> None:
    with started(project, *arguments) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        assert process.stderr.readline() == b"the check has begun\n"
        line = process.stderr.readline() if logged else b""
        _, rest = process.communicate(timeout=PATIENCE_S)

    assert logged in line
    assert rest == b""


@real_start
@pytest.mark.parametrize("end", ["input", "kill"])
def test_the_startup_check_and_its_programs_end_with_the_server(end: str, project: Path) -> None:
    with started(project, CHECK_RUNS="600") as process:
        assert process.stdin is not None
        assert process.stderr is not None
        assert process.stderr.readline() == b"the check has begun\n"
        if end == "kill":
            process.kill()
        # They share standard error, so it has an end only without them.
        shown, logged = process.communicate(timeout=PATIENCE_S)

    assert (shown, logged) == (b"", b"")


def test_the_opening_imports_no_module_of_python_that_takes_long() -> None:
    code = (
        "import sys, json, os; before = set(sys.modules);"
        "import workbench_server.__main__;"
        "print(*(name for name in set(sys.modules) - before if not name.startswith(('toolmason', 'workbench'))))"
    )
    result = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, encoding="utf-8", check=True)
    small = {"__future__", "binascii", "collections.abc", "select", "signal"}
    memory = {"ctypes", "ctypes._endian", "_ctypes", "struct", "_struct"}
    assert set(result.stdout.split()) <= small | memory
