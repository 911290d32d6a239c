"""Authenticate stored state with a key, so that modified state is never used."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

MAC_BYTES: Final = 32
"""Bytes of the message authentication code in front of sealed state. Different states have different codes."""


class Seal:
    """Seals the state of one kind.

    Args:
        directory: directory with the file of the key, which is created; None for a key of this process.
        purpose: the kind of state, so that no other state with the same key passes.
        key: key of all processes of the server; empty for that of the directory.
    """

    def __init__(self, directory: Path | None, purpose: str, *, key: str = "") -> None:
        self._directory = directory
        self._purpose = purpose
        self._own_key = key

    def close(self, identity: str, body: bytes) -> bytes:
        """Return the sealed form of a state."""
        return hmac.new(self._key(), identity.encode() + b"\0" + body, "sha256").digest() + body

    def open(self, identity: str, data: bytes) -> bytes | None:
        """Return a state; None if it was changed or belongs to another identity."""
        mac, body = data[:MAC_BYTES], data[MAC_BYTES:]
        expected = hmac.new(self._key(), identity.encode() + b"\0" + body, "sha256").digest()
        return body if hmac.compare_digest(mac, expected) else None

    def _key(self) -> bytes:
        if self._own_key or self._directory is None:
            return self._process_key()
        path = self._directory / "key"
        try:
            return path.read_bytes()
        except FileNotFoundError:
            pass
        except OSError:
            return self._process_key()
        key = secrets.token_bytes(MAC_BYTES)
        whole = path.with_name(f"key.{secrets.token_hex(8)}")
        try:
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            create_private(whole, key)
            os.link(whole, path)  # so that no other process reads a part of the key
        except FileExistsError:
            return path.read_bytes()
        except OSError:
            return self._process_key()
        finally:
            with suppress(OSError):
                whole.unlink(missing_ok=True)
        return key

    def _process_key(self) -> bytes:
        self._own_key = self._own_key or secrets.token_hex(MAC_BYTES)
        return hashlib.sha256(f"{self._purpose}\0{self._own_key}".encode()).digest()


def create_private(path: Path, data: bytes) -> None:
    """Write a new file that only this user can read.

    Raises:
        OSError: it exists, or cannot be written.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def replace_private(path: Path, data: bytes, *, time_s: float | None = None) -> None:
    """Write a file that only this user can read, and replace an earlier one. No other process reads a part of it.

    Args:
        path: the file; its directory exists.
        data: its new content.
        time_s: the time that the file gets; None for the present one.

    Raises:
        OSError: it cannot be written.
    """
    whole = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        create_private(whole, data)
        if time_s is not None:
            os.utime(whole, (time_s, time_s))
        whole.replace(path)
    finally:
        whole.unlink(missing_ok=True)
