"""`toolmason-workbench review`, at a terminal and without one."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable

import pytest
from proposals import LINES, SEVERAL, Desk
from pseudo_terminal import TerminalProgram

from workbench_handlers.editing.reviews.settle import settle
from workbench_handlers.editing.reviews.store import Decision

COMMAND = (sys.executable, "-m", "workbench_server", "review")
TIMEOUT_S = 60.0
PROMPT = "[?] "
OLD, NEW = b"one\ntwo\n", b"one\n2\n"
Run = Callable[..., subprocess.CompletedProcess[str]]
Open = Callable[..., TerminalProgram]


@pytest.fixture
def environ(desk: Desk, editor: tuple[str, str]) -> dict[str, str]:
    return {
        "HOME": str(desk.state),
        "PATH": os.defpath,
        "WORKBENCH_STATE": str(desk.state),
        "EDITOR": " ".join((*editor, "change")),
        "TERM": "xterm",
    }


@pytest.fixture
def run(desk: Desk, environ: dict[str, str]) -> Run:
    """Run the command without a terminal."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *arguments],
            env=environ,
            cwd=desk.project,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            encoding="utf-8",
            timeout=TIMEOUT_S,
            check=False,
        )

    return run


@pytest.fixture
def at_terminal(desk: Desk, environ: dict[str, str]) -> Open:
    """Run the command in a terminal."""

    def start(*arguments: str, **variables: str) -> TerminalProgram:
        return TerminalProgram([*COMMAND, *arguments], {**environ, **variables}, desk.project)

    return start


def test_reviews_are_decided_in_order_each_with_its_facts_and_diff(desk: Desk, at_terminal: Open) -> None:
    names = ["approved", "edited", "commented", "rejected", "skipped", "last"]
    reviews = [desk.propose(f"{name}.txt", OLD, NEW, notes=(f"a note on {name}",), client="gpt") for name in names]

    with at_terminal() as terminal:
        shown = terminal.expect(PROMPT)
        assert all(text in shown for text in ("6 reviews", str(desk.project / "approved.txt"), "a note on approved"))
        assert "just now by gpt" in shown
        terminal.type("a")
        terminal.expect("Committed")
        terminal.expect(PROMPT)
        terminal.type("e")
        terminal.expect("Sent back to the model")
        terminal.expect(PROMPT)
        terminal.type("c")
        terminal.expect("Comment")
        terminal.type("use a name")
        terminal.expect(PROMPT)
        terminal.type("r")
        terminal.expect("Rejected")
        terminal.expect(PROMPT)
        terminal.type("s")
        terminal.expect(PROMPT)
        terminal.type("q")
        assert terminal.end() == 0
        assert terminal.screen.endswith("2 pending.\n")

    store = desk.store
    assert [store.status(review) for review in reviews] == [
        *("COMMITTED", "REVIEW", "REVIEW", "REJECTED", "PENDING", "PENDING")
    ]
    assert [desk.read(f"{name}.txt") for name in names] == [NEW, *[OLD] * 5]
    assert store.edited(reviews[1]) == NEW + b"by hand\n"
    assert store.decision(reviews[2]) is not None
    assert getattr(store.decision(reviews[2]), "comment", "") == "use a name"


def test_the_diff_is_coloured_at_a_terminal_unless_no_color_is_set(desk: Desk, at_terminal: Open) -> None:
    desk.propose("a.txt", OLD, NEW)

    with at_terminal() as terminal:
        coloured = terminal.expect(PROMPT)
    with at_terminal(NO_COLOR="1") as terminal:
        plain = terminal.expect(PROMPT)

    assert "\x1b[31m-two\x1b[0m\n\x1b[32m+2\x1b[0m\n" in coloured
    assert "-two\n+2\n" in plain
    assert "\x1b" not in plain


def test_text_that_could_deceive_the_person_is_visible(desk: Desk, at_terminal: Open) -> None:
    deceit = "\x1b[2J\u202eevil\u200b\x9b1A"
    desk.propose(f"a{deceit}\udcff.txt", OLD, f"one\n{deceit}\n".encode(), notes=(deceit,), client=deceit)

    with at_terminal(NO_COLOR="1") as terminal:
        shown = terminal.expect(PROMPT)

    assert not set(deceit) - set("[2Jevil1A") & set(shown)
    assert shown.count("\\u202eevil\\u200b") >= 4
    assert shown.count("\\x1b[2J") >= 4


@pytest.mark.parametrize(
    ("keys", "status"),
    [
        pytest.param(["?", "nonsense", "", "r"], "REJECTED", id="help-and-typing-errors-ask-again"),
        pytest.param(["c", "", "r"], "REJECTED", id="an-empty-comment-asks-again"),
        pytest.param(["\udcff\udcfe", "c", "\udcff"], "REVIEW", id="bytes-that-are-not-utf-8"),
        pytest.param(["A"], "COMMITTED", id="upper-case"),
        pytest.param(["approve"], "COMMITTED", id="the-whole-word"),
        pytest.param(["abort", "add", "r"], "REJECTED", id="other-words-with-the-first-letter-of-a-key"),
    ],
)
def test_the_prompt_asks_until_there_is_a_decision(desk: Desk, at_terminal: Open, keys: list[str], status: str) -> None:
    review = desk.propose("a.txt", OLD, NEW)

    with at_terminal(review.id) as terminal:
        for key in keys:
            terminal.expect("] " if key == "?" else " ")
            terminal.type(key)
        assert terminal.end() == 0

    assert desk.store.status(review) == status


def test_the_later_lines_of_a_pasted_comment_decide_nothing(desk: Desk, at_terminal: Open) -> None:
    commented, following = desk.propose("a.txt", OLD, NEW), desk.propose("b.txt", OLD, NEW)

    with at_terminal() as terminal:
        terminal.expect(PROMPT)
        terminal.type("c")
        terminal.expect("Comment (empty: none): ")
        terminal.press("rename it\na\n")
        terminal.expect(PROMPT)
        terminal.type("r")
        terminal.expect("Rejected")

    assert [desk.store.status(review) for review in (commented, following)] == ["REVIEW", "REJECTED"]
    assert desk.read("b.txt") == OLD


@pytest.mark.parametrize(
    ("action", "message"),
    [
        pytest.param("touch", "The text was not changed.", id="saved-unchanged"),
        pytest.param("close", "The text was not changed.", id="not-saved"),
        pytest.param("crash", "The editor ended with exit code", id="crashed"),
        pytest.param("missing", "Set $EDITOR.", id="not-installed"),
        pytest.param('vim "', "is not a command. Set $EDITOR.", id="no-words"),
    ],
)
def test_an_editor_that_changes_nothing_leaves_the_review_pending(
    desk: Desk, at_terminal: Open, editor: tuple[str, str], action: str, message: str
) -> None:
    review = desk.propose("a.txt", OLD, NEW)
    command = "missing-editor --wait" if action == "missing" else " ".join((*editor, action))

    with at_terminal(review.id, VISUAL=command) as terminal:
        terminal.expect(PROMPT)
        terminal.type("e")
        terminal.expect(message)
        terminal.expect(PROMPT)
        terminal.type("q")
        assert terminal.end() == 0

    assert desk.store.status(review) == "PENDING"


@pytest.mark.parametrize(
    ("keys", "code"), [pytest.param("\x03", 130, id="ctrl-c"), pytest.param("\x04", 0, id="end-of-input")]
)
def test_an_interrupted_review_stays_pending(desk: Desk, at_terminal: Open, keys: str, code: int) -> None:
    review = desk.propose("a.txt", OLD, NEW)

    with at_terminal() as terminal:
        terminal.expect(PROMPT)
        terminal.press(keys)
        assert terminal.end() == code

    assert "Traceback" not in terminal.screen
    assert desk.store.status(review) == "PENDING"
    assert desk.read("a.txt") == OLD


def test_a_review_that_was_decided_elsewhere_meanwhile_is_reported(desk: Desk, at_terminal: Open) -> None:
    review = desk.propose("a.txt", OLD, NEW)

    with at_terminal() as terminal:
        terminal.expect(PROMPT)
        assert desk.store.decide(review, Decision("reject", "page"))
        terminal.type("a")
        terminal.expect("decided elsewhere. Rejected")
        assert terminal.end() == 0

    assert desk.read("a.txt") == OLD


def test_a_conflict_is_reported_and_writes_nothing(desk: Desk, at_terminal: Open) -> None:
    review = desk.propose("a.txt", OLD, NEW)
    (desk.project / "a.txt").write_bytes(b"mine\n")

    with at_terminal() as terminal:
        terminal.expect(PROMPT)
        terminal.type("a")
        terminal.expect("Conflict: the file changed")
        assert terminal.end() == 0

    assert desk.store.status(review) == "CONFLICT"
    assert desk.read("a.txt") == b"mine\n"


def test_without_a_terminal_the_pending_reviews_are_listed(desk: Desk, run: Run) -> None:
    nothing = run()
    review = desk.propose("a.txt", OLD, NEW)
    waiting, listed, one = run(), run("--list"), run(review.id)

    assert (nothing.returncode, nothing.stdout.strip()) == (0, "No reviews are pending.")
    assert (waiting.returncode, waiting.stdout) == (1, listed.stdout)
    assert "no terminal" in waiting.stderr
    assert listed.returncode == 0
    assert re.search(rf"^{review.id}  just now  single  .*a\.txt$", listed.stdout, re.MULTILINE)
    assert (one.returncode, "+2\n" in one.stdout) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        pytest.param(["rv_00000000000000000000"], 1, "no review `rv_0", id="unknown-id"),
        pytest.param(["../../etc"], 1, "no review `../../etc`", id="an-id-is-no-path"),
        pytest.param(["--undo", "rv_1\x1b"], 1, "no review `rv_1\\x1b`", id="undo-of-nothing"),
        pytest.param(["--list", "--web"], 2, "not allowed with", id="two-actions"),
        pytest.param(["--port", "70000", "--web"], 2, "must be a number", id="port"),
        pytest.param(["rv_1", "--undo", "rv_2"], 2, "after --undo", id="two-ids"),
        pytest.param(["rv_1", "--list"], 2, "cannot be combined", id="a-list-of-one"),
        pytest.param(["--port", "8000"], 2, "--port needs --web", id="port-without-page"),
        pytest.param(["--yes"], 2, "--yes needs --undo", id="confirmation-of-nothing"),
        pytest.param(["--web", "--port", "{used}"], 1, "is not available", id="port-in-use"),
    ],
)
def test_an_invalid_command_line_is_reported(run: Run, arguments: list[str], code: int, message: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        result = run(*(argument.replace("{used}", str(other.getsockname()[1])) for argument in arguments))

    assert result.returncode == code
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_undo_restores_the_file_after_confirmation(desk: Desk, run: Run, at_terminal: Open) -> None:
    review = desk.propose("a.txt", OLD, NEW)
    assert desk.store.decide(review, Decision("approve", "page"))
    settle(desk.store, review)

    assert review.id in run("--undo").stdout
    assert run("--undo", review.id).returncode == 2
    with at_terminal("--undo", review.id) as terminal:
        assert "+two" in terminal.expect("[y/N] ")
        terminal.type("")
        assert terminal.end() == 1
    assert desk.read("a.txt") == NEW
    with at_terminal("--undo", review.id) as terminal:
        terminal.expect("[y/N] ")
        terminal.type("y")
        assert terminal.end() == 0

    assert desk.read("a.txt") == OLD


def test_undo_does_not_touch_a_file_that_changed_since(desk: Desk, run: Run) -> None:
    review = desk.propose("a.txt", OLD, NEW)
    assert desk.store.decide(review, Decision("approve", "page"))
    settle(desk.store, review)
    (desk.project / "a.txt").write_bytes(b"later\n")

    result = run("--undo", review.id, "--yes")

    assert result.returncode == 1
    assert "changed since" in result.stderr
    assert desk.read("a.txt") == b"later\n"


def test_web_prints_the_address_and_serves_until_ctrl_c(desk: Desk, environ: dict[str, str]) -> None:
    desk.propose("a.txt", OLD, NEW)
    process = subprocess.Popen([*COMMAND, "--web"], env=environ, stdout=subprocess.PIPE, encoding="utf-8")
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = line.split()[-1]
        with urllib.request.urlopen(address, timeout=TIMEOUT_S) as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(TIMEOUT_S) == 0
    finally:
        process.kill()
        process.communicate()


def test_damaged_reviews_do_not_hide_the_others(run: Run, desk: Desk) -> None:
    review = desk.propose("a.txt", OLD, NEW)
    (desk.state / "reviews" / "rv_00000000000000000000").write_bytes(b"no directory")
    (desk.state / "reviews" / "rv_00000000000000000001").mkdir()

    result = run("--list")

    assert (result.returncode, result.stderr) == (0, "")
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["ID", review.id]


@pytest.mark.parametrize(
    ("keys", "written"),
    [
        pytest.param(["a"], {name: new for name, (_, new) in SEVERAL.items()}, id="approve-all"),
        pytest.param(["p", "y", "n", "n", "y"], {"src/app.py": SEVERAL["src/app.py"][1]}, id="one-file"),
        pytest.param(
            ["p", "n", "yes", "c", "y", "n", "y"],
            {"docs/new.md": b"# New\n", "list.txt": LINES.replace(b"one", b"1")},
            id="a-file-and-a-change",
        ),
        pytest.param(["p", "n", "n", "c", "n", "n", "r"], {}, id="nothing-chosen-asks-again"),
        pytest.param(["p", "y", "what", "q", "r"], {}, id="quit-asks-again"),
        pytest.param(["p", "y", "y", "n", "n", "r"], {}, id="not-confirmed"),
    ],
)
def test_several_files_are_approved_by_file_and_by_change(
    desk: Desk, at_terminal: Open, keys: list[str], written: dict[str, bytes]
) -> None:
    review = desk.propose_files(SEVERAL)

    with at_terminal(review.id) as terminal:
        shown = terminal.expect(PROMPT)
        for number, key in enumerate(keys):
            terminal.type(key)
            if number < len(keys) - 1:
                terminal.expect("] " if keys[number + 1] in {"a", "r"} else " ")
        assert terminal.end() == 0

    assert all(
        str(desk.project / name) in shown and f"+++ {name} (after)" in shown for name in ("src/app.py", "list.txt")
    )
    assert {name: desk.read(name) for name in SEVERAL} == {**{n: old for n, (old, _) in SEVERAL.items()}, **written}
    assert desk.store.status(review) == ("COMMITTED" if written else "REJECTED")


def test_changes_of_one_file_are_chosen_and_undone(desk: Desk, at_terminal: Open, run: Run) -> None:
    review = desk.propose("list.txt", *[data for data in SEVERAL["list.txt"] if data is not None])

    with at_terminal(review.id) as terminal:
        terminal.expect(PROMPT)
        terminal.type("p")
        terminal.expect("Change 1 of 2")
        terminal.type("n")
        terminal.expect("Change 2 of 2")
        terminal.type("y")
        terminal.expect("Write 1 of 2 changes")
        terminal.type("y")
        terminal.expect("Committed")
        assert terminal.end() == 0
    written = desk.read("list.txt")
    undone = run("--undo", review.id, "--yes")

    assert written == LINES.replace(b"ten", b"10")
    assert (undone.returncode, desk.read("list.txt")) == (0, LINES)


def test_several_files_are_listed_edited_and_undone_together(desk: Desk, at_terminal: Open, run: Run) -> None:
    review = desk.propose_files(SEVERAL)
    listed = run("--list").stdout
    with at_terminal(review.id) as terminal:
        terminal.expect(PROMPT)
        terminal.type("a")
        terminal.expect("Committed")
        assert terminal.end() == 0
    undone = run("--undo", review.id, "--yes")

    assert f"{desk.project / 'src/app.py'} and 2 more" in listed
    assert undone.returncode == 0
    assert {name: desk.read(name) for name in SEVERAL} == {name: old for name, (old, _) in SEVERAL.items()}
