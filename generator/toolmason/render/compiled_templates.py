"""Packaged templates that earlier runs have compiled. Compiling all of them takes a tenth of a second."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib.machinery import SourceFileLoader
from importlib.util import cache_from_source
from pathlib import Path

from jinja2 import BytecodeCache
from jinja2.bccache import Bucket

import toolmason_templates


class CompiledTemplates(BytecodeCache):
    """Compiled templates in the `__pycache__` of their package, where Python has the bytecode of its modules.

    Like that bytecode, they are trusted as much as the installed toolkit. `version` is the hash of the toolkit: its
    filters and Jinja decide how a template is compiled.

    Raises:
        NotImplementedError: this Python has no cache of bytecode.
    """

    def __init__(self, version: str) -> None:
        self._head = f"{version}\n".encode()
        self._directory = Path(cache_from_source(toolmason_templates.__file__)).parent

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill `bucket` if its template is known; see `jinja2.BytecodeCache`."""
        with suppress(OSError):
            data = self._path(bucket).read_bytes()
            if data.startswith(self._head):
                bucket.bytecode_from_string(data.removeprefix(self._head))

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Store the template of `bucket`, unless Python stores no bytecode or cannot write there."""
        if not sys.dont_write_bytecode:
            path = str(self._path(bucket))
            SourceFileLoader(bucket.key, path).set_data(path, self._head + bucket.bytecode_to_string())

    def _path(self, bucket: Bucket) -> Path:
        return self._directory / f"{bucket.key}.{sys.implementation.cache_tag}.pyc"
