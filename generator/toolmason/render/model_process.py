"""Generate many Pydantic models in a child process while the other files are rendered."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from tempfile import TemporaryFile
from typing import IO, Any, Final

from toolmason.render.child_process import child_command
from toolmason.render.pydantic_models import models_of_modules

MIN_TOOLS: Final = 100
"""Minimum tools of a server for a child process. The other files of a smaller one take less time than its start."""


@contextmanager
def start_models(
    sources: Mapping[str, dict[str, Any]], known: Mapping[str, str], *, concurrent: bool
) -> Iterator[Mapping[str, str]]:
    """Generate the models of `sources`; yield them, and the `known` ones, by key.

    With `concurrent`, a child process generates them, and the first access to one of them waits for it. The process
    ends with the context.
    """
    if not (sources and concurrent):
        yield {**known, **models_of_modules(sources)}
        return
    command = child_command(__name__)
    # With files instead of pipes, neither process waits for the other to read.
    with TemporaryFile() as standard_input, TemporaryFile() as output, TemporaryFile() as errors:
        standard_input.write(json.dumps(sources).encode())
        standard_input.seek(0)
        with subprocess.Popen(command, stdin=standard_input, stdout=output, stderr=errors) as process:  # noqa: S603 - our own code
            try:
                yield _PendingModels([*known, *sources], known, process, output, errors)
            finally:
                process.kill()


class _PendingModels(Mapping[str, str]):
    """The known models and those that a child process generates."""

    def __init__(
        self,
        keys: Collection[str],
        known: Mapping[str, str],
        process: subprocess.Popen[bytes],
        output: IO[bytes],
        errors: IO[bytes],
    ) -> None:
        self._keys = keys
        self._known = known
        self._process = process
        self._output = output
        self._errors = errors

    def __getitem__(self, key: str) -> str:
        if key not in self._keys:
            raise KeyError(key)
        return self._known[key] if key in self._known else self._generated[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    @cached_property
    def _generated(self) -> dict[str, str]:
        if self._process.wait():
            self._errors.seek(0)
            raise RuntimeError(f"generating models failed:\n{self._errors.read().decode('utf-8', 'replace')}")
        self._output.seek(0)
        return dict(json.load(self._output))


def main() -> None:
    """Generate the models of the schemas on stdin and print them as JSON."""
    json.dump(models_of_modules(json.load(sys.stdin.buffer)), sys.stdout)
