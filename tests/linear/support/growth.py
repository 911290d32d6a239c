"""Time that a pattern takes on a text, compared with the time on four times the text."""

from __future__ import annotations

import gc
import json
import mmap
import os
import re
import signal
import tempfile
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from attack_strings import Attack, attacks

SIZE = 2_500
"""Characters of the shorter text."""
FACTOR = 4
MAX_GROWTH = 8.0
"""Four times the text may take up to eight times as long: linear is 4, quadratic 16."""
SIEVE_SIZE = 1_000
SIEVE_S = 0.000_16
"""An attack that takes less than this at `SIEVE_SIZE` is linear: quadratic code takes 0.48 ms and more, 3 at `SIZE`."""
SIEVE_GROWTH = 4.5
"""So is one that takes less than this many times as long as on a quarter of that text.

Where the times of `a * n + b * n ** 2` grow by `MAX_GROWTH` from `SIZE` on, they grow by 4.57 here.
"""
MIN_S = 0.003
"""Below this, a measurement of the longer text says nothing."""
MEASURED_S = 0.04
CPU_S = 0.5
"""Processor time for the measurements of one attack."""

Operation = Callable[[Any, Any], object]


def _tokens(pattern: re.Pattern[Any], text: Any) -> None:
    """Match at the end of the last match, as a tokenizer does."""
    # `re` calls its scanner undocumented, but a loop around `match` takes three times as long as a linear pattern.
    deque(iter(pattern.scanner(text).match, None), maxlen=0)  # type: ignore[attr-defined]


def _exhaust(pattern: re.Pattern[Any], text: Any) -> None:
    deque(pattern.finditer(text), maxlen=0)


OPERATIONS: Mapping[str, Operation] = {
    "match": lambda pattern, text: pattern.match(text),
    "fullmatch": lambda pattern, text: pattern.fullmatch(text),
    "search": lambda pattern, text: pattern.search(text),
    "tokens": _tokens,
    "finditer": _exhaust,
    "sub": lambda pattern, text: pattern.sub(text[:0], text),
    "split": lambda pattern, text: pattern.split(text),
}


Measured = tuple[re.Pattern[Any], Iterable[str]]
"""A pattern, and the operations in which it is used."""


def verdict(pattern: re.Pattern[Any], operations: Iterable[str]) -> str:
    """Return why `pattern` is not linear, or an empty string."""
    return verdicts([(pattern, operations)])[0]


def verdicts(patterns: Sequence[Measured]) -> list[str]:
    """Return why each pattern is not linear, or an empty string.

    The measurements run in a child process that ends when an attack takes more than `CPU_S`, because an exponential
    pattern does not end. Another child measures the other patterns.
    """
    found: list[str] = []
    while len(found) < len(patterns):
        found += _measured_in_child(patterns[len(found) :])
    return found


def _measured_in_child(patterns: Sequence[Measured]) -> list[str]:
    """Return the verdicts of the first patterns: all, unless a measurement ends the child."""
    with mmap.mmap(-1, 16_384) as memory, tempfile.TemporaryFile("w+", encoding="utf-8") as results:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # `fork` beside threads: the child only matches
            child = os.fork()
        if not child:
            code = 1
            try:
                gc.disable()  # A collection would copy every page with objects of the parent.
                signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
                for pattern, operations in patterns:
                    print(json.dumps(_slowest(pattern, tuple(operations), memory)), file=results, flush=True)
                code = 0
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        results.seek(0)
        found = [str(json.loads(line)) for line in results]
        attack = memory[:].partition(b"\0")[0].decode()  # the one that ran last; the child shares the memory
    if os.WIFSIGNALED(status):
        return [*found, f"{attack}: more than {CPU_S} s"]
    return found if not status else [*found, f"{attack}: the measurement failed with status {status}"]


def _note(memory: mmap.mmap, text: str) -> None:
    data = text.encode()[: len(memory) - 1] + b"\0"
    memory[: len(data)] = data


def _slowest(pattern: re.Pattern[Any], operations: tuple[str, ...], memory: mmap.mmap) -> str:
    """Return the first attack on which the time of an operation grows faster than the text."""
    is_bytes = isinstance(pattern.pattern, bytes)
    for attack in attacks(pattern):
        quarter, short = (_encoded(attack.text(size), is_bytes=is_bytes) for size in (SIEVE_SIZE // 4, SIEVE_SIZE))
        for name in operations:
            signal.setitimer(signal.ITIMER_VIRTUAL, CPU_S)
            _note(memory, f"{name} on {attack}")
            run = OPERATIONS[name]
            # The shorter of two where the first is long: beside busy processes, runs are interrupted.
            if (seconds := _seconds(run, pattern, short)) < SIEVE_S:
                continue
            if (seconds := min(seconds, _seconds(run, pattern, short))) < SIEVE_S:
                continue
            if seconds < SIEVE_GROWTH * min(_seconds(run, pattern, quarter) for _ in range(2)):
                continue
            if reason := _growth(run, pattern, attack, is_bytes=is_bytes):
                return f"{name} on {attack}: {reason}"
    return ""


def _growth(run: Operation, pattern: re.Pattern[Any], attack: Attack, *, is_bytes: bool) -> str:
    """Return the two times if the second is too long, or an empty string."""
    short, long = (_encoded(attack.text(size), is_bytes=is_bytes) for size in (SIZE, FACTOR * SIZE))
    before = after = 60.0
    for _ in range(4):
        before = min(before, _seconds(run, pattern, short))
        after = min(after, _seconds(run, pattern, long))
        if after < MIN_S or after < MAX_GROWTH * before:
            return ""
    # Beside busy processes each run is interrupted. Their time does not count as processor time.
    before, after = _cpu_seconds(run, pattern, short), _cpu_seconds(run, pattern, long)
    if after < MIN_S or after < MAX_GROWTH * before:
        return ""
    return f"{before * 1000:.1f} ms for {len(short):,} characters, {after * 1000:.1f} ms for {len(long):,}"


def _seconds(run: Operation, pattern: re.Pattern[Any], text: object) -> float:
    start = time.perf_counter()
    run(pattern, text)
    return time.perf_counter() - start


def _cpu_seconds(run: Operation, pattern: re.Pattern[Any], text: object) -> float:
    """Return the mean of many runs, since some systems count processor time in units of 4 ms."""
    start, count = time.process_time(), 0
    while (elapsed := time.process_time() - start) < MEASURED_S:
        run(pattern, text)
        count += 1
    return elapsed / count


def _encoded(text: str, *, is_bytes: bool) -> str | bytes:
    return text.encode("latin-1", "replace") if is_bytes else text
