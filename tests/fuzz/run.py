"""Fuzz parsers of outside text: each input has `CPU_S` of processor time and `MEMORY_MB` of memory.

    python tests/fuzz/run.py                     30 minutes, divided among all targets
    python tests/fuzz/run.py --seconds 60 toml   one target for a minute
    python tests/fuzz/run.py ci                  the corpora and the same changed inputs in each run, half a minute
    python tests/fuzz/run.py --repeat toml FILE  one input again, with the traceback

The inputs come from `tests/fuzz/corpus/TARGET/`. With atheris, which measures the coverage of each input, those that
reach new code are changed further; without it, and for `ci`, changes are random (`mutation.py`). An input that breaks
a limit, or raises an error that its parser does not document, is saved in `tests/fuzz/findings/`; the command that
repeats it is printed.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import logging
import mmap
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NoReturn

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from mutation import MAX_BYTES, inputs  # noqa: E402
from targets import TARGETS  # noqa: E402

CPU_S = 1.0
MEMORY_MB = 256
WAIT_S = 120
"""Seconds after which a parser that waits is ended. A busy machine may need this long for `CPU_S`."""
DEFAULT_S = 30 * 60
CI_INPUTS = 500
"""Inputs of each target in CI, beside the corpus."""
CI_S = 2
"""Seconds after which a target ends in CI: a slow machine tests the first of the same inputs."""
PACKAGES = ("toolmason", "toolmason_runtime", "workbench_handlers", "workbench_research")
FINDINGS = HERE / "findings"


def main(arguments: list[str]) -> int:
    """Fuzz, or repeat one input. Returns 1 if there were findings."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="ci, or some of: " + ", ".join(TARGETS))
    parser.add_argument("--seconds", type=float, default=DEFAULT_S, help="for all targets (default: %(default)s)")
    parser.add_argument("--seed", default="", help="another sequence of inputs")
    parser.add_argument("--repeat", nargs=2, metavar=("TARGET", "FILE"), help="run one input")
    parser.add_argument("--guided", nargs=2, help=argparse.SUPPRESS)  # the child of a coverage-guided run
    options = parser.parse_args(arguments)
    if options.guided:
        name, directory = options.guided
        _fuzz_guided(name, directory, options)
    if options.repeat:
        name, file = options.repeat
        return _report(name, examine(name, [Path(file).read_bytes()]), Path(file))
    is_ci = options.targets == ["ci"]
    names = list(TARGETS) if is_ci or not options.targets else options.targets
    if unknown := [name for name in names if name not in TARGETS]:
        parser.error(f"unknown target {unknown[0]}; there are {', '.join(TARGETS)}")
    failures = 0
    for name in names:
        seconds = CI_S if is_ci else options.seconds / len(names)
        print(f"{name}: {seconds:.0f} s", flush=True)
        if is_ci or importlib.util.find_spec("atheris") is None:
            stream = inputs(corpus(name), f"{name} {options.seed}")
            count = len(corpus(name)) + CI_INPUTS if is_ci else sys.maxsize
            finding = examine(name, islice(stream, count), seconds)
        else:
            finding = _guided(name, seconds, options.seed)
        failures += _report(name, finding)
    return 1 if failures else 0


def corpus(name: str) -> list[bytes]:
    """Return the inputs of a target, in the order of their files."""
    return [path.read_bytes() for path in sorted((HERE / "corpus" / name).iterdir())]


Finding = tuple[bytes, str]
"""An input, and what is wrong with it."""


def examine(name: str, data: Iterable[bytes], seconds: float = 3600) -> Finding | None:
    """Give the parser of a target inputs in a child process, and return the first that is a finding."""
    with mmap.mmap(-1, 16 * 1024 * 1024) as memory, tempfile.TemporaryDirectory() as directory:
        child = os.fork()
        if not child:
            tempfile.tempdir = directory
            sys.setrecursionlimit(1000)
            _examine_here(name, data, seconds, memory)
        _, status = os.waitpid(child, 0)
        found = _noted(memory)
    if os.waitstatus_to_exitcode(status) == 0:
        return None
    return found[0], found[1] or f"the process ended with {_name_of(status)}"


def _name_of(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGPROF:
        return f"more than {CPU_S:g} s of processor time"
    return signal.Signals(-code).name if code < 0 else f"status {code}"


def _examine_here(name: str, data: Iterable[bytes], seconds: float, memory: mmap.mmap) -> NoReturn:
    """Examine inputs in this process, and end it: with 1 and a note, or by the signal of a limit."""
    code = 1
    logging.disable()  # a parser warns of what it skips, in each of thousands of inputs
    try:
        run_one = limited(name, memory)
        end = time.monotonic() + seconds
        for one in data:
            run_one(one)
            if time.monotonic() > end:
                break
        code = 0
    except BaseException:  # noqa: BLE001 - the message is in the shared memory
        if not _noted(memory)[1]:
            traceback.print_exc()
    finally:
        os._exit(code)


def limited(name: str, memory: mmap.mmap) -> Callable[[bytes], None]:
    """Return a function that gives a parser one input within the limits, and notes it in `memory` before.

    It raises any error that the parser raises. What the parser imports for typical inputs is imported before.
    """
    parse = TARGETS[name]
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    for path in sorted((HERE / "corpus" / name).glob("typical*")):
        parse(path.read_bytes())

    def run_one(data: bytes) -> None:
        _note(memory, data, "")
        with _within_limits():
            try:
                parse(data)
            except BaseException:
                _note(memory, data, traceback.format_exc(limit=-6))
                raise

    return run_one


@contextmanager
def _within_limits() -> Iterator[None]:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) if sys.platform == "linux" else 0
    used = pages * resource.getpagesize()
    if used:
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY_MB * 1024 * 1024, resource.RLIM_INFINITY))
    signal.setitimer(signal.ITIMER_PROF, CPU_S)
    signal.alarm(WAIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        if used:
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def _note(memory: mmap.mmap, data: bytes, error: str) -> None:
    text = error.encode("utf-8", "backslashreplace")[-100_000:]
    memory.seek(0)
    memory.write(len(data).to_bytes(4, "big") + len(text).to_bytes(4, "big") + data + text)


def _noted(memory: mmap.mmap) -> Finding:
    size, length = (int.from_bytes(memory[place : place + 4], "big") for place in (0, 4))
    return memory[8 : 8 + size], memory[8 + size : 8 + size + length].decode()


def _report(name: str, finding: Finding | None, file: Path | None = None) -> int:
    """Print a finding with the command that repeats it, and save its input. Returns the number of findings."""
    if finding is None:
        return 0
    data, error = finding
    if file is None:
        file = FINDINGS / name / hashlib.sha256(data).hexdigest()[:12]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    command = f"python tests/fuzz/run.py --repeat {name} {os.path.relpath(file)}"
    print(f"{name}: {error.rstrip()}\n  {data[:100]!r}, {len(data):,} bytes\n  repeat with: {command}", flush=True)
    return 1


def _guided(name: str, seconds: float, seed: str) -> Finding | None:
    """Fuzz a target in a child process that measures its coverage."""
    with tempfile.TemporaryDirectory() as directory:
        note = Path(directory, "note")
        note.write_bytes(bytes(16 * 1024 * 1024))
        command = [sys.executable, __file__, "--guided", name, directory, f"--seconds={seconds}", f"--seed={seed}"]
        environment = os.environ | {"TMPDIR": directory, "PYTHONHASHSEED": "0"}
        done = subprocess.run(command, env=environment, capture_output=True, check=False)
        if done.returncode == 0:
            return None
        with note.open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
            data, error = _noted(memory)
    said = done.stderr.decode(errors="replace")[-2_000:]
    if not error and done.returncode != -signal.SIGPROF:
        return data, f"the fuzzer ended with {done.returncode}: {said}"
    # Instrumented code is slower: only an input that breaks the limit without it counts.
    return examine(name, [data]) or _guided(name, seconds / 2, f"{seed}+") if seconds > 1 else None


def _fuzz_guided(name: str, directory: str, options: argparse.Namespace) -> NoReturn:
    import atheris

    with atheris.instrument_imports(include=list(PACKAGES)):
        for path in sorted((HERE / "corpus" / name).glob("typical*")):
            TARGETS[name](path.read_bytes())  # imports
    note = Path(directory, "note").open("r+b")  # noqa: SIM115  open until the process ends
    memory: mmap.mmap = mmap.mmap(note.fileno(), 0)
    found = Path(directory, "corpus")
    found.mkdir()
    number = int.from_bytes(hashlib.sha256(options.seed.encode()).digest()[:4], "big") or 1
    flags = [
        f"-max_total_time={max(1, int(options.seconds))}",
        f"-seed={number}",
        f"-max_len={MAX_BYTES}",
        "-len_control=20",
        "-timeout=3600",  # ours is a limit of processor time
        "-rss_limit_mb=0",
        f"-artifact_prefix={directory}/",
        "-verbosity=0",
    ]
    atheris.Setup([sys.argv[0], *flags, str(found), str(HERE / "corpus" / name)], limited(name, memory))
    atheris.Fuzz()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
