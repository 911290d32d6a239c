"""What a tree goes through in its life: kills, crowds, full disks, other machines. It is the old one or the new one."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path, PurePosixPath

import pytest
from filelock import FileLock
from hypothesis import given, settings
from hypothesis import strategies as st

from toolmason.model.checksum import add_checksum
from toolmason.model.parts import STAGING
from toolmason.model.rendered_file import RenderedFile
from toolmason.write import LOCK, EditedFilesError, LockTimeoutError, WriteError, check, write
from toolmason.write.changes import ChangeKind, Changes
from toolmason.write.journal import Disk, recover

RUN = Path(__file__).with_name("regeneration_run.py")
ROOT = Path(__file__).parents[3]
OLD = {"a.py": "A = 1\n", "docs/a.md": "# Ä\n", "old/b.py": "B = 1\n", "a.json": "{}\n", "flat": "1\n"}
NEW = {"a.py": "A = 2\n", "docs/a.md": "# Ä\n", "new/c.py": "C = 1\n", "a.json": "[]\n", "flat/deep.py": "D = 1\n"}
OTHER = {"a.py": "A = 3\n", "docs/a.md": "# Ö\n", "old/b.py": "B = 2\n"}


def rendered(texts: Mapping[str, str]) -> list[RenderedFile]:
    return [RenderedFile(PurePosixPath(name), add_checksum(PurePosixPath(name), text)) for name, text in texts.items()]


def names(changes: Changes, kind: ChangeKind) -> list[str]:
    return [str(change.path) for change in changes.all if change.kind is kind]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def started(
    folder: Path,
    texts: Mapping[str, str],
    *,
    kill_at: int = 0,
    cwd: Path | None = None,
    environ: Mapping[str, str] = {},
) -> subprocess.Popen[bytes]:
    """Start a process that writes `texts`, with nothing in its environment but `environ` and where its imports are."""
    with tempfile.NamedTemporaryFile("w", dir=folder.parent, encoding="utf-8", suffix=".json", delete=False) as plan:
        json.dump(texts, plan)
    return subprocess.Popen(
        [sys.executable, RUN, folder, plan.name, str(kill_at)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env={
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"],
            **environ,
        },
    )


def finished(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    output, errors = process.communicate(timeout=60)
    return process.returncode, (output + errors).decode("utf-8")


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    home = tmp_path_factory.mktemp("trees")
    for name, texts in (("old", OLD), ("new", NEW), ("other", OTHER)):
        write(rendered(texts), home / name)
    return {name: contents(home / name) for name in ("old", "new", "other")}


@pytest.fixture(scope="module")
def killed_trees(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A tree for each operation at which a run from old to new was killed, in their order."""
    home = tmp_path_factory.mktemp("killed")
    found: list[Path] = []
    while True:
        number = len(found) + 1
        folder = home / str(number) / "generated"
        write(rendered(OLD), folder)
        code, output = finished(started(folder, NEW, kill_at=number))
        if code == 0:
            assert int(output.splitlines()[0]) == number - 1
            return found
        assert code == -signal.SIGKILL, output
        found.append(folder)


@pytest.fixture
def killed(killed_trees: list[Path], tmp_path: Path) -> list[Path]:
    """Fresh copies of these trees."""
    return [
        shutil.copytree(folder.parent, tmp_path / folder.parent.name, symlinks=True) / folder.name
        for folder in killed_trees
    ]


@pytest.mark.uncovered
def test_a_run_killed_at_any_operation_leaves_a_tree_that_is_repaired(
    killed: list[Path], trees: dict[str, dict[str, bytes]]
) -> None:
    outcomes = []
    for folder in killed:
        before = contents(folder)
        interrupted = check(rendered(NEW), folder).is_interrupted
        assert not (interrupted and check(rendered(NEW), folder).is_clean)
        foreseen = [name for name, texts in (("old", OLD), ("new", NEW)) if check(rendered(texts), folder).all == ()]
        assert contents(folder) == before  # A check only reads.
        twin = shutil.copytree(folder, folder.with_name("twin"), symlinks=True)

        recover(folder, Disk())
        outcome = next(name for name in ("old", "new") if contents(folder) == trees[name])
        assert foreseen == [outcome]
        outcomes.append((outcome, interrupted))

        # The next run may also want something else altogether.
        assert write(rendered(OTHER), twin).is_interrupted == interrupted
        assert contents(twin) == trees["other"]
        assert check(rendered(OTHER), twin).is_clean

    assert len(outcomes) > 30
    # First the old tree, then the commit point, then finished work that waits, then nothing but tidying up.
    assert list(dict.fromkeys(outcomes)) == [("old", False), ("new", True), ("new", False)]


@pytest.mark.uncovered
def test_an_edit_made_after_a_kill_is_never_lost(killed: list[Path]) -> None:
    for number, folder in enumerate(killed, 1):
        edited = [path for path in (folder / "a.py", folder / "a.json", folder / "docs/a.md") if path.exists()]
        for path in edited:
            path.write_bytes(b"mine\n" + path.read_bytes())

        with pytest.raises(EditedFilesError) as caught:
            write(rendered(NEW), folder)
        assert len(names(caught.value.changes, ChangeKind.EDITED)) == len(edited) == 3, number
        assert all(path.read_bytes().startswith(b"mine\n") for path in edited)


@pytest.mark.parametrize(
    "journal",
    [
        b"",
        b"{",
        b"3",
        b"[1]",
        b'[{"name": "../../victim", "before": "file x", "after": "absent", "number": 0}]',
        b'[{"name": "/victim", "before": "file x", "after": "absent", "number": 0}]',
        b'[{"name": 1, "before": "", "after": "", "number": 0}]',
    ],
)
def test_a_journal_that_is_broken_or_leads_out_of_the_folder_is_thrown_away(tmp_path: Path, journal: bytes) -> None:
    folder = tmp_path / "generated"
    write(rendered(OLD), folder)
    before = contents(folder)
    (folder / STAGING).mkdir()
    (folder / STAGING / "forward.json").write_bytes(journal)

    assert not check(rendered(OLD), folder).is_interrupted
    assert recover(folder, Disk()) is False
    assert contents(folder) == before


@pytest.mark.parametrize("code", [b"", b"\n", b"0" * 64 + b"\n"])
@pytest.mark.parametrize("name", ["forward.json", "back.json"])
def test_a_journal_that_no_run_of_this_user_wrote_is_not_carried_out(name: str, code: bytes, tmp_path: Path) -> None:
    folder = tmp_path / "generated"
    write(rendered(OLD), folder)
    (folder / "notes.md").write_bytes(b"mine")
    broken = add_checksum(PurePosixPath("a.py"), "A = 666\n").encode()
    (folder / "a.py").write_bytes(broken)
    for staged in ("new", "old"):
        (folder / STAGING / staged).mkdir(parents=True)
        (folder / STAGING / staged / "0").write_text(rendered(OLD)[0].text, encoding="utf-8", newline="\n")
        (folder / STAGING / staged / "2").write_bytes(b"planted")
    fingerprints = [f"file {sha256(data).hexdigest()}" for data in (broken, rendered(OLD)[0].text.encode(), b"mine")]
    steps = [
        {"name": "a.py", "before": fingerprints[0], "after": fingerprints[1], "number": 0},
        {"name": "notes.md", "before": fingerprints[2], "after": "absent", "number": 1},
        {"name": "planted.py", "before": "absent", "after": f"file {sha256(b'planted').hexdigest()}", "number": 2},
    ]
    if name == "back.json":
        steps = [{**step, "before": step["after"], "after": step["before"]} for step in steps]
    (folder / STAGING / name).write_bytes(code + json.dumps(steps).encode())
    before = contents(folder)

    assert names(check(rendered(OLD), folder), ChangeKind.CHANGED) == ["a.py"]
    assert contents(folder) == before

    assert not write(rendered(OLD), folder).is_interrupted
    assert (folder / "notes.md").read_bytes() == b"mine"
    assert not (folder / "planted.py").exists()
    assert not (folder / STAGING).exists()
    assert check(rendered(OLD), folder).is_clean


@pytest.mark.uncovered
def test_where_no_key_can_be_kept_a_killed_run_loses_no_more_than_the_repair(tmp_path: Path) -> None:
    nowhere = {"XDG_CACHE_HOME": "relative"}
    for number in range(1, 70, 3):
        home = tmp_path / str(number) / "generated"
        write(rendered(OLD), home)
        finished(started(home, NEW, kill_at=number, environ=nowhere))
        # A list of hashes of the other state may make files look edited, but nothing is in the way of starting over.
        write(rendered(NEW), home, discard_edits=True)
        assert check(rendered(NEW), home).is_clean


def test_a_staging_folder_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    folder, outside = tmp_path / "generated", tmp_path / "outside"
    (outside / "new").mkdir(parents=True)
    (outside / "new/0").write_text("mine", encoding="utf-8")
    write(rendered(OLD), folder)
    (folder / STAGING).symlink_to(outside, target_is_directory=True)

    write(rendered(NEW), folder)
    (folder / STAGING).mkdir()
    (folder / STAGING / "new").symlink_to(outside / "new", target_is_directory=True)
    write(rendered(OLD), folder)

    assert check(rendered(OLD), folder).is_clean
    assert (outside / "new/0").read_text(encoding="utf-8") == "mine"


def test_two_runs_at_once_leave_the_tree_of_one_of_them(tmp_path: Path, trees: dict[str, dict[str, bytes]]) -> None:
    folder = tmp_path / "generated"
    write(rendered(OLD), folder)
    with FileLock(tmp_path / LOCK):
        # Both find the lock held, so that they meet.
        runs = [started(folder, NEW), *[started(folder, NEW) for _ in range(2)]]
    results = [finished(run) for run in runs]

    assert [code for code, _ in results] == [0, 0, 0], results
    assert contents(folder) == trees["new"]


def test_runs_that_disagree_leave_the_whole_tree_of_the_last_one(
    tmp_path: Path, trees: dict[str, dict[str, bytes]]
) -> None:
    for attempt in range(5):
        folder = tmp_path / str(attempt) / "generated"
        write(rendered(OLD), folder)
        with FileLock(folder.parent / LOCK):
            runs = [started(folder, NEW), started(folder, OTHER)]
        results = [finished(run) for run in runs]

        assert [code for code, _ in results] == [0, 0], results
        assert contents(folder) in (trees["new"], trees["other"])
        assert not (folder / STAGING).exists()


def test_a_lock_timeout_is_reported_and_changes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "generated"
    write(rendered(OLD), folder)
    before = contents(folder)

    with (
        FileLock(tmp_path / LOCK),
        pytest.raises(LockTimeoutError, match=r"\.toolmason\.lock is held by another run, after 0\.1 s of waiting"),
    ):
        write(rendered(NEW), folder, lock_timeout_s=0.1)
    assert contents(folder) == before


def test_a_run_that_changes_nothing_does_not_wait(tmp_path: Path) -> None:
    folder = tmp_path / "generated"
    write(rendered(OLD), folder)

    with FileLock(tmp_path / LOCK):
        assert write(rendered(OLD), folder, lock_timeout_s=0).is_clean


def test_git_ignores_lock_and_staging(tmp_path: Path) -> None:
    git = shutil.which("git")
    assert git is not None
    subprocess.run([git, "init", "--quiet", tmp_path], check=True)
    shutil.copyfile(ROOT / ".gitignore", tmp_path / ".gitignore")
    write(rendered(OLD), tmp_path / "generated")
    code, output = finished(started(tmp_path / "generated", NEW, kill_at=8))
    assert code == -signal.SIGKILL, output
    assert (tmp_path / "generated" / STAGING).exists()

    status = [git, "-C", str(tmp_path), "status", "--porcelain", "--untracked-files=all"]
    seen = subprocess.run(status, check=True, capture_output=True, encoding="utf-8").stdout
    assert ".toolmason" not in seen


@pytest.mark.parametrize("kept", ["ours", "theirs"])
def test_a_merge_that_keeps_one_side_s_body_and_the_other_s_signature_is_refused(tmp_path: Path, kept: str) -> None:
    folder = tmp_path / "generated"
    write(rendered(OLD), folder)
    ours = add_checksum(PurePosixPath("a.py"), OLD["a.py"]).splitlines(keepends=True)
    theirs = add_checksum(PurePosixPath("a.py"), NEW["a.py"]).splitlines(keepends=True)
    body, line = (ours[:-1], theirs[-1]) if kept == "ours" else (theirs[:-1], ours[-1])
    (folder / "a.py").write_text("".join([*body, line]), encoding="utf-8")

    with pytest.raises(EditedFilesError) as caught:
        write(rendered(OLD), folder)
    assert names(caught.value.changes, ChangeKind.EDITED) == ["a.py"]


def test_a_real_merge_conflict_is_refused_in_signed_files_and_in_the_list(tmp_path: Path) -> None:
    git = shutil.which("git")
    assert git is not None

    def run(*arguments: str, check: bool = True) -> None:
        identity = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "core.autocrlf=false"]
        subprocess.run([git, "-C", tmp_path, *identity, *arguments], check=check, capture_output=True)

    folder = tmp_path / "generated"
    run("init", "--quiet", "--initial-branch=one")
    for branch, texts in (("one", OLD), ("two", OLD | {"a.py": "A = 2\n", "a.json": "[2]\n"})):
        run("switch", "--quiet", "-C", branch)
        write(rendered(texts), folder)
        run("add", "generated")
        run("commit", "--quiet", "-m", branch)
    run("switch", "--quiet", "one")
    write(rendered(OLD | {"a.py": "A = 3\n", "a.json": "[3]\n"}), folder)
    run("commit", "--quiet", "-a", "-m", "three")
    run("merge", "two", check=False)
    assert b"<<<<<<< " in (folder / "a.py").read_bytes()

    with pytest.raises(EditedFilesError) as caught:
        write(rendered(OLD), folder)
    assert names(caught.value.changes, ChangeKind.EDITED) == ["SHA256SUMS", "a.json", "a.py"]
    assert "\n+<<<<<<< " in caught.value.changes.diff(PurePosixPath("a.py"))

    write(rendered(OLD), folder, discard_edits=True)
    assert check(rendered(OLD), folder).is_clean


def test_in_a_crlf_checkout_only_stale_files_are_written(tmp_path: Path) -> None:
    folder = tmp_path / "generated"
    write(rendered(OLD), folder)
    for name, data in contents(folder).items():
        (folder / name).write_bytes(data.replace(b"\n", b"\r\n"))

    assert write(rendered(OLD), folder).is_clean
    write(rendered(OLD | {"a.py": "A = 2\n"}), folder)

    assert b"\r" not in (folder / "a.py").read_bytes()
    assert b"\r\n" in (folder / "docs/a.md").read_bytes()
    assert check(rendered(OLD | {"a.py": "A = 2\n"}), folder).is_clean


@pytest.mark.parametrize(
    "environ",
    [
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"TZ": "Pacific/Kiritimati", "PYTHONHASHSEED": "1"},
        {"TZ": "America/Anchorage", "PYTHONHASHSEED": "4242", "LC_ALL": "tr_TR.UTF-8"},
    ],
    ids=["plain C locale", "far east", "far west, Turkish"],
)
def test_the_same_bytes_are_written_everywhere(tmp_path: Path, environ: dict[str, str]) -> None:
    texts = {**NEW, "docs/käse.md": "# Käse ☕\n", "\u0131.json": "{}\n"}
    here, there, cwd = tmp_path / "here", tmp_path / "there", tmp_path / "cwd"
    cwd.mkdir()
    write(rendered(texts), here)
    code, output = finished(started(there, texts, cwd=cwd, environ=environ | {"PYTHONIOENCODING": "utf-8"}))

    assert code == 0, output
    assert contents(there) == contents(here)
    assert check(rendered(texts), there).is_clean
    code, output = finished(started(there, texts, cwd=cwd, environ=environ))
    assert (code, output) == (0, "0\n")


def test_a_working_directory_that_is_the_folder_itself_will_do(tmp_path: Path) -> None:
    folder = tmp_path / "generated"
    write(rendered(OLD), folder)

    code, output = finished(started(folder, NEW, cwd=folder))

    assert code == 0, output
    assert check(rendered(NEW), folder).is_clean


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 128 KiB."""
    mount, umount = shutil.which("mount"), shutil.which("umount")
    place = tmp_path / "small"
    place.mkdir()
    if mount is None or umount is None or os.geteuid() != 0:
        pytest.skip("only root can mount; test_whichever_operation_fails_once_the_tree_is_old_or_new covers it")
    if subprocess.run([mount, "-t", "tmpfs", "-o", "size=128k", "tmpfs", place], check=False).returncode:
        pytest.skip("mount is not allowed here; test_whichever_operation_fails_once_the_tree_is_old_or_new covers it")
    try:
        yield place
    finally:
        subprocess.run([umount, place], check=True)


def test_a_full_disk_is_reported_and_keeps_the_old_tree(small_disk: Path) -> None:
    folder = small_disk / "generated"
    write(rendered(OLD), folder)
    before = contents(folder)
    large = {f"{number}.py": "A = 1\n" * 2000 for number in range(20)}

    with pytest.raises(WriteError, match="No space left on device"):
        write(rendered(NEW | large), folder)

    assert contents(folder) == before
    assert not (folder / STAGING).exists()
    write(rendered(NEW), folder)
    assert check(rendered(NEW), folder).is_clean


def test_a_read_only_disk_is_fine_for_checking_and_an_error_for_writing(small_disk: Path) -> None:
    folder = small_disk / "generated"
    write(rendered(OLD), folder)
    subprocess.run(["/bin/mount", "-o", "remount,ro", small_disk], check=True)

    assert check(rendered(OLD), folder).is_clean
    assert write(rendered(OLD), folder).is_clean
    with pytest.raises(WriteError, match="Read-only file system"):
        write(rendered(NEW), folder)


NAMES = st.lists(st.sampled_from(["a", "b", "c.py", "d.md", ".e", "f.json"]), min_size=1, max_size=3).map("/".join)
TEXTS = st.sampled_from(["", "x\n", "y", "---\nz\n---\n", "# toolmason: sha256 00000000000000000000000000000000\n"])


@st.composite
def file_sets(draw: st.DrawFn) -> dict[str, str]:
    """Files of which none lies where another one needs a folder."""
    drawn = draw(st.dictionaries(NAMES, TEXTS, max_size=6))
    return {name: text for name, text in drawn.items() if not any(other.startswith(f"{name}/") for other in drawn)}


@settings(deadline=None, max_examples=60)
@given(st.lists(file_sets(), min_size=1, max_size=3))
def test_after_any_history_a_write_is_clean_and_the_next_one_touches_nothing(history: list[dict[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home, "generated")
        for texts in history:
            files = rendered(texts)
            foreseen = check(files, folder)
            assert write(files, folder) == foreseen
            assert check(files, folder).all == ()
            before = {path: path.stat() for path in folder.rglob("*")}
            assert write(files, folder).all == ()
            assert {path: path.stat() for path in folder.rglob("*")} == before
            names = {name for name in contents(folder) if name != "SHA256SUMS"} if folder.exists() else set()
            assert names == texts.keys()
            assert not any(path.is_dir() and not any(path.iterdir()) for path in folder.rglob("*"))


@settings(deadline=None, max_examples=60)
@given(file_sets(), file_sets(), file_sets())
def test_no_file_of_anybody_else_is_ever_lost(
    old: dict[str, str], foreign: dict[str, str], new: dict[str, str]
) -> None:
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home, "generated")
        write(rendered(old), folder)
        mine = {}
        for name, text in foreign.items():
            path = folder / name
            if not path.exists() and not any(parent.is_file() for parent in path.parents):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"mine: {text}", encoding="utf-8")
                mine[path] = path.read_bytes()
        before = contents(folder) if folder.exists() else {}
        try:
            write(rendered(new), folder)
        except EditedFilesError:
            assert contents(folder) == before
        else:
            assert check(rendered(new), folder).is_clean
        assert {path: path.read_bytes() for path in mine} == mine
