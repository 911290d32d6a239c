"""The store of reviews: complete files, one first decision, expiry, and a directory for its owner alone."""

from __future__ import annotations

import json
import multiprocessing
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from racing import decide_all
from toolmason_runtime import ToolError

from workbench_handlers.editing.reviews.state_files import reviews_directory
from workbench_handlers.editing.reviews.store import KEEP_S, Decision, Outcome, Review, ReviewStore
from workbench_handlers.workspace.roots import Located, Root

PATIENCE_S = 30.0
HOUR_S = 3_600.0
SPAWN = multiprocessing.get_context("spawn")


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.time = 1_700_000_000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> ReviewStore:
    return ReviewStore(tmp_path / "state" / "reviews", now=clock)


def add(store: ReviewStore, *, root: str = "/project", proposed: bytes = b"new", **more: Any) -> Review:
    located = Located(Root(Path(root), "a test"), ("src", "app.py"), "src/app.py")
    values = {"mode": "single", "caller": "peer/stdio", "key": "k", "original": b"old", **more}
    return store.create(located, proposed=proposed, **values)


def test_a_stored_review_is_read_back_by_another_store(store: ReviewStore) -> None:
    review = add(store, notes=("a note",), client="peer", continues="rv_00000000000000000000")

    other = ReviewStore(store.directory)

    assert other.get(review.id) == review
    assert (other.original(review), other.proposed(review)) == (b"old", b"new")
    assert review.located.path == Path("/project/src/app.py")


def test_a_missing_file_and_an_empty_file_are_different_bases(store: ReviewStore) -> None:
    missing, empty = add(store, original=None), add(store, original=b"")

    assert (missing.base_sha256, store.original(missing)) == (None, None)
    assert empty.base_sha256 is not None
    assert store.original(empty) == b""


def test_a_path_that_is_not_utf_8_is_stored(store: ReviewStore) -> None:
    located = Located(Root(Path("/project"), "a test"), ("caf\udce9",), "caf\udce9")
    review = store.create(located, mode="single", caller="", key="", original=b"", proposed=b"x")

    assert store.get(review.id) == review


@pytest.mark.parametrize(
    "review_id",
    [
        *("", ".", "..", "../x", "rv_", "rv_../../../../etc/passwd", "locks", "/etc", "rv_0123456789abcdef0123\n"),
        *("rv_0123456789abcdef012", "rv_0123456789ABCDEF0123", "rv_0123456789abcdef01234", "rv_0123456789abcdef012\0"),
    ],
)
def test_an_id_of_another_form_is_unknown(store: ReviewStore, review_id: str) -> None:
    (store.directory / "x").mkdir(parents=True)
    (store.directory / "x" / "review.json").write_text("{}", encoding="utf-8")

    assert store.get(review_id) is None


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"id": 1, "parts": [], "notes": []}', '{"parts": 1, "notes": []}']
)
def test_a_damaged_review_is_unknown_and_hides_no_other(store: ReviewStore, text: str) -> None:
    good, damaged = add(store), add(store)
    (store.directory / damaged.id / "review.json").write_text(text, encoding="utf-8")

    assert store.get(damaged.id) is None
    assert store.pending() == [good]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("id", "../../outside"),
        ("root", "/"),
        ("parts", ["..", "outside"]),
        ("path", "/project/README.md"),
        ("created_at", "yesterday"),
        ("expires_at", None),
    ],
)
def test_a_changed_review_is_unknown_and_hides_no_other(store: ReviewStore, name: str, value: object) -> None:
    good, changed = add(store), add(store)
    file = store.directory / changed.id / "review.json"
    file.write_text(json.dumps({**json.loads(file.read_bytes()), name: value}), encoding="utf-8")

    assert store.get(changed.id) is None
    assert store.pending() == [good]
    assert add(store)


@pytest.mark.parametrize("name", ["decision.json", "outcome.json"])
@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"action": "approve"}', '{"status": "COMMITTED"}', '{"a": 1}'])
def test_a_review_with_a_damaged_end_is_unknown_and_hides_no_other(store: ReviewStore, name: str, text: str) -> None:
    good, damaged = add(store), add(store)
    (store.directory / damaged.id / name).write_text(text, encoding="utf-8")

    assert store.get(damaged.id) is None
    assert store.pending() == [good]
    assert list(store.all()) == [good]


@pytest.mark.parametrize("pattern", ["proposed", "original", "edited-*"])
def test_a_review_with_a_missing_text_is_unknown(store: ReviewStore, pattern: str) -> None:
    review = add(store)
    assert store.decide(review, Decision("edit", "a test", edited=b"mine"))
    (file,) = (store.directory / review.id).glob(pattern)
    file.unlink()

    assert store.get(review.id) is None


@pytest.fixture
def full_disk() -> Iterator[None]:
    """Limit the size of files: a write beyond it fails as on a full disk."""
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_is_reported_and_nothing_is_left(store: ReviewStore) -> None:
    with pytest.raises(ToolError, match="no space left for the pending reviews") as caught:
        add(store, proposed=bytes(20_000))
    assert list(store.directory.iterdir()) == []
    review = add(store)
    names = set((store.directory / review.id).iterdir())
    with pytest.raises(ToolError, match="no space left"):
        store.decide(review, Decision("edit", "a test", edited=bytes(20_000)))

    assert caught.value.code == "NO_SPACE"
    assert set((store.directory / review.id).iterdir()) == names
    assert store.pending() == [review]


def test_a_file_in_the_place_of_the_directory_is_reported(store: ReviewStore) -> None:
    store.directory.parent.mkdir()
    store.directory.write_text("a file", encoding="utf-8")

    for work in (store.pending, lambda: add(store), lambda: store.lock("a")):
        with pytest.raises(ToolError, match="WORKBENCH_STATE") as caught:
            work()
        assert caught.value.code == "NO_STATE_DIRECTORY"


def test_the_state_is_private_to_its_owner(store: ReviewStore) -> None:
    store.directory.mkdir(mode=0o755, parents=True)
    review = add(store)
    store.decide(review, Decision("edit", "a test", edited=b"mine"))
    store.editor_file(review)
    with store.lock(review.path):
        modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (store.directory, *store.directory.rglob("*"))}

    directories = {path for path in modes if path.is_dir()}
    assert {modes[path] for path in directories} == {0o700}
    assert not any(mode & 0o077 for mode in modes.values()), modes


def test_a_link_in_the_place_of_the_directory_is_refused(store: ReviewStore, tmp_path: Path) -> None:
    store.directory.parent.mkdir()
    store.directory.symlink_to(tmp_path)

    with pytest.raises(ToolError, match="cannot be used: it is a link"):
        add(store)


def test_a_state_directory_that_cannot_be_created_names_its_variable(store: ReviewStore) -> None:
    store.directory.parent.write_text("a file", encoding="utf-8")

    with pytest.raises(ToolError, match="WORKBENCH_STATE"):
        add(store)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"WORKBENCH_STATE": "/s"}, "/s/reviews"),
        ({"HOME": "/h", "WORKBENCH_STATE": " "}, "/h/.local/state/toolmason-workbench/reviews"),
        ({"HOME": "/h", "XDG_STATE_HOME": "/x"}, "/h/.local/state/toolmason-workbench/reviews"),
        ({"HOME": "/h"}, "/h/.local/state/toolmason-workbench/reviews"),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="the state directory of Linux")
def test_the_state_directory_is_the_chosen_one_or_that_of_the_user(environ: dict[str, str], expected: str) -> None:
    assert reviews_directory(environ) == Path(expected)


@pytest.mark.parametrize(
    ("decision", "status"),
    [
        (Decision("approve", "a test"), "PENDING"),
        (Decision("reject", "a test", "no"), "REJECTED"),
        (Decision("comment", "a test", "why?"), "REVIEW"),
        (Decision("edit", "a test", edited=b"mine"), "REVIEW"),
    ],
)
def test_the_first_decision_is_final(store: ReviewStore, decision: Decision, status: str) -> None:
    review = add(store)
    assert store.status(review) == "PENDING"

    assert store.decide(review, decision)
    assert not store.decide(review, Decision("edit", "later", edited=b"other"))

    stored = store.decision(review)
    assert stored is not None
    assert (stored.action, stored.comment, stored.edited) == (decision.action, decision.comment, decision.edited)
    assert store.status(review) == status
    assert store.pending() == []


def test_an_edit_to_the_proposed_text_is_an_approval(store: ReviewStore) -> None:
    review = add(store, proposed=b"new")

    assert store.decide(review, Decision("edit", "a test", edited=b"new"))

    stored = store.decision(review)
    assert stored is not None
    assert (stored.action, stored.edited) == ("approve", None)


def test_of_processes_that_decide_at_once_one_is_first_and_its_text_stays(tmp_path: Path) -> None:
    store = ReviewStore(tmp_path / "reviews")
    ids = [add(store).id for _ in range(40)]
    start, results = SPAWN.Barrier(4), SPAWN.Queue()
    racers = [
        SPAWN.Process(target=decide_all, args=(store.directory, ids, number, start, results)) for number in range(4)
    ]
    for racer in racers:
        racer.start()
    winners = dict(results.get(timeout=PATIENCE_S) for _ in racers)
    for racer in racers:
        racer.join(PATIENCE_S)

    assert sorted(review_id for won in winners.values() for review_id in won) == sorted(ids)
    for number, won in winners.items():
        for review_id in won:
            review = store.get(review_id)
            assert review is not None
            decision = store.decision(review)
            assert decision is not None
            assert (decision.surface, decision.edited) == (f"process {number}", b"%d" % number)


CREATE_FOREVER = """
import sys
from pathlib import Path
from workbench_handlers.editing.reviews.store import ReviewStore
from workbench_handlers.workspace.roots import Located, Root

store = ReviewStore(Path(sys.argv[1]))
located = Located(Root(Path("/project"), "a test"), ("a",), "a")
while True:
    store.create(located, mode="single", caller="", key="", original=b"o" * 1000, proposed=b"p" * 100_000)
    print("created", flush=True)
"""


def test_a_kill_leaves_only_complete_reviews(tmp_path: Path) -> None:
    directory = tmp_path / "reviews"
    for lines in range(1, 6):
        with subprocess.Popen(
            [sys.executable, "-c", CREATE_FOREVER, str(directory)], stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            for _ in range(lines):
                process.stdout.readline()
            process.send_signal(signal.SIGKILL)

    store = ReviewStore(directory)
    reviews = store.recent(1_000)

    assert len(reviews) >= 15
    assert {path.name for path in directory.glob("rv_*")} == {review.id for review in reviews}
    assert {(store.original(review), store.proposed(review)) for review in reviews} == {(b"o" * 1000, b"p" * 100_000)}


def test_a_review_expires_after_its_time_and_then_nobody_decides(store: ReviewStore, clock: Clock) -> None:
    store.ttl_s = HOUR_S
    review, decided = add(store), add(store)
    clock.time += HOUR_S - 1
    assert store.decide(decided, Decision("reject", "a test"))
    assert store.status(review) == "PENDING"

    clock.time += 1

    assert store.status(review) == "EXPIRED"
    assert store.pending() == []
    assert not store.decide(review, Decision("approve", "a test"))
    assert store.status(review) == "EXPIRED"
    assert store.status(decided) == "REJECTED"


def test_reviews_are_removed_a_week_after_they_expired(store: ReviewStore, clock: Clock) -> None:
    old = add(store)
    store.decide(old, Decision("approve", "a test"))
    store.record_outcome(old, Outcome("COMMITTED", "written", clock.time, "0"))
    (store.directory / "tmp-0").mkdir()
    clock.time += store.ttl_s + KEEP_S
    assert store.get(old.id) == old

    clock.time += 1
    new = add(store)

    assert store.get(old.id) is None
    assert list(store.all()) == [new]
    assert not store.decide(old, Decision("approve", "a test"))


def test_pending_reviews_come_in_order_and_recent_ones_newest_first(store: ReviewStore, clock: Clock) -> None:
    reviews = []
    for _ in range(5):
        reviews.append(add(store))
        clock.time += 1
    store.decide(reviews[1], Decision("reject", "a test"))

    assert store.pending() == [reviews[0], *reviews[2:]]
    assert store.recent(2) == [reviews[4], reviews[3]]


def test_the_first_outcome_is_final(store: ReviewStore) -> None:
    review = add(store)
    first = Outcome("CONFLICT", "changed", 1.0, diff="-old")

    assert store.record_outcome(review, first) == first
    assert store.record_outcome(review, Outcome("COMMITTED", "written", 2.0)) == first
    assert store.status(review) == "CONFLICT"


def test_the_editor_file_has_the_name_of_the_original_and_keeps_saved_text(store: ReviewStore) -> None:
    review = add(store)
    path = store.editor_file(review)
    assert (path.name, path.read_bytes()) == ("app.py", b"new")

    path.write_bytes(b"saved by a person")

    assert store.editor_file(review).read_bytes() == b"saved by a person"


def test_a_proposal_does_not_read_the_other_reviews_again(store: ReviewStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent makes hundreds of edits a day, and reviews stay a week: the time of an edit must not grow with them."""
    located = Located(Root(Path("/project"), "a test"), ("a",), "a")
    for number in range(20):
        store.create(located, mode="single", caller="ann", key=str(number), original=b"o", proposed=b"p")
    store.with_keys("ann", {"7"})
    read: list[str] = []
    get = store.get

    def counted(review_id: str) -> Review | None:
        read.append(review_id)
        return get(review_id)

    monkeypatch.setattr(store, "get", counted)

    new = store.create(located, mode="single", caller="ann", key="7", original=b"o", proposed=b"p")
    found = store.with_keys("ann", {"7"})
    others = store.with_keys("bob", {"7"})

    assert [review.key for review in found] == ["7", "7"]
    assert new in found
    assert others == []
    assert len(read) <= 6
