"""The file of an audit log: private, shared by processes, rotated, and never silently incomplete."""

from __future__ import annotations

import errno
import json
import logging
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from toolmason_runtime.audit import events
from toolmason_runtime.audit.errors import AuditError
from toolmason_runtime.audit.log import MAX_HTTP_REFUSALS, AuditLog
from toolmason_runtime.audit.log_file import LogFile, check_directory, key_path, load_key
from toolmason_runtime.audit.reader import DamagedLine, Line, log_files, read_lines
from toolmason_runtime.audit.settings import audit_settings
from toolmason_runtime.audit.start import start_audit
from toolmason_runtime.shared.errors import ToolError

if sys.platform == "win32":
    pytest.skip("Windows has neither these modes nor locks", allow_module_level=True)

KEY = bytes(32)
WRITER = """
import sys
from pathlib import Path
from toolmason_runtime.audit.log import AuditLog
from toolmason_runtime.audit.log_file import LogFile, load_key
path = Path(sys.argv[1])
log = AuditLog(LogFile(path, max_bytes=20_000, keep=400), load_key(path), {"writer": sys.argv[2]})
sys.stdin.readline()
for number in range(400):
    log.write("call", {"number": number, "padding": "x" * (number % 100)})
print(log.is_available())
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "audit.jsonl"


def opened(path: Path, max_bytes: int = 100_000, keep: int = 3) -> LogFile:
    return LogFile(path, max_bytes=max_bytes, keep=keep)


def lines(path: Path) -> list[dict[str, Any]]:
    found = list(read_lines(log_files(path)))
    assert all(isinstance(line, Line) for line in found), found
    return [dict(line.fields) for line in found if isinstance(line, Line)]


def test_the_log_its_key_and_its_directory_are_private(path: Path) -> None:
    os.umask(0o022)
    opened(path).append(b"{}\n")
    load_key(path)

    modes = [file.stat().st_mode & 0o777 for file in (path.parent, path, key_path(path))]
    assert modes == [0o700, 0o600, 0o600]


def test_processes_that_share_a_log_write_all_lines_whole_during_rotation(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(number)], stdin=-1, stdout=-1, encoding="utf-8")
        for number in range(4)
    ]
    said = [writer.communicate("go\n", timeout=60)[0] for writer in writers]

    assert said == ["True\n"] * 4
    written = lines(path)
    assert len(log_files(path)) > 5
    assert all(file.stat().st_size <= 20_000 for file in log_files(path))
    assert sorted((line["writer"], line["number"]) for line in written) == sorted(
        (str(writer), number) for writer in range(4) for number in range(400)
    )
    for writer in "0123":
        assert [line["number"] for line in written if line["writer"] == writer] == list(range(400))


def test_threads_write_whole_lines_in_order(path: Path) -> None:
    log = AuditLog(opened(path, max_bytes=5_000, keep=100), KEY, {})
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: log.write("call", {"number": number}), range(500)))

    assert [line["seq"] for line in lines(path)] == list(range(1, 501))


def test_the_oldest_file_is_removed(path: Path) -> None:
    file = opened(path, max_bytes=100, keep=2)
    for number in range(10):
        file.append(json.dumps({"time": "t", "event": "e", "n": number, "x": "y" * 40}).encode() + b"\n")

    assert [found.name for found in log_files(path)] == ["audit.jsonl.2", "audit.jsonl.1", "audit.jsonl"]
    assert [line["n"] for line in lines(path)] == [7, 8, 9]


def test_a_log_that_was_moved_away_is_created_again(path: Path) -> None:
    file = opened(path)
    file.append(b"1\n")
    path.rename(path.with_name("moved"))
    file.append(b"2\n")

    assert path.read_bytes() == b"2\n"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_cut_last_line_does_not_damage_the_next_one(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    path.write_bytes(b'{"time":"t","event":"call","tool":"cu')
    path.chmod(0o600)
    opened(path).append(b'{"time":"t","event":"start"}\n')

    first, second = read_lines([path])
    assert isinstance(first, DamagedLine)
    assert first.reason == "not JSON"
    assert isinstance(second, Line)


def make_link(path: Path) -> None:
    path.symlink_to(path.with_name("elsewhere"))


def make_dangling_key(path: Path) -> None:
    key_path(path).symlink_to(path.with_name("elsewhere"))


def make_hard_link(path: Path) -> None:
    path.touch(0o600)
    path.with_name("other").hardlink_to(path)


def make_pipe(path: Path) -> None:
    os.mkfifo(path, 0o600)


def make_directory(path: Path) -> None:
    path.mkdir()


def make_damaged_key(path: Path) -> None:
    key_path(path).write_text("short", encoding="ascii")
    key_path(path).chmod(0o600)


@pytest.mark.parametrize(
    ("prepare", "reason"),
    [
        (make_link, "it is a link"),
        (make_dangling_key, "it is a link"),
        (make_hard_link, "hard link"),
        (make_pipe, "not a regular file"),
        (make_directory, "directory"),
        (make_damaged_key, "contains no key"),
    ],
)
def test_a_server_does_not_start_with_a_log_that_others_control(path: Path, prepare: Any, reason: str) -> None:
    path.parent.mkdir(mode=0o700)
    prepare(path)
    if prepare is make_pipe:  # opening one end must not wait for the other
        os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    with pytest.raises(AuditError, match=reason):
        opened(path), load_key(path)
    assert not path.with_name("elsewhere").exists()


def try_to_open(path: Path) -> str:
    """Return the error of a log and its key; empty if they can be used."""
    try:
        opened(path).close()
        load_key(path)
    except AuditError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o620, 0o602, 0o604, 0o660, 0o666, 0o622])
@pytest.mark.parametrize("name", ["audit.jsonl", "audit.jsonl.key"])
def test_a_file_that_others_can_read_or_change_is_refused_until_the_command_of_the_error_ran(
    tmp_path: Path, name: str, mode: int
) -> None:
    path = tmp_path / "a log" / "audit.jsonl"
    assert not try_to_open(path)
    file = path.with_name(name)
    file.chmod(mode)
    error = try_to_open(path)

    assert f"`{file}` cannot be used: other users can read or change it (mode {mode:04o}): run `chmod 600 " in error
    subprocess.run(error.split("`")[3], shell=True, check=True)
    assert not try_to_open(path)


@pytest.mark.parametrize("mode", [0o770, 0o775, 0o720, 0o757, 0o777, 0o2775])
def test_a_directory_that_others_can_write_to_is_refused_until_the_command_of_the_error_ran(
    tmp_path: Path, mode: int
) -> None:
    path = tmp_path / "a log" / "audit.jsonl"
    path.parent.mkdir()
    path.parent.chmod(mode)
    error = try_to_open(path)

    assert f"other users can write to {path.parent} (mode {mode:04o}): run `chmod 700 " in error
    assert not list(path.parent.iterdir())
    subprocess.run(error.split("`")[3], shell=True, check=True)
    assert not try_to_open(path)


@pytest.mark.parametrize("mode", [0o700, 0o750, 0o755, 0o711])
def test_a_directory_that_others_can_only_read_is_used(path: Path, mode: int) -> None:
    path.parent.mkdir()
    path.parent.chmod(mode)

    assert not try_to_open(path)


def test_a_shared_directory_is_refused_but_one_in_it_is_used(path: Path) -> None:
    path.parent.mkdir()
    path.parent.chmod(0o1777)
    error = try_to_open(path)

    assert error.endswith(f"{path.parent} (mode 1777): name a directory in it, which is created with mode 0700")
    assert not try_to_open(path.parent / "own" / "audit.jsonl")


@pytest.mark.parametrize(
    ("owner", "mode", "reason"),
    [
        (0, 0o755, ""),
        (0, 0o775, "other users can write to {0} (mode 0775): run `chown 1000 {0}` and `chmod 700 {0}` as root"),
        (0, 0o1777, "other users can write to {0} (mode 1777): name a directory in it"),
        (1000, 0o755, ""),
        (1001, 0o700, "{0} belongs to another user (uid 1001, mode 0700): name a directory of your own, or run `chown"),
        (1001, 0o755, "{0} belongs to another user (uid 1001, mode 0755)"),
    ],
)
def test_a_directory_must_belong_to_the_user_or_to_root(
    path: Path, monkeypatch: pytest.MonkeyPatch, owner: int, mode: int, reason: str
) -> None:
    path.parent.mkdir()
    about = os.stat_result((0o040000 | mode, 0, 0, 2, owner, 0, 0, 0, 0, 0))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(Path, "stat", lambda *_, **__: about)
    error = ""
    try:
        check_directory(path)
    except AuditError as refusal:
        error = str(refusal)

    assert reason.format(path.parent) in error
    assert bool(error) is bool(reason)


@pytest.mark.parametrize("name", ["audit.jsonl", "audit.jsonl.key"])
def test_a_file_of_another_user_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    assert not try_to_open(path)
    owner = os.geteuid()
    about, fstat = path.with_name(name).stat(), os.fstat
    of_other = os.stat_result((*about[:4], owner + 1, *about[5:10]))
    monkeypatch.setattr(os, "fstat", lambda file: of_other if fstat(file).st_ino == about.st_ino else fstat(file))

    assert f"{name}` cannot be used: it belongs to another user (uid {owner + 1}, mode 0600)" in try_to_open(path)


def test_a_server_does_not_start_if_the_log_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    command = [sys.executable, "-m", "sample_server", "--audit", str(tmp_path / "file" / "audit.jsonl")]
    ended = subprocess.run(command, input="", capture_output=True, encoding="utf-8", timeout=60, check=False)

    assert (ended.returncode, ended.stdout) == (2, "")
    assert "the audit log" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device of Linux that is always full")
def test_a_line_that_does_not_fit_is_not_written_in_part(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = opened(path)
    file.append(b"first\n")
    write = os.write

    def write_half(descriptor: int, data: bytes) -> int:
        if len(data) < 8:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data[:-4])

    monkeypatch.setattr(os, "write", write_half)
    with pytest.raises(OSError, match="No space"):
        file.append(b"a line that is too long\n")

    assert path.read_bytes() == b"first\n"


class Full:
    """A destination without space, as long as `is_full`."""

    is_full = False

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def append(self, line: bytes) -> None:
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.lines.append(json.loads(line))

    def close(self) -> None:
        pass


def test_calls_are_refused_while_the_log_is_full_and_the_gap_is_recorded(caplog: pytest.LogCaptureFixture) -> None:
    output = Full()
    log = AuditLog(output, KEY, {})
    log.write("call", {"number": 1})
    output.is_full = True
    with caplog.at_level(logging.ERROR):
        log.write("call", {"number": 2})
        log.write("call", {"number": 3})
    with pytest.raises(ToolError, match="calls without a record are refused"):
        log.check()
    assert not log.is_available()
    assert [record.message for record in caplog.records] == [
        "the audit log cannot be written, so calls are refused: No space left on device"
    ]

    output.is_full = False
    log.check()
    log.write("call", {"number": 4})
    assert [(line["event"], line.get("lost"), line.get("number")) for line in output.lines] == [
        ("call", None, 1),
        ("gap", 2, None),
        ("call", None, 4),
    ]
    assert log.is_available()


def test_many_refused_requests_do_not_displace_calls_in_the_log() -> None:
    output = Full()
    log = AuditLog(output, KEY, {})
    for _ in range(MAX_HTTP_REFUSALS + 50):
        log.refuse_request({"rule": "TOKEN_MISSING"})
    log.write("call", {})
    log.stop()

    assert len(output.lines) == MAX_HTTP_REFUSALS + 2
    assert (output.lines[-1]["event"], output.lines[-1]["suppressed"]) == ("stop", 50)


@pytest.mark.parametrize("value", ["logs/audit.jsonl", "./audit.jsonl", "audit"])
def test_a_relative_path_of_the_environment_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("NOTES_AUDIT", value)
    with pytest.raises(AuditError, match="NOTES_AUDIT must be an absolute path"):
        audit_settings({}, "notes")  # type: ignore[typeddict-item]


def test_an_operator_replaces_the_path_of_the_manifest_or_switches_the_log_off(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server: Any = {"audit": {"path": "audit.jsonl", "max_mb": 7, "keep": 2}}
    monkeypatch.setenv("HOME", str(tmp_path))
    own = audit_settings(server, "my-notes")
    monkeypatch.setenv("MY_NOTES_AUDIT", str(tmp_path / "other"))
    monkeypatch.setenv("MY_NOTES_AUDIT_MAX_MB", "5")
    replaced = audit_settings(server, "my-notes")
    by_flag = audit_settings(server, "my-notes", "~/third")
    monkeypatch.setenv("MY_NOTES_AUDIT", "off")

    assert own is not None
    assert own.path.endswith("/my-notes/audit.jsonl")
    assert (own.max_bytes, own.keep) == (7_000_000, 2)
    assert replaced is not None
    assert (replaced.path, replaced.max_bytes) == (str(tmp_path / "other"), 5_000_000)
    assert by_flag is not None
    assert by_flag.path == str(tmp_path / "third")
    assert audit_settings(server, "my-notes") is None


def test_opentelemetry_needs_the_address_of_a_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    with pytest.raises(AuditError, match="set OTEL_EXPORTER_OTLP_ENDPOINT"):
        start_audit({"name": "x", "version": "1"}, "x", flag="otel", transport="stdio")  # type: ignore[typeddict-item]


def test_a_line_takes_less_than_50_microseconds(path: Path) -> None:
    log = AuditLog(opened(path, max_bytes=50_000_000), KEY, {"server": "notes", "version": "1.0"})
    fields = {"call": "0" * 16, "client": "editor", "tool": "list_entries", "args_digest": "0" * 32, "outcome": "ok"}
    times = []
    for _ in range(2000):
        started = time.perf_counter()
        log.write("call", fields)
        times.append(time.perf_counter() - started)

    assert sorted(times)[len(times) // 10] < 50e-6, "other processes slow down most of the lines, but not all"


def test_without_a_log_only_its_hook_is_imported() -> None:
    script = """
import sys
from sample_server.server import build_dispatcher
build_dispatcher()
print(sorted(name for name in sys.modules if name.startswith("toolmason_runtime.audit.")))
"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True, timeout=60)
    assert said.stdout == "['toolmason_runtime.audit.events']\n"
    assert events.active() is None
