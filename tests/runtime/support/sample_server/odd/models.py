"""What the `odd` tools take."""

from __future__ import annotations

from toolmason_runtime.protocol.model import Model


class NoParams(Model):
    pass


class RefuseParams(Model):
    text: str
