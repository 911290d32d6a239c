"""Models from another process are those of this one, with and without it, and the process does not outlive its use."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from toolmason.render.generated_models import generated_models
from toolmason.render.model_process import _PendingModels, start_models

SOURCES: dict[str, dict[str, Any]] = {
    "books": {"$defs": {"Book": {"type": "object", "properties": {"title": {"type": "string", "pattern": "ß"}}}}},
    "loans": {
        "$defs": {
            "Book": {"type": "object"},
            "Loan": {"properties": {"a": {"$ref": "#/$defs/Book"}}},
        },
        "x-imported": {"Book": "library.types"},
    },
    "none": {"$defs": {}},
}
MODELS = {key: generated_models({key: source})[key] for key, source in SOURCES.items()}


def process_of(made: Mapping[str, str]) -> subprocess.Popen[bytes]:
    assert isinstance(made, _PendingModels)
    assert made._child
    return made._child.process


@pytest.mark.parametrize("concurrent", [True, False])
def test_models_equal_those_of_one_module_after_another(concurrent: bool) -> None:
    with start_models(SOURCES, {"kept": "class Kept: ...\n"}, concurrent=concurrent) as made:
        assert dict(made) == {"kept": "class Kept: ...\n", **MODELS}
        assert made.get("absent") is None
        assert isinstance(made, _PendingModels)
        assert bool(made._child) == concurrent


def test_known_models_do_not_wait_and_the_process_ends_with_the_context() -> None:
    with start_models(SOURCES, {"kept": "class Kept: ...\n"}, concurrent=True) as made:
        assert made["kept"] == "class Kept: ...\n"
        assert len(made) == 4
        assert "_generated" not in vars(made)
        process = process_of(made)
    assert process.poll() is not None


def test_an_error_in_a_source_is_raised_in_this_process() -> None:
    sources = {"books": {"$defs": {"Book": {"$ref": "file:///etc/passwd"}}}}
    with (
        start_models(sources, {}, concurrent=True) as made,
        pytest.raises(ValueError, match="leads to another document"),
    ):
        made["books"]


def test_models_of_a_killed_process_are_generated_here() -> None:
    with start_models(SOURCES, {}, concurrent=True) as made:
        process_of(made).kill()
        assert made["books"] == MODELS["books"]


def test_models_of_a_process_that_cannot_start_are_generated_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with start_models(SOURCES, {}, concurrent=True) as made:
        assert made["books"] == MODELS["books"]


FULL_DISK = """
import resource, sys
from toolmason.render.model_process import start_models
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
sources = {"books": {"$defs": {"Book": {"type": "object", "description": "Book\\n" * 100}}}}
with start_models(sources, {}, concurrent=True) as made:
    print(bool(made._child), made._child is None or made._child.process.wait() != 0)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print("class Book" in made["books"])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit for the size of files")
@pytest.mark.parametrize(("limit", "is_started"), [(100, False), (1000, True)], ids=["its input", "its output"])
def test_a_full_disk_costs_only_time(limit: int, is_started: bool) -> None:
    """`limit` is the maximum size of a file: of the process's input, or only of its output."""
    ran = subprocess.run([sys.executable, "-c", FULL_DISK, str(limit)], capture_output=True, check=True, text=True)
    assert ran.stdout.split() == [str(is_started), "True", "True"]


INTERRUPTED = """
from toolmason.render.model_process import start_models
sources = {"books": {"$defs": {"Book": {"type": "object"}}}}
with start_models(sources, {}, concurrent=True) as made:
    print(made._child.process.pid, flush=True)
    made["books"]
    input()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="an interrupt of one process group needs POSIX")
def test_an_interrupt_from_the_terminal_leaves_no_process() -> None:
    command = [sys.executable, "-c", INTERRUPTED]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout
        child = int(process.stdout.readline())
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert errors.count(b"KeyboardInterrupt") == 1
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_the_process_ends_if_its_user_fails() -> None:
    context = start_models(SOURCES, {}, concurrent=True)
    made = context.__enter__()
    process = process_of(made)
    assert not context.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert process.poll() is not None
