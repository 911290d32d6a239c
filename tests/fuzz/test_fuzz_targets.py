"""Every parser of outside text handles its corpus within the limits; the fuzzer finds what breaks them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from mutation import MAX_BYTES, inputs  # noqa: E402
from run import _report, corpus, examine  # noqa: E402
from targets import TARGETS  # noqa: E402


@pytest.mark.parametrize("name", TARGETS)
def test_parser_handles_its_corpus_within_the_limits(name: str) -> None:
    finding = examine(name, corpus(name))

    assert finding is None, finding


def test_each_target_has_a_corpus_with_typical_and_hostile_inputs() -> None:
    assert {path.name for path in (HERE / "corpus").iterdir()} == set(TARGETS)
    for name in TARGETS:
        assert (HERE / "corpus" / name / "typical").is_file()
        assert len(corpus(name)) >= 5


def _spin(data: bytes) -> None:
    while data == b"bad":
        pass


def _fill(data: bytes) -> None:
    if data == b"bad":
        assert len(b"x" * (400 * 1024 * 1024))


def _recurse(data: bytes) -> None:
    if data == b"bad":
        _recurse(data)


def _index(data: bytes) -> None:
    data[3 if data == b"bad" else 0]


@pytest.mark.parametrize(
    ("parse", "reason"),
    [
        pytest.param(_spin, "more than 1 s of processor time", id="endless"),
        pytest.param(_fill, "MemoryError", id="large"),
        pytest.param(_recurse, "RecursionError", id="deep"),
        pytest.param(_index, "IndexError", id="not documented"),
    ],
)
def test_input_that_breaks_a_parser_is_found(
    parse: Callable[[bytes], None], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TARGETS, "broken", parse)

    assert examine("broken", [b"good", b"fine"]) is None
    finding = examine("broken", [b"good", b"bad", b"fine"])

    assert finding is not None
    assert finding[0] == b"bad"
    assert reason in finding[1]


def test_finding_is_saved_with_the_command_that_repeats_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("run.FINDINGS", tmp_path)

    assert _report("toml", (b"a = ", "IndexError: x")) == 1

    (saved,) = (tmp_path / "toml").iterdir()
    assert saved.read_bytes() == b"a = "
    said = capsys.readouterr().out
    assert "IndexError: x" in said
    assert f"--repeat toml {saved.name}" in said.replace(f"{Path(said.split()[-1]).parent}/", "")


def test_input_can_be_repeated() -> None:
    command = [sys.executable, str(HERE / "run.py"), "--repeat", "types", str(HERE / "corpus" / "types" / "typical")]

    assert subprocess.run(command, check=False).returncode == 0


def test_same_seed_gives_the_same_inputs() -> None:
    seeds = [b"one two", b"three"]
    first, again, other = (list(islice(inputs(seeds, seed), 200)) for seed in ("a", "a", "b"))

    assert first == again != other
    assert first[:2] == seeds
    assert max(map(len, first)) <= MAX_BYTES
    assert any(len(data) > 10_000 for data in first)
