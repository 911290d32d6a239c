"""Generate Pydantic models in a child process while the other files are rendered.

The child only saves time: if it cannot start, or fails for lack of memory or disk space, the models are generated here.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from tempfile import TemporaryFile
from typing import IO, Any, Final

from toolmason.garbage_collection import reduce_garbage_collection
from toolmason.render.child_process import child_command
from toolmason.render.generated_models import generated_models

MIN_TOOLS: Final = 100
"""Minimum number of tools for a child process; with fewer, its start takes longer than it saves."""


@contextmanager
def start_models(
    sources: Mapping[str, dict[str, Any]], known: Mapping[str, str], *, concurrent: bool
) -> Iterator[Mapping[str, str]]:
    """Generate the models of `sources`; yield them, and the `known` ones, by key.

    The first access to one of them waits for all. With `concurrent`, a child process generates them; it ends with the
    context.
    """
    with ExitStack() as stack:
        child = _start(sources, stack) if sources and concurrent else None
        yield _PendingModels(sources, known, child)


class _Child:
    """The process that generates models, and its output."""

    def __init__(self, process: subprocess.Popen[bytes], output: IO[bytes]) -> None:
        self.process = process
        self._output = output

    def result(self) -> dict[str, str] | None:
        """Wait for the models; return None if the process has failed."""
        if self.process.wait() == 0:
            with suppress(OSError, ValueError):
                self._output.seek(0)
                return dict(json.load(self._output))
        return None


def _start(sources: Mapping[str, dict[str, Any]], stack: ExitStack) -> _Child | None:
    """Start a process that ends with `stack`; return None if the system refuses it."""
    # A full disk also fails the end of the inner context, which writes the rest of the buffer.
    with suppress(OSError), ExitStack() as own:
        # With files instead of pipes, neither process waits for the other to read.
        standard_input, output = own.enter_context(TemporaryFile()), own.enter_context(TemporaryFile())
        standard_input.write(json.dumps(sources).encode())
        standard_input.seek(0)
        command = child_command(__name__)
        process = own.enter_context(
            subprocess.Popen(command, stdin=standard_input, stdout=output, stderr=subprocess.DEVNULL)  # noqa: S603 - our own code
        )
        own.callback(process.kill)
        stack.enter_context(own.pop_all())
        return _Child(process, output)
    return None


class _PendingModels(Mapping[str, str]):
    """The known models and those that are generated, by a child process if there is one."""

    def __init__(self, sources: Mapping[str, dict[str, Any]], known: Mapping[str, str], child: _Child | None) -> None:
        self._sources = sources
        self._known = known
        self._child = child

    def __getitem__(self, key: str) -> str:
        if key in self._known:
            return self._known[key]
        if key not in self._sources:
            raise KeyError(key)
        return self._generated[key]

    def __iter__(self) -> Iterator[str]:
        yield from (*self._known, *self._sources)

    def __len__(self) -> int:
        return len(self._known) + len(self._sources)

    @cached_property
    def _generated(self) -> dict[str, str]:
        models = self._child.result() if self._child else None
        # An error in the sources is raised again here.
        return generated_models(self._sources) if models is None else models


def main() -> None:
    """Generate the models of the schemas on stdin and print them as JSON."""
    reduce_garbage_collection()
    json.dump(generated_models(json.load(sys.stdin.buffer)), sys.stdout)
