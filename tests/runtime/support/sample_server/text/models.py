"""What the `text` tools take and give."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from toolmason_runtime.protocol.model import Model


class Range(Model):
    start: int
    stop: int | None = None


class CountWordsParams(Model):
    text: str
    label: str | None
    limit: int = Field(10, ge=1, le=100)
    format: Literal["json", "text", "csv"] = "json"
    ratio: float | None = None
    is_strict: bool = False
    ranges: list[Range] | None = Field(None, max_length=3)
    weights: dict[str, int] | None = None


class CountWordsResult(Model):
    words: int
    longest: str | None = None
    shortest: str | None


class ShoutParams(Model):
    text: str
