"""Packaged templates that earlier runs have compiled. Compiling all of them takes a tenth of a second."""

from __future__ import annotations

from base64 import b64decode, b64encode

from jinja2 import BytecodeCache
from jinja2.bccache import Bucket

from toolmason.store import Store


class CompiledTemplates(BytecodeCache):
    """Compiled templates in `store`, which only this user and this version of the toolkit may have written."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill `bucket` if its template is known; see `jinja2.BytecodeCache`."""
        if stored := self._store.get(f"template {bucket.key}"):
            bucket.bytecode_from_string(b64decode(stored))

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Store the template of `bucket`."""
        self._store[f"template {bucket.key}"] = b64encode(bucket.bytecode_to_string()).decode()
