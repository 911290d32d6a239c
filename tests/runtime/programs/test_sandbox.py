"""The sandbox: what a program may use by its declaration, and what the kernel keeps from it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from toolmason_runtime import ToolError
from toolmason_runtime.programs import sandbox
from toolmason_runtime.programs.access import (
    SANDBOX,
    Guarded,
    confined,
    describe_isolation,
    isolation,
    isolation_warnings,
    resolve_access,
    with_program,
)
from toolmason_runtime.programs.executable import find_executable
from toolmason_runtime.programs.execute import run
from toolmason_runtime.programs.sandbox import Access
from toolmason_runtime.programs.spec import Invocation, Permissions, Risk

pytestmark = pytest.mark.anyio

ENVIRON = {"PATH": os.environ["PATH"], "HOME": "/home/ada"}
HERE = sandbox.supported()
"""What this machine has; where that is nothing, programs run as without a sandbox, and these tests say so."""
MODES = tuple(dict.fromkeys([HERE or "off", "bwrap" if sandbox.can_use_bwrap() else "off"]))


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(SANDBOX, request.param)
    return str(request.param)


async def ran(argv: tuple[str, ...], permissions: Permissions, *, risk: Risk = Risk.READ, cwd: Path) -> str:
    """Run a program that declares `permissions`, and give all that it wrote."""
    prepared = Invocation(argv=argv, cwd=str(cwd), projects=(str(cwd),))
    access = resolve_access(permissions, Guarded(values={}), prepared, risk=risk, environ=ENVIRON)
    async with confined(prepared, access) as invocation:
        outcome = await run(invocation, environ=ENVIRON)
    try:
        return "".join((*outcome.stdout.texts(), *outcome.stderr.texts()))
    finally:
        outcome.close()


ROOTS = Permissions(reads=("{roots}",))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "inside.txt").write_text("inside", encoding="utf-8")
    (tmp_path / "outside.txt").write_text("outside", encoding="utf-8")
    return folder


async def test_a_program_reads_declared_paths_only(project: Path, mode: str) -> None:
    argv = ("cat", "inside.txt", "../outside.txt", "/etc/shadow")

    said = await ran(argv, ROOTS, cwd=project)

    assert said.startswith("inside")
    assert ("outside\n" in f"{said}\n".replace("outside.txt", "")) == (mode == "off")
    assert mode == "off" or said.count("cat: ") == 2


async def test_a_link_inside_does_not_lead_outside(project: Path, mode: str) -> None:
    (project / "link").symlink_to(project.parent / "outside.txt")

    assert ((await ran(("cat", "link"), ROOTS, cwd=project)) == "outside") == (mode == "off")


@pytest.mark.parametrize("risk", [Risk.READ, Risk.WRITE])
async def test_a_program_writes_where_it_declares_in_calls_that_write(project: Path, mode: str, risk: Risk) -> None:
    permissions = Permissions(writes=("{roots}",))

    await ran(("cp", "inside.txt", "copy"), permissions, risk=risk, cwd=project)
    await ran(("cp", "inside.txt", "../copy"), permissions, risk=risk, cwd=project)

    assert (project / "copy").exists() == (risk is Risk.WRITE or mode == "off")
    assert (project.parent / "copy").exists() == (mode == "off")


async def test_a_program_starts_only_declared_programs(project: Path, mode: str) -> None:
    argv = ("env", "sh", "-c", "echo started")

    refused = await ran(argv, ROOTS, cwd=project)
    started = await ran(argv, Permissions(executes=("sh",)), cwd=project)

    assert started == "started\n"
    assert ("started" in refused) == (mode != "landlock")


async def test_a_program_of_the_project_is_not_started(project: Path, mode: str) -> None:
    script = project / "evil"
    script.write_text("#!/bin/sh\necho started\n", encoding="utf-8")
    script.chmod(0o755)

    said = await ran(("env", "./evil"), Permissions(reads=("{roots}",), executes=("sh",)), cwd=project)

    assert ("started" in said) == (mode != "landlock")


async def test_plain_tcp_is_refused_unless_it_is_declared(project: Path, mode: str) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        connect = (
            f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]})); print('connected')"
        )
        argv = (sys.executable, "-IS", "-c", connect)
        closed = await ran(argv, ROOTS, cwd=project)
        opened = await ran(argv, Permissions(network=True), cwd=project)

    assert "connected" in opened
    has_rules = mode == "bwrap" or (mode == "landlock" and sandbox.abi() >= sandbox.TCP_ABI)
    assert ("connected" in closed) != has_rules


SEND = """
import os, socket, sys
address, path = ("127.0.0.1", int(sys.argv[1])), sys.argv[2]
def attempt(name, action):
    try:
        action()
        print(name)
    except OSError:
        pass
attempt("fast open", lambda: socket.socket().sendto(b"x", socket.MSG_FASTOPEN, address))
attempt("MPTCP", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262).connect(address))
attempt("UDP", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", address))
attempt("listen", lambda: socket.socket().listen())
attempt("chmod", lambda: os.chmod(path, 0o600))
attempt("utime", lambda: os.utime(path, (1, 1)))
"""


async def test_the_isolation_report_names_the_gaps_of_landlock(project: Path, mode: str) -> None:
    outside = project.parent / "outside.txt"
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        argv = (sys.executable, "-IS", "-c", SEND, str(server.getsockname()[1]), str(outside))
        opened = (await ran(argv, ROOTS, cwd=project)).splitlines()

    said = describe_isolation()
    if mode == "landlock":
        assert {"UDP", "chmod", "utime"} <= set(opened)
        assert all(name in said for name in ("fast open", "MPTCP", "UDP", "may still send data"))
        assert "blocked" not in said
    elif mode == "bwrap":
        assert not {"fast open", "MPTCP", "chmod", "utime"} & set(opened)
        assert said.startswith("bwrap: files and network as declared")


async def test_the_environment_of_the_server_is_not_read_from_proc(
    project: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_TOKEN", "hidden-value")
    code = f"print(open('/proc/{os.getpid()}/environ', 'rb').read())"

    said = await ran((sys.executable, "-IS", "-c", code), ROOTS, cwd=project)

    assert mode == "off" or "Error" in said


ESCAPE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
READABLE, SETTING = {project!r}, "/proc/sys/kernel/core_pattern"
REMOUNT = 0x20 | 0x1000  # MS_REMOUNT | MS_BIND, without MS_RDONLY
def attempt(what):
    print("capabilities:", next(line for line in open("/proc/self/status") if line.startswith("CapEff")).split()[1])
    print(what, "remount:", libc.mount(None, READABLE.encode(), None, REMOUNT, None))
    for path in (READABLE + "/planted", SETTING):
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT))
            print(what, "opened", path)
        except OSError as error:
            print(what, error.strerror)
attempt("as started")
if libc.unshare(0x10000000 | 0x20000) == 0:  # CLONE_NEWUSER | CLONE_NEWNS: all capabilities of a new namespace
    attempt("in a namespace")
"""


@pytest.mark.skipif(not sandbox.can_use_bwrap(), reason="bwrap does not work here")
async def test_bwrap_keeps_root_from_changing_readable_files(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SANDBOX, "bwrap")

    said = await ran((sys.executable, "-IS", "-c", ESCAPE.format(project=str(project))), ROOTS, cwd=project)

    assert said.startswith(f"capabilities: {0:016x}\nas started remount: -1\n")
    assert "remount: 0" not in said
    assert "opened" not in said
    assert not (project / "planted").exists()


@pytest.mark.skipif(HERE != "landlock" or os.getuid() != 0, reason="for root in Landlock")
async def test_root_cannot_change_the_owner_or_mode_of_files_of_others(project: Path) -> None:
    theirs = project / "inside.txt"
    os.chown(theirs, 65534, 65534)
    for argv in (("chown", "0", str(theirs)), ("chmod", "777", str(theirs))):
        said = await ran(argv, Permissions(writes=("{roots}",)), risk=Risk.WRITE, cwd=project)
        assert "Operation not permitted" in said

    assert (theirs.stat().st_uid, theirs.stat().st_mode & 0o777) == (65534, 0o644)


async def test_no_device_is_made_in_a_directory_that_may_be_written(project: Path, mode: str) -> None:
    said = await ran(("mknod", "disk", "b", "7", "0"), Permissions(writes=("{roots}",)), risk=Risk.WRITE, cwd=project)

    assert mode == "off" or "mknod: " in said
    assert mode == "off" or not (project / "disk").exists()


async def test_each_call_has_a_temporary_directory_of_its_own_that_is_removed(project: Path, mode: str) -> None:
    code = "import os, tempfile; d = tempfile.mkdtemp(); open(d + '/x', 'w').close(); print(os.environ['TMPDIR'])"

    first, second = [await ran((sys.executable, "-IS", "-c", code), ROOTS, cwd=project) for _ in range(2)]

    assert first != second, mode
    assert not {Path(each.strip()).name for each in (first, second)} & set(os.listdir(tempfile.gettempdir()))  # noqa: PTH208


async def test_a_script_gets_its_interpreter_and_a_virtual_environment_its_base(project: Path, mode: str) -> None:
    script = project.parent / "tool" / "bin" / "script"
    script.parent.mkdir(parents=True)
    script.write_text(f"#!{sys.executable} -IS\nimport json\nprint(json.dumps('runs'))\n", encoding="utf-8")
    script.chmod(0o755)

    assert await ran((str(script),), ROOTS, cwd=project) == '"runs"\n', mode


async def test_a_missing_path_and_an_unset_variable_grant_nothing(project: Path, mode: str) -> None:
    permissions = Permissions(reads=("{cwd}", "/nowhere/at/all", "$NO_SUCH_VARIABLE", "$NO_SUCH_VARIABLE/etc"))

    assert await ran(("cat", "inside.txt"), permissions, cwd=project) == "inside", mode
    prepared = Invocation(argv=("cat",), cwd=str(project))
    access = resolve_access(permissions, Guarded(values={}), prepared, risk=Risk.READ, environ={})
    assert access.reads == (str(project), "/nowhere/at/all")


def test_a_home_or_disk_is_nobodys_project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    prepared = Invocation(argv=("cat",))
    monkeypatch.setenv("HOME", str(tmp_path))
    found = []
    for folder in (Path("/"), tmp_path, tmp_path / "project"):
        folder.mkdir(exist_ok=True)
        monkeypatch.chdir(folder)
        found.append(resolve_access(ROOTS, Guarded(values={}), prepared, risk=Risk.READ, environ={}).reads)

    assert found == [(), (), (str(tmp_path / "project"),)]


def test_a_program_in_the_home_does_not_open_all_of_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for place in ("bin", ".local/bin", "opt/tool/bin"):
        program = tmp_path / place / "tool"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\n", encoding="utf-8")
        access = with_program(Access((), (), (), network=False), str(program), _locate)
        assert str(tmp_path) not in access.reads
        assert str(tmp_path / ".local") not in access.reads
        assert str(program) in access.executes


def _locate(name: str) -> str:
    return find_executable(name, ENVIRON)


def test_the_owner_can_switch_the_sandbox_off(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for value in ("", "off", "OFF", "bwrap", "landlock", "no such thing"):
        monkeypatch.setenv(SANDBOX, value)
        found.append(isolation())

    bwrap = "bwrap" if sandbox.can_use_bwrap() else ""
    assert found == [HERE, "", "", bwrap, HERE if HERE == "landlock" else "", HERE]


def test_an_unknown_choice_of_sandbox_is_reported_and_switches_nothing_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SANDBOX, "offf")

    assert isolation() == HERE
    warning = f"{SANDBOX} is ignored: `offf` is unknown; use one of off, landlock, bwrap."
    assert isolation_warnings(()) == (*(() if HERE else (f"Isolation of programs: {describe_isolation()}.",)), warning)


def test_a_bare_interpreter_loads_the_sandbox_by_its_path() -> None:
    folder = str(Path(sandbox.__file__).parent)
    code = f"import sys; sys.path.append({folder!r}); import sandbox; print(sandbox.supported())"
    argv = [sys.executable, "-I", "-S", "-c", code]

    assert subprocess.run(argv, capture_output=True, encoding="utf-8", check=True).stdout.strip() == HERE


def test_a_name_that_is_not_installed_cannot_be_run_either() -> None:
    access = Access((), (), ("no-such-program",), network=False)

    with pytest.raises(ToolError):
        _locate("no-such-program")
    assert "no-such-program" not in with_program(access, find_executable("cat", ENVIRON), _locate).executes
