"""A full disk, a read-only file system and a lack of descriptors while a real server runs: it answers, and recovers.

`tests/workbench/editing/test_write.py` and `test_reviews.py` test the full disk of single functions.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from edit_server import PROPOSE, Person, Place
from oracle import LEGACY

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="not run: needs Linux")

LARGE = "0123456789\n" * 1_000
"""More than the last page of a full file system, and less than a person can approve in a form."""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB at the place of the project and of its state."""
    if os.geteuid() != 0:
        pytest.skip("not run: needs root, to mount a small file system")
    disk = tmp_path / "disk"
    disk.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True, encoding="utf-8", check=False
    )
    if done.returncode:
        pytest.skip(f"not run: needs the permission to mount ({done.stderr.strip()})")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


def fill(disk: Path) -> Path:
    """Write a file until the disk is full."""
    path = disk / "filler"
    with path.open("wb", buffering=0) as stream:
        try:
            while stream.write(b"0" * 65_536):
                pass
        except OSError:
            pass
    return path


@pytest.mark.parametrize("full", ["project", "state"])
def test_an_edit_on_a_full_disk_is_an_error_and_succeeds_when_there_is_space(
    full: str, small_disk: Path, tmp_path: Path, user: Person, report: Callable[[str], None]
) -> None:
    place = Place(small_disk, tmp_path / "state") if full == "project" else Place(tmp_path / "project", small_disk)
    place.project.mkdir(exist_ok=True)
    place.write("a.txt", b"old\n")
    arguments = {"path": "a.txt", "match_text": "OVERWRITE_FILE", "new_string": LARGE}
    with place.server(LEGACY, person=user) as client:
        client.call("list_allowed_directories")
        filler = fill(small_disk)
        errors = [client.error(PROPOSE, **arguments) for _ in range(3)]
        assert (place.project / "a.txt").read_bytes() == b"old\n"
        assert "a.txt" in client.call("search_files", path=".", pattern="a.txt")["paths"]
        filler.unlink()
        assert client.call(PROPOSE, **arguments)["user_action"] == "COMMITTED"

    assert all("no space left" in error for error in errors), errors
    assert (place.project / "a.txt").read_text() == LARGE
    assert sorted(path.name for path in place.project.iterdir()) == ["a.txt"] or full == "state"
    report(f"{len(errors)} edits refused, then written")


def test_calls_are_refused_while_the_audit_log_has_no_space(
    small_disk: Path, tmp_path: Path, user: Person, report: Callable[[str], None]
) -> None:
    place = Place(tmp_path / "project", tmp_path / "state")
    place.project.mkdir()
    (small_disk / "log").mkdir(mode=0o700)
    log = small_disk / "log" / "audit.log"
    with place.server(LEGACY, "--audit", str(log), person=user) as client:
        client.call("list_allowed_directories")
        filler = fill(small_disk)
        # The page that the log has already is not full.
        answers = [client.raw("search_files", path=".", pattern=f"{'y' * 900}{number}") for number in range(40)]
        filler.unlink()
        client.call("list_allowed_directories")

    command = [sys.executable, "-m", "workbench_server", "audit", str(log)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, timeout=60)
    refused = sum(bool(answer.get("isError")) for answer in answers)
    assert answers[-1].get("isError"), "a call that cannot be recorded is not made"
    assert done.returncode == 0, done.stderr
    report(f"{refused} of {len(answers)} calls refused; the log is intact")


def test_an_edit_on_a_read_only_file_system_is_an_error(
    small_disk: Path, tmp_path: Path, user: Person, report: Callable[[str], None]
) -> None:
    place = Place(small_disk, tmp_path / "state")
    place.write("a.txt", b"old\n")
    arguments = {"path": "a.txt", "match_text": "OVERWRITE_FILE", "new_string": "new\n"}
    with place.server(LEGACY, person=user) as client:
        client.call("list_allowed_directories")
        subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
        try:
            error = client.error(PROPOSE, **arguments)
            assert (place.project / "a.txt").read_bytes() == b"old\n"
        finally:
            subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)
        assert client.call(PROPOSE, **arguments)["user_action"] == "COMMITTED"

    assert "read-only" in error.lower(), error
    report("refused, then written")


def test_a_server_without_free_descriptors_answers_and_recovers(
    place: Place, user: Person, report: Callable[[str], None]
) -> None:
    place.write("a.txt", b"old\n")
    place.write("b.json", b'{"a": 1}')
    calls: list[tuple[str, dict[str, Any]]] = [
        ("read_files", {"files": [{"path": "a.txt"}]}),
        ("search_files", {"path": ".", "pattern": "*.txt"}),
        ("grep_content", {"pattern": "old"}),
        ("query_json", {"file_path": "b.json", "jq_expression": ".a"}),
        ("git_log", {}),
        (PROPOSE, {"path": "a.txt", "match_text": "OVERWRITE_FILE", "new_string": "new\n"}),
    ]
    with place.server(LEGACY, person=user) as client:
        client.call("list_allowed_directories")
        pid = client.peer.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        open_now = max(int(path.name) for path in Path(f"/proc/{pid}/fd").iterdir()) + 1
        texts = []
        for free in range(8):
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (open_now + free, before[1]))
            texts += [client.raw(tool, **arguments)["content"][0]["text"] for tool, arguments in calls[:-1]]
            texts += [client.raw(PROPOSE, **calls[-1][1])["content"][0]["text"]]
            assert (place.project / "a.txt").read_bytes() in (b"old\n", b"new\n")
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        assert client.raw("read_files", files=[{"path": "a.txt"}])["content"][0]["text"].endswith("new\n")
        held = len(list(Path(f"/proc/{pid}/fd").iterdir()))

    assert not [text for text in texts if "Traceback" in text or "[Errno" in text]
    assert held <= open_now + 8
    report(f"{len(texts)} calls answered")
